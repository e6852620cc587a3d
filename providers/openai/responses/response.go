package responses

import (
	"cmp"
	"fmt"
	"net/http"
	"slices"

	"github.com/looptape/looptape/internal/jsonio"
	"github.com/looptape/looptape/llm"
	"github.com/looptape/looptape/providers/internal/codec"
	"github.com/looptape/looptape/providers/openai/internal/api"
)

// DecodeError implements [protocol.Protocol].
func (Protocol) DecodeError(status int, _ http.Header, body []byte) *llm.APIError {
	return api.DecodeError(status, body)
}

// EncodeError implements [protocol.Protocol].
func (Protocol) EncodeError(e *llm.APIError) []byte { return api.EncodeError(e) }

// DecodeResponse implements [protocol.Protocol].
func (Protocol) DecodeResponse(body []byte, emit func(llm.Event)) error {
	if !jsonio.IsObject(jsonio.View(body)) {
		return codec.UnexpectedBody(body)
	}
	d := jsonio.NewDec(string(body))
	s := decoder{emit: emit}
	r, err := readResponse(&d)
	if err != nil {
		return fmt.Errorf("openai-responses: the response: %w", err)
	}
	if r.output == nil && r.status == "" && codec.Get(body, "output") == nil && codec.Get(body, "status") == nil {
		if t, ok := api.ReadError(string(body)); ok && t.Message != "" {
			return t.APIError(0)
		}
		return codec.UnexpectedBody(body)
	}
	if r.failure != nil {
		return r.failure
	}
	for i := range r.output {
		if err := s.emitItem(&r.output[i]); err != nil {
			return fmt.Errorf("openai-responses: the response: output[%d]: %w", i, err)
		}
	}
	s.finish(&r)
	return nil
}

type response struct {
	id, model, status, reason string
	output                    []item
	usage                     llm.Usage
	failure                   *llm.APIError
	unknown                   codec.MemberSet // other members
}

// keyResponse is the member of a message's opaque data with the unknown members of the
// response, limited by [codec.MaxKept] and [codec.MemberSet].
const keyResponse = "responses_answer"

// notKept are members that describe the service, or repeat the request or the content.
var notKept = []string{
	"access_programs", "background", "billing", "completed_at", "content_filters", "created_at", "moderation", "object",
	"output_text", "prompt_cache_diagnostics", "tool_usage",
	// settings of the request
	"conversation", "frequency_penalty", "instructions", "max_output_tokens", "max_tool_calls", "metadata",
	"parallel_tool_calls", "presence_penalty", "previous_response_id", "prompt", "prompt_cache_key",
	"prompt_cache_options", "prompt_cache_retention", "reasoning", "safety_identifier", "service_tier", "store",
	"temperature", "text", "tool_choice", "tools", "top_logprobs", "top_p", "truncation", "user",
}

func readResponse(d *jsonio.Dec) (r response, err error) {
	other := func(key string) {
		if raw := d.Raw(); !slices.Contains(notKept, key) {
			r.unknown.Set(key, raw)
		}
	}
	codec.ReadObject(d, other,
		"id", &r.id,
		"status", func() {
			if r.status = codec.String(d); r.status == "failed" {
				r.failed("{}")
			}
		},
		"error", func() { r.failed(d.Raw()) },
		"incomplete_details", func() { codec.Read(d, nil, "reason", &r.reason) },
		"model", &r.model,
		"output", func() {
			for range d.Elements() {
				if r.output == nil {
					const usual = 4 // items, usually at most
					r.output = make([]item, 0, usual)
				}
				r.output = append(r.output, readItem(d))
			}
		},
		"usage", func() { r.usage = api.ReadUsage(d) })
	return r, d.Err()
}

func (r *response) failed(raw string) {
	if raw == "{}" && r.failure != nil {
		return
	}
	t, _ := api.ReadError(`{"error":` + raw + `}`)
	if t.Message == "" && t.Code == "" {
		t.Message = "the response failed without a message"
	}
	r.failure = t.APIError(0)
}

func (s *decoder) emitItem(it *item) error {
	switch it.kind {
	case kindMessage:
		for _, p := range it.assistantParts() {
			if t, ok := p.(llm.Text); ok {
				s.emit(llm.TextDelta(t))
				continue
			}
			s.emit(llm.PartDone{Part: p})
		}
	case kindReasoning:
		s.emit(llm.ReasoningDelta(it.reasoning()))
	case kindCall, kindCustomCall:
		s.hasCall = true
		if it.status == statusIncomplete {
			s.emitIncomplete(it)
			return nil
		}
		s.emit(llm.PartDone{Part: it.call()})
	default:
		s.emit(llm.PartDone{Part: it.other()})
	}
	return it.err
}

// emitIncomplete emits a call that the provider did not end (quirk QR-03).
func (s *decoder) emitIncomplete(it *item) {
	s.calls++
	c := it.call()
	s.emit(llm.ToolCallStart{Index: s.calls, ID: c.ID, Name: c.Name, Opaque: c.Opaque})
	s.emit(llm.ToolCallDelta{Index: s.calls, Arguments: c.Arguments})
}

var finishReasons = codec.FinishReasons{
	{statusCompleted, llm.FinishStop},
	{"max_output_tokens", llm.FinishLength},
	{"max_tokens", llm.FinishLength},
	{"content_filter", llm.FinishContentFilter},
}

func (s *decoder) finish(r *response) {
	if r.usage != (llm.Usage{}) {
		s.emit(r.usage)
	}
	var kept codec.Members
	kept.AddObject(keyResponse, r.unknown.Sorted().Members(codec.MaxKept))
	f := llm.Finish{ResponseID: cmp.Or(r.id, s.id), Model: cmp.Or(r.model, s.model), Opaque: kept.Object()}
	word := cmp.Or(r.reason, r.status)
	if r.status == "completed" {
		word = r.status
	}
	f.Reason = finishReasons.Reason(word)
	if f.Reason == llm.FinishStop && s.hasCall {
		f.Reason = llm.FinishToolCalls
	}
	if word != string(f.Reason) {
		f.Raw = word
	}
	s.emit(f)
}
