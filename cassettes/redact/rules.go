package redact

// Rules extend the default redaction. The zero value adds nothing.
type Rules struct {
	// Secret lists names of further headers, fields and JSON members to redact. Case, - and
	// _ are ignored. "/metadata/*/pin" is a JSON pointer into a body.
	Secret []string
	// Redact are redactors that run after the default redaction.
	Redact []Redactor
	// NotSecret lists names, in the form of Secret, whose random values are not secrets,
	// such as signatures or ids.
	NotSecret []string
}
