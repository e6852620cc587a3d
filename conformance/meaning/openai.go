package meaning

var chat = []rule{
	{"the choice auto is the default", func(body Object) bool { return drop(body, "tool_choice", "auto") }},
	{"a non-streaming response is the default", func(body Object) bool { return drop(body, "stream", false) }},
	{"a list of one text is the text", func(body Object) bool {
		return each(body["messages"], func(m Object) bool { return plain(m, "content", "text") })
	}},
	{"with calls or a refusal, missing, null and empty content are equal", func(body Object) bool {
		return each(body["messages"], func(m Object) bool {
			return (m["tool_calls"] != nil || m["refusal"] != nil) && drop(m, "content", nil, "")
		})
	}},
	{"the index of an echoed call is its position", func(body Object) bool {
		return each(body["messages"], func(m Object) bool {
			n := -1
			return each(m["tool_calls"], func(call Object) bool {
				n++
				return drop(call, "index", n)
			})
		})
	}},
	{"one stop sequence is a list of one", func(body Object) bool {
		one, is := body["stop"].(string)
		if is {
			body["stop"] = []any{one}
		}
		return is
	}},
}

var responses = []rule{
	{"the choice auto is the default", func(body Object) bool { return drop(body, "tool_choice", "auto") }},
	{"an input that is a text is a message of the user", func(body Object) bool {
		text, is := body["input"].(string)
		if is {
			body["input"] = []any{Object{"role": "user", "content": text}}
		}
		return is
	}},
	{"a message is the default among the items", func(body Object) bool {
		return each(body["input"], func(item Object) bool { return drop(item, "type", "message") })
	}},
	{"a format that is not strict is the default", func(body Object) bool {
		return drop(object(object(body, "text"), "format"), "strict", false)
	}},
	{"an item that is completed is the default", func(body Object) bool {
		return each(body["input"], func(item Object) bool { return drop(item, "status", "completed") })
	}},
	{"an empty list says nothing", func(body Object) bool {
		return each(body["input"], func(item Object) bool {
			reasoning := item["type"] == "reasoning" && drop(item, "content", []any{})
			return each(item["content"], func(piece Object) bool {
				annotations, logprobs := drop(piece, "annotations", []any{}), drop(piece, "logprobs", []any{})
				return annotations || logprobs
			}) || reasoning
		})
	}},
	{"a list of one text is the text", func(body Object) bool {
		return each(body["input"], func(item Object) bool {
			return plain(item, "content", "input_text") || plain(item, "content", "output_text")
		})
	}},
}
