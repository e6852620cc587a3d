package trace_test

import (
	"encoding/json"
	"maps"
	"slices"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"pgregory.net/rapid"

	"github.com/looptape/looptape/llm"
	"github.com/looptape/looptape/trace"
)

// equal compares what the forms of a trace keep: an empty list equals nil.
var equal = cmp.Options{cmpopts.EquateEmpty()}

func unmarshal(line []byte) (ev trace.Event, err error) {
	err = ev.UnmarshalJSON(line)
	return ev, err
}

// awkward are texts that a form may stumble over.
var awkward = []string{
	"", " ", "a", "c1", "r1", "0", "-0", "01", "true", "null", "text", "call", "error", "b64", `b64"`, "x_b64",
	"weather", "1 call", "a,b", "a;b", "a=b", "a(b)", "a/b", "a:b", "@5s", "+user", "#x", "?", "?r1",
	`{"city":"Paris"}`, `{"city": "Paris"}`, `{"a":`, `[]`, `[1,2]`, `"quoted"`, "line\nline\r\n\ttab", "\u2028\u00a0\ufeff", "é😀",
	`back\slash`, "<a&b>", "\x00\x1f\x7f", "\xff", "{\"a\":\"\xff\"}", "\xed\xa0\x80", "\ufffd",
	"123456789012345678", "1234567890123456789", "-5", "1.5", "opaque", "prefix_messages", "finish_reason", "()", "id_generated",
}

func text() *rapid.Generator[string] {
	return rapid.OneOf(
		rapid.SampledFrom(awkward), rapid.SampledFrom(awkward), rapid.StringN(0, 12, 40),
		rapid.Map(rapid.SliceOfN(rapid.Byte(), 0, 6), func(b []byte) string { return string(b) }),
	)
}

func system() *rapid.Generator[llm.System] {
	part := rapid.Custom(func(t *rapid.T) llm.SystemPart {
		return llm.SystemPart{Text: text().Draw(t, "text"), CacheMark: rapid.Bool().Draw(t, "mark")}
	})
	parts := rapid.Map(list(part), func(list []llm.SystemPart) llm.System { return list })
	return rapid.OneOf(rapid.Map(text(), llm.SystemText), parts)
}

// name is a string that a form keeps as the name of a member.
func name() *rapid.Generator[string] {
	return rapid.OneOf(rapid.SampledFrom([]string{"a", "max_steps", "INV-04", "", "x_b64", "b c", "clock", "tools", "1", "{", "judge", "summary"}), rapid.StringN(0, 6, 20))
}

func word() *rapid.Generator[string] {
	return rapid.OneOf(rapid.SampledFrom([]string{"none", "calls", "ok", "error", "stop", "repair", "cap", "defaults"}), text())
}

var rawValues = []string{`{}`, `[]`, `null`, `true`, `5`, `-1.5e3`, `"s"`, `{"b":[1,{"a":"\u00e9\n"}],"a":null}`, `["x"," y"]`, `""`}

func raw() *rapid.Generator[json.RawMessage] {
	return rapid.Custom(func(t *rapid.T) json.RawMessage {
		if rapid.IntRange(0, 2).Draw(t, "nil") > 0 {
			return nil
		}
		return json.RawMessage(rapid.SampledFrom(rawValues).Draw(t, "raw"))
	})
}

func list[T any](g *rapid.Generator[T]) *rapid.Generator[[]T] { return rapid.SliceOfN(g, 0, 3) }

func count() *rapid.Generator[int64] {
	return rapid.OneOf(rapid.Just[int64](0), rapid.Int64Range(0, 50), rapid.Int64())
}

func integer() *rapid.Generator[int] {
	return rapid.Map(count(), func(n int64) int { return int(n) })
}

func duration() *rapid.Generator[time.Duration] {
	return rapid.Map(count(), func(n int64) time.Duration { return time.Duration(n) })
}

func strings_() *rapid.Generator[[]string] { return list(text()) }

func dict[V any](k *rapid.Generator[string], v *rapid.Generator[V]) *rapid.Generator[map[string]V] {
	return rapid.MapOfN(k, v, 0, 3)
}

func usage() *rapid.Generator[llm.Usage] {
	return rapid.OneOf(rapid.Just(llm.Usage{}), rapid.Custom(func(t *rapid.T) llm.Usage {
		return llm.Usage{
			InputTokens: count().Draw(t, "in"), OutputTokens: count().Draw(t, "out"), CacheReadInputTokens: count().Draw(t, "cached"),
			CacheCreationInputTokens: count().Draw(t, "write"), ReasoningOutputTokens: count().Draw(t, "reasoning"),
		}
	}))
}

func part() *rapid.Generator[llm.Part] {
	return rapid.Custom(func(t *rapid.T) llm.Part {
		switch rapid.IntRange(0, 5).Draw(t, "part") {
		case 0:
			return llm.Text{Text: text().Draw(t, "text"), Refusal: rapid.Bool().Draw(t, "refusal"), Opaque: raw().Draw(t, "opaque")}
		case 1:
			return llm.Reasoning{Text: text().Draw(t, "text"), Opaque: raw().Draw(t, "opaque")}
		case 2:
			return media(t)
		case 3:
			return call(t)
		case 4:
			return result().Draw(t, "result")
		}
		return llm.Unknown{Kind: "hologram", Raw: json.RawMessage(`{"type":"hologram","depth":3}`)}
	})
}

func media(t *rapid.T) llm.Part {
	m := llm.Media{
		MediaType: text().Draw(t, "type"), Name: text().Draw(t, "name"), URL: text().Draw(t, "url"),
		Digest: text().Draw(t, "digest"), Size: count().Draw(t, "size"), Opaque: raw().Draw(t, "opaque"),
	}
	if rapid.Bool().Draw(t, "inline") {
		m.Data = rapid.SliceOfN(rapid.Byte(), 0, 5).Draw(t, "data")
	}
	return m
}

func call(t *rapid.T) llm.Part {
	return llm.ToolCall{
		ID: text().Draw(t, "id"), Name: text().Draw(t, "name"), Arguments: text().Draw(t, "args"),
		IDGenerated: rapid.Bool().Draw(t, "minted"), ProviderID: text().Draw(t, "provider id"),
		ProviderExecuted: rapid.Bool().Draw(t, "executed"), Opaque: raw().Draw(t, "opaque"),
	}
}

func result() *rapid.Generator[llm.ToolResult] {
	return rapid.Custom(func(t *rapid.T) llm.ToolResult {
		r := llm.ToolResult{ID: text().Draw(t, "id"), Name: text().Draw(t, "name"), IsError: rapid.Bool().Draw(t, "error"), Opaque: raw().Draw(t, "opaque")}
		for range rapid.IntRange(0, 2).Draw(t, "parts") {
			r.Content = append(r.Content, llm.Text{Text: text().Draw(t, "content"), Refusal: rapid.IntRange(0, 5).Draw(t, "refusal") == 0})
		}
		if rapid.IntRange(0, 4).Draw(t, "media") == 0 {
			r.Content = append(r.Content, media(t))
		}
		return r
	})
}

func message() *rapid.Generator[llm.Message] {
	return rapid.Custom(func(t *rapid.T) llm.Message {
		role := rapid.SampledFrom([]string{"system", "user", "assistant", "tool", "", "critic", "a b"}).Draw(t, "role")
		return llm.Message{Role: llm.Role(role), Parts: list(part()).Draw(t, "parts"), Opaque: raw().Draw(t, "opaque")}
	})
}

func tool() *rapid.Generator[llm.Tool] {
	return rapid.Custom(func(t *rapid.T) llm.Tool {
		return llm.Tool{Name: text().Draw(t, "name"), Description: text().Draw(t, "description"), Parameters: raw().Draw(t, "schema"), Strict: rapid.SampledFrom([]*bool{nil, new(true), new(false)}).Draw(t, "strict")}
	})
}

func failure() *rapid.Generator[trace.Error] {
	return rapid.Custom(func(t *rapid.T) trace.Error {
		return trace.Error{
			Type: word().Draw(t, "type"), Message: text().Draw(t, "message"), Status: integer().Draw(t, "status"),
			Code: text().Draw(t, "code"), RetryAfter: duration().Draw(t, "after"), Retryable: rapid.Bool().Draw(t, "retryable"),
		}
	})
}

func options() *rapid.Generator[trace.Options] {
	return rapid.Map(list(rapid.Custom(func(t *rapid.T) trace.Option {
		return trace.Option{Name: name().Draw(t, "name"), Value: text().Draw(t, "value")}
	})), func(o []trace.Option) trace.Options { return o })
}

// bodies has one generator for each kind.
var bodies = map[trace.Kind]func(*rapid.T) trace.Body{
	trace.KindRunStart: func(t *rapid.T) trace.Body {
		b := trace.RunStart{
			Clock: rapid.SampledFrom([]string{"", "virtual", "real", "odd one"}).Draw(t, "clock"), Options: options().Draw(t, "options"),
			Suppress: dict(name(), text()).Draw(t, "suppress"),
		}
		for range rapid.IntRange(0, 2).Draw(t, "tools") {
			b.Tools = append(b.Tools, trace.ToolInfo{Name: text().Draw(t, "tool"), Client: rapid.Bool().Draw(t, "client")})
		}
		if rapid.Bool().Draw(t, "child") {
			b.Parent = &trace.Parent{Run: runName().Draw(t, "parent"), ToolCallID: text().Draw(t, "call")}
		}
		return b
	},
	trace.KindStepStart: func(*rapid.T) trace.Body { return trace.StepStart{} },
	trace.KindModelConfig: func(t *rapid.T) trace.Body {
		return trace.ModelConfig{
			Model: text().Draw(t, "model"), System: system().Draw(t, "system"), Tools: list(tool()).Draw(t, "tools"),
			ToolChoice: rapid.SampledFrom([]llm.ToolChoice{{}, {Mode: llm.ChooseNone}, {Mode: llm.ChooseRequired}, {Mode: llm.ChooseTool, Name: "a b"}, {Mode: llm.ChooseTool, Name: "\xff"}}).Draw(t, "choice"),
			Settings:   rapid.SampledFrom([]llm.Settings{{}, {MaxTokens: 5, Temperature: new(0.5), TopP: new(1.0), Seed: new(int64(3)), StopSequences: []string{"x"}, ParallelToolCalls: new(false), ReasoningEffort: "low", OutputSchema: json.RawMessage(`{}`)}}).Draw(t, "settings"),
			Extra: rapid.Map(dict(name(), rapid.SampledFrom(rawValues)), func(m map[string]string) map[string]json.RawMessage {
				out := map[string]json.RawMessage{}
				for k, v := range m {
					out[k] = json.RawMessage(v)
				}
				return out
			}).Draw(t, "extra"),
		}
	},
	trace.KindModelRequest: func(t *rapid.T) trace.Body {
		return trace.ModelRequest{PrefixMessages: rapid.IntRange(0, 3).Draw(t, "kept"), NewMessages: list(message()).Draw(t, "new")}
	},
	trace.KindModelDelta: func(t *rapid.T) trace.Body {
		return trace.ModelDelta{Type: string(word().Draw(t, "what")), ToolCallID: text().Draw(t, "call"), Name: text().Draw(t, "name"), Text: text().Draw(t, "text")}
	},
	trace.KindModelResponse: func(t *rapid.T) trace.Body {
		return trace.ModelResponse{
			Message: message().Draw(t, "message"), FinishReason: llm.FinishReason(word().Draw(t, "finish")), RawFinishReason: text().Draw(t, "raw"),
			FinishMessage: text().Draw(t, "words"), ResponseID: text().Draw(t, "response"), Model: text().Draw(t, "model"), Usage: usage().Draw(t, "usage"),
		}
	},
	trace.KindModelError: func(t *rapid.T) trace.Body {
		return trace.ModelError{Error: failure().Draw(t, "error"), Partial: rapid.Bool().Draw(t, "partial"), PartialContent: list(part()).Draw(t, "received"), Usage: usage().Draw(t, "usage")}
	},
	trace.KindModelRetry: func(t *rapid.T) trace.Body {
		return trace.ModelRetry{Wait: duration().Draw(t, "wait"), Reason: word().Draw(t, "cause")}
	},
	trace.KindDecision: func(t *rapid.T) trace.Body {
		return trace.Decision{Action: trace.Action(word().Draw(t, "action")), Reason: trace.Reason(word().Draw(t, "cause")), ToolCalls: integer().Draw(t, "calls"), By: text().Draw(t, "by"), Note: text().Draw(t, "note")}
	},
	trace.KindToolArguments: func(t *rapid.T) trace.Body {
		return trace.ToolArguments{ToolCallID: text().Draw(t, "call"), Arguments: text().Draw(t, "args"), Reason: word().Draw(t, "cause")}
	},
	trace.KindToolStart: func(t *rapid.T) trace.Body {
		return trace.ToolStart{ToolCallID: text().Draw(t, "call"), Name: text().Draw(t, "name"), Arguments: text().Draw(t, "args")}
	},
	trace.KindToolEnd: func(t *rapid.T) trace.Body {
		return trace.ToolEnd{ToolCallID: text().Draw(t, "call"), Outcome: trace.Outcome(word().Draw(t, "outcome")), Result: result().Draw(t, "result")}
	},
	trace.KindToolSkip: func(t *rapid.T) trace.Body {
		return trace.ToolSkip{ToolCallID: text().Draw(t, "call"), Name: text().Draw(t, "name"), Reason: word().Draw(t, "cause"), Result: result().Draw(t, "result")}
	},
	trace.KindAbandoned: func(t *rapid.T) trace.Body { return trace.Abandoned{ToolCallID: text().Draw(t, "call")} },
	trace.KindStepEnd:   func(*rapid.T) trace.Body { return trace.StepEnd{} },
	trace.KindHistoryRewrite: func(t *rapid.T) trace.Body {
		return trace.HistoryRewrite{Reason: word().Draw(t, "cause"), By: text().Draw(t, "by")}
	},
	trace.KindCanceled: func(t *rapid.T) trace.Body { return trace.Canceled{Reason: word().Draw(t, "cause")} },
	trace.KindSuspended: func(t *rapid.T) trace.Body {
		return trace.Suspended{Pending: strings_().Draw(t, "pending"), Digest: text().Draw(t, "digest")}
	},
	trace.KindResumed: func(t *rapid.T) trace.Body { return trace.Resumed{Of: runName().Draw(t, "of")} },
	trace.KindWarning: func(t *rapid.T) trace.Body {
		return trace.Warning{Code: text().Draw(t, "code"), Message: text().Draw(t, "message"), ToolCallID: text().Draw(t, "call")}
	},
	trace.KindCustom: func(t *rapid.T) trace.Body {
		return trace.Custom{Name: text().Draw(t, "name"), Data: raw().Draw(t, "data")}
	},
	trace.KindRunEnd: func(t *rapid.T) trace.Body {
		b := trace.RunEnd{
			StopReason: trace.Reason(word().Draw(t, "stop")), FinishReason: llm.FinishReason(word().Draw(t, "finish")), Steps: integer().Draw(t, "steps"), ModelCalls: integer().Draw(t, "calls"),
			Usage: usage().Draw(t, "usage"), Pending: strings_().Draw(t, "pending"), AppendedMessages: list(message()).Draw(t, "appended"),
		}
		for p, u := range dict(name(), usage()).Draw(t, "by") {
			if b.UsageBy == nil {
				b.UsageBy = map[trace.Purpose]llm.Usage{}
			}
			b.UsageBy[trace.Purpose(p)] = u
		}
		if rapid.Bool().Draw(t, "failed") {
			b.Error = new(failure().Draw(t, "error"))
		}
		return b
	},
	"unknown": func(t *rapid.T) trace.Body {
		return trace.Unknown{
			Name: trace.Kind(rapid.SampledFrom([]string{"tool.progress", "", "a b", "r1"}).Draw(t, "name")),
			Raw:  json.RawMessage(rapid.SampledFrom([]string{`{}`, `{"a":1}`, `{"name":"x","deep":{"run":"r"}}`}).Draw(t, "raw")),
		}
	},
}

func runName() *rapid.Generator[string] {
	return rapid.OneOf(rapid.SampledFrom([]string{"r1", "r2", "main", "agent/7", "0", "?x", "", "é"}), text())
}

func event() *rapid.Generator[trace.Event] {
	kinds := slices.Sorted(maps.Keys(bodies))
	return rapid.Custom(func(t *rapid.T) trace.Event {
		ev := trace.Event{
			Seq: rapid.IntRange(0, 9).Draw(t, "seq"), Run: runName().Draw(t, "run"), Step: rapid.IntRange(-1, 3).Draw(t, "step"),
			Attempt: rapid.IntRange(0, 3).Draw(t, "attempt"), At: duration().Draw(t, "at"),
		}
		if rapid.IntRange(0, 3).Draw(t, "purposeful") == 0 {
			ev.Purpose = trace.Purpose(word().Draw(t, "purpose"))
		}
		ev.Body = bodies[rapid.SampledFrom(kinds).Draw(t, "kind")](t)
		return ev
	})
}

func events() *rapid.Generator[[]trace.Event] { return rapid.SliceOfN(event(), 0, 12) }
