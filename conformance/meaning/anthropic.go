package meaning

var anthropic = []rule{
	{"a free choice is the default", func(body Object) bool { return drop(body, "tool_choice", Object{"type": "auto"}) }},
	{"a list of one plain text is the text", func(body Object) bool { return plain(body, "system", "text") }},
	{"a result without an error is the default", func(body Object) bool {
		return eachBlock(body, func(b Object) bool { return drop(b, "is_error", false) })
	}},
	{"a call that the model made itself is the default", func(body Object) bool {
		return eachBlock(body, func(b Object) bool { return drop(b, "caller", Object{"type": "direct"}) })
	}},
}

func eachBlock(body Object, do func(Object) bool) bool {
	return each(body["messages"], func(m Object) bool { return each(m["content"], do) })
}
