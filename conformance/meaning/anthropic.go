package meaning

var anthropic = []rule{
	{"a free choice is the default", func(body Object) bool { return drop(body, "tool_choice", Object{"type": "auto"}) }},
	{"a list of one plain text is the text", func(body Object) bool { return plain(body, "system", "text") }},
}
