package fake

// BuildSchema makes the JSON Schema from the tables.
var BuildSchema = buildSchema
