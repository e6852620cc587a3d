package fake

// BuildSchema builds the JSON Schema from the codecs.
var BuildSchema = buildSchema
