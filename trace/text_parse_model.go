package trace

import (
	"encoding/json"

	"github.com/looptape/looptape/llm"
)

// The bodies that have messages or usage, and what is in them.

func (p *parser) modelDelta() Body {
	b := ModelDelta{Type: DeltaKind(p.text())}
	if p.isQuoted() {
		b.Text = p.text()
	}
	p.texts(map[string]*string{"call=": &b.ToolCallID, "name=": &b.Name})
	return b
}

func (p *parser) modelTurn() Body {
	b := ModelResponse{Message: llm.Message{Role: llm.RoleAssistant}}
	for more := p.peek() != 0 && !p.atKey(); more; {
		b.Message.Parts = append(b.Message.Parts, p.part())
		p.peek()
		more = p.accept(';') && !p.atKey()
	}
	p.members(func(name string) bool {
		switch name {
		case "role=":
			b.Message.Role = llm.Role(p.text())
		case "opaque=":
			b.Message.Opaque = p.raw()
		case "finish=":
			b.FinishReason = llm.FinishReason(p.text())
		case "raw_finish=":
			b.RawFinishReason = p.text()
		case "finish_message=":
			b.FinishMessage = p.text()
		case "response_id=":
			b.ResponseID = p.text()
		case "model=":
			b.Model = p.text()
		case "usage=":
			b.Usage = p.usage()
		default:
			return false
		}
		return true
	})
	return b
}

func (p *parser) modelError() Body {
	var b ModelError
	b.Error = p.failure(func(name string) bool {
		switch name {
		case "partial":
			b.Partial = true
		case "usage=":
			b.Usage = p.usage()
		case "received":
			b.PartialContent, _ = p.list()
		default:
			return false
		}
		return true
	})
	return b
}

// failure reads an error; other reads the members that are not its own.
func (p *parser) failure(other func(name string) bool) Error {
	e := Error{Type: p.text(), Message: p.text()}
	p.members(func(name string) bool {
		switch name {
		case "status=":
			e.Status = p.int()
		case "code=":
			e.Code = p.text()
		case "retry_after=":
			e.RetryAfter = p.duration()
		case "retryable":
			e.Retryable = true
		default:
			return other(name)
		}
		return true
	})
	return e
}

func (p *parser) decision() Body {
	b := Decision{Action: Action(p.text())}
	p.expect(':')
	if startsNumber(p.peek()) {
		b.Reason, b.ToolCalls = ReasonToolCalls, p.int()
		if word := p.bare(); word != "call" && word != "calls" {
			p.fail(p.i, "expected calls")
		}
		p.text()
	} else {
		b.Reason = Reason(p.text())
	}
	p.members(func(name string) bool {
		switch name {
		case "calls=":
			b.ToolCalls = p.int()
		case "by=":
			b.By = p.text()
		case "note=":
			b.Note = p.text()
		default:
			return false
		}
		return true
	})
	return b
}

func (p *parser) runEnd() Body {
	b := RunEnd{StopReason: Reason(p.text())}
	p.members(func(name string) bool {
		switch name {
		case "finish=":
			b.FinishReason = llm.FinishReason(p.text())
		case "steps=":
			b.Steps = p.int()
		case "calls=":
			b.ModelCalls = p.int()
		case "usage=":
			b.Usage = p.usage()
		case "usage_by=":
			b.UsageBy = p.usageBy()
		case "pending=":
			b.Pending = p.words()
		case "error":
			p.expect('(')
			b.Error = new(p.failure(func(string) bool { return false }))
			p.expect(')')
		default:
			return false
		}
		return true
	})
	b.AppendedMessages = p.messages()
	return b
}

func (p *parser) usageBy() map[Purpose]llm.Usage {
	m := map[Purpose]llm.Usage{}
	p.expect('(')
	for {
		purpose := Purpose(p.text())
		m[purpose] = p.usage()
		if !p.accept(',') {
			p.expect(')')
			return m
		}
	}
}

func (p *parser) messages() []llm.Message {
	var list []llm.Message
	for p.peek() == '+' {
		p.i++
		m := llm.Message{Role: llm.Role(p.text())}
		if p.isQuoted() {
			m.Parts = []llm.Part{llm.Text{Text: p.text()}}
		} else {
			m.Parts, m.Opaque = p.list()
		}
		list = append(list, m)
	}
	return list
}

// list reads parts in parentheses, and opaque data at their end.
func (p *parser) list() (parts []llm.Part, opaque json.RawMessage) {
	p.expect('(')
	for more := p.peek() != ')'; more; more = p.accept(';') {
		if p.atKey() && p.bare() == "opaque" {
			p.i += len("opaque=")
			opaque = p.raw()
			break
		}
		parts = append(parts, p.part())
		p.peek()
	}
	p.expect(')')
	return parts, opaque
}

func (p *parser) part() llm.Part {
	word := p.bare()
	if !isPartWord(word) {
		return p.result(p.text())
	}
	p.i += len(word)
	switch word {
	case partText:
		t := llm.Text{Text: p.text()}
		p.members(func(name string) bool {
			if name == "refusal" {
				t.Refusal = true
				return true
			}
			return p.opaque(name, &t.Opaque)
		})
		return t
	case partReasoning:
		r := llm.Reasoning{Text: p.text()}
		p.members(func(name string) bool { return p.opaque(name, &r.Opaque) })
		return r
	case partMedia:
		return p.media()
	case partCall:
		return p.call()
	}
	return p.unknownPart()
}

func (p *parser) opaque(name string, to *json.RawMessage) bool {
	if name != "opaque=" {
		return false
	}
	*to = p.raw()
	return true
}

func (p *parser) media() llm.Part {
	m := llm.Media{MediaType: p.text()}
	p.members(func(name string) bool {
		switch name {
		case "name=":
			m.Name = p.text()
		case "data=":
			m.Data = p.base64()
		case "url=":
			m.URL = p.text()
		case "digest=":
			m.Digest = p.text()
		case "size=":
			m.Size = p.number()
		default:
			return p.opaque(name, &m.Opaque)
		}
		return true
	})
	return m
}

func (p *parser) call() llm.Part {
	c := llm.ToolCall{ID: p.text(), Name: p.text(), Arguments: p.value()}
	p.names[c.ID] = c.Name
	p.members(func(name string) bool {
		switch name {
		case "minted":
			c.IDGenerated = true
		case "provider_id=":
			c.ProviderID = p.text()
		case "provider_executed":
			c.ProviderExecuted = true
		default:
			return p.opaque(name, &c.Opaque)
		}
		return true
	})
	return c
}

func (p *parser) unknownPart() llm.Part {
	at := p.i
	part, err := llm.UnmarshalPart(p.raw())
	if err != nil {
		p.fail(at, "%v", err)
		return llm.Unknown{}
	}
	if u, ok := part.(llm.Unknown); ok {
		return u
	}
	p.fail(at, "a part of this type is spelt in words")
	return llm.Unknown{}
}

// outcome reads the result of the call that an event is about.
func (p *parser) outcome(call string) llm.ToolResult {
	id := call
	if p.atKey() && p.bare() == "id" {
		p.i += len("id=")
		id = p.text()
	}
	return p.result(id)
}

// result reads all of a result but its id.
func (p *parser) result(id string) llm.ToolResult {
	r := llm.ToolResult{ID: id}
	if p.peek() == '(' {
		r.Content, _ = p.list()
	} else {
		r.Content = []llm.Part{llm.Text{Text: p.value()}}
	}
	r.Name = p.names[id]
	p.members(func(name string) bool {
		switch name {
		case "error":
			r.IsError = true
		case "name=":
			r.Name = p.text()
		default:
			return p.opaque(name, &r.Opaque)
		}
		return true
	})
	return r
}
