package meaning

var anthropic = []rule{
	{"a free choice is the default", func(body Object) bool { return drop(body, "tool_choice", Object{"type": "auto"}) }},
	{"a list of one text is the text", func(body Object) bool { return plain(body, "system", "text") }},
	{"a result without an error is the default", func(body Object) bool {
		return eachBlock(body, func(b Object) bool { return drop(b, "is_error", false) })
	}},
	{"a call that the model made itself is the default", func(body Object) bool {
		return eachBlock(body, func(b Object) bool { return drop(b, "caller", Object{"type": "direct"}) })
	}},
	{"turns of one role in a row are one", join},
}

// join joins consecutive messages of one role whose contents are lists.
func join(body Object) (done bool) {
	messages, _ := body["messages"].([]any)
	var out []any
	for _, m := range messages {
		next, _ := m.(Object)
		list, is := next["content"].([]any)
		if n := len(out); n > 0 && is {
			last, _ := out[n-1].(Object)
			if before, is := last["content"].([]any); is && last["role"] == next["role"] {
				out[n-1] = Object{"role": next["role"], "content": append(before, list...)}
				done = true
				continue
			}
		}
		out = append(out, m)
	}
	if done {
		body["messages"] = out
	}
	return done
}

func eachBlock(body Object, do func(Object) bool) bool {
	return each(body["messages"], func(m Object) bool { return each(m["content"], do) })
}
