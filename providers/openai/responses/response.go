package responses

import (
	"cmp"
	"errors"
	"fmt"
	"net/http"

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
	if !r.has.output && !r.has.status {
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
	has                       struct{ output, status bool }
}

// keyResponse is the member of a message's opaque data with the unknown members of the
// response, limited by [codec.MaxKept] and [codec.MemberSet].
const keyResponse = "responses_answer"

func readResponse(d *jsonio.Dec) (r response, err error) {
	for key := range d.Members() {
		switch key {
		case "id":
			r.id = codec.String(d)
		case "model":
			r.model = codec.String(d)
		case "status":
			if r.status, r.has.status = codec.String(d), true; r.status == "failed" {
				r.failed("{}")
			}
		case "incomplete_details":
			r.reason = codec.GetString([]byte(d.Raw()), "reason")
		case "error":
			r.failed(d.Raw())
		case "usage":
			r.usage = api.ReadUsage(d)
		case "output":
			r.has.output = true
			if d.Null() {
				continue
			}
			for range d.Elements() {
				r.output = append(r.output, readItem(d))
			}
		case "object", "created_at", "completed_at", "output_text", // not of the content
			"access_programs", "background", "billing", "content_filters", "moderation", "prompt_cache_diagnostics", "tool_usage",
			// settings of the request
			"conversation", "frequency_penalty", "instructions", "max_output_tokens", "max_tool_calls", "metadata", "parallel_tool_calls",
			"presence_penalty", "previous_response_id", "prompt", "prompt_cache_key", "prompt_cache_options", "prompt_cache_retention", "reasoning",
			"safety_identifier", "service_tier", "store", "temperature", "text", "tool_choice", "tools", "top_logprobs", "top_p", "truncation", "user":
			d.Skip()
		default:
			r.unknown.Set(key, d.Raw())
		}
	}
	return r, d.Err()
}

func (r *response) failed(raw string) {
	if raw == "null" || raw == "{}" && r.failure != nil {
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
		parts, err := it.assistantParts()
		for _, p := range parts {
			if t, ok := p.(llm.Text); ok {
				s.emit(llm.TextDelta(t))
				continue
			}
			s.emit(llm.PartDone{Part: p})
		}
		return err
	case kindReasoning:
		p, err := it.reasoning()
		s.emit(llm.ReasoningDelta(p))
		return err
	case kindCall, kindCustomCall:
		s.hasCall = true
		if it.status == statusIncomplete {
			s.emitIncomplete(it)
			return nil
		}
		s.emit(llm.PartDone{Part: it.call()})
		return nil
	}
	s.emit(llm.PartDone{Part: it.other()})
	return nil
}

// emitIncomplete emits a call that the provider did not end (quirk QR-03), like a stream
// without its end.
func (s *decoder) emitIncomplete(it *item) {
	s.calls++
	c := it.call()
	s.emit(llm.ToolCallStart{Index: s.calls, ID: c.ID, Name: c.Name, Opaque: c.Opaque})
	s.emit(llm.ToolCallDelta{Index: s.calls, Arguments: c.Arguments})
}

func (s *decoder) finish(r *response) {
	if r.usage != (llm.Usage{}) {
		s.emit(r.usage)
	}
	var kept codec.Members
	kept.AddObject(keyResponse, r.unknown.Sorted().Members(codec.MaxKept))
	f := llm.Finish{ResponseID: cmp.Or(r.id, s.id), Model: cmp.Or(r.model, s.model), Opaque: kept.Object()}
	switch word := cmp.Or(r.reason, r.status); {
	case r.status == "completed" && s.hasCall:
		f.Reason, f.Raw = llm.FinishToolCalls, r.status
	case r.status == "completed":
		f.Reason, f.Raw = llm.FinishStop, r.status
	case word == "max_output_tokens" || word == "max_tokens":
		f.Reason, f.Raw = llm.FinishLength, word
	case word == "content_filter":
		f.Reason = llm.FinishContentFilter
	default:
		f.Reason, f.Raw = llm.FinishUnknown, word
	}
	s.emit(f)
}

// errNoTerminal is the cause of an [protocol.ErrTruncated].
var errNoTerminal = errors.New("missing response.completed")
