package fake

// BuildSchema builds the JSON Schema from the codecs.
var BuildSchema = buildSchema

// Variants returns what a response can be in an exploration, by name. earlier is the id of an earlier call.
func Variants(r *Response, earlier string) (names []string, list []*Response) {
	v := newVariants(r, earlier)
	return v.names, v.list
}
