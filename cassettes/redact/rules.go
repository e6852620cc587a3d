package redact

// Rules say what is secret in interactions in addition to the defaults.
type Rules struct {
	// Secret names further headers, fields of queries and forms, and members of JSON
	// that are redacted. Case, - and _ do not count; "/metadata/*/pin" leads to a
	// place in a JSON body.
	Secret []string
	// Redact are redactors that come after the default ones; see Redacted.
	Redact []Redactor
	// Opaque names, as Secret does, further ones in which what looks like a secret is
	// none: a signature, say, or an id. See Suspects.
	NotSecret []string
}
