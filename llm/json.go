package llm

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"unicode/utf8"

	"github.com/looptape/looptape/internal/jsonio"
)

// The JSON forms. Each AppendJSON writes the only encoding of a value. Members have a fixed
// order and are absent where they are empty. The JSON has no insignificant space and no HTML
// escapes. A string that is not UTF-8 is written as base64 under its name and "_b64". The
// readers accept any order and ignore unknown members.

// AppendJSON appends the message's JSON.
func (m Message) AppendJSON(dst []byte) []byte {
	dst = append(dst, `{"role":`...)
	dst = jsonio.AppendString(dst, string(m.Role))
	dst = append(dst, `,"parts":`...)
	dst = AppendParts(dst, m.Parts)
	dst = appendOpaque(dst, m.Opaque)
	return append(dst, '}')
}

// AppendParts appends a JSON array of parts.
func AppendParts(dst []byte, parts []Part) []byte {
	dst = append(dst, '[')
	for i, p := range parts {
		if i > 0 {
			dst = append(dst, ',')
		}
		dst = AppendPart(dst, p)
	}
	return append(dst, ']')
}

// AppendPart appends a part's JSON, an object with its "type".
func AppendPart(dst []byte, p Part) []byte {
	switch p := p.(type) {
	case Text:
		dst = jsonio.AppendText(append(dst, `{"type":"text",`...), "text", p.Text)
		if p.Refusal {
			dst = append(dst, `,"refusal":true`...)
		}
		dst = appendOpaque(dst, p.Opaque)
	case Reasoning:
		dst = jsonio.AppendText(append(dst, `{"type":"reasoning",`...), "text", p.Text)
		dst = appendOpaque(dst, p.Opaque)
	case Media:
		dst = appendMedia(dst, p)
	case ToolCall:
		dst = append(dst, `{"type":"tool_call"`...)
		dst = appendMember(dst, "id", p.ID)
		dst = appendMember(dst, "name", p.Name)
		dst = jsonio.AppendText(append(dst, ','), "arguments", p.Arguments)
		if p.IDGenerated {
			dst = append(dst, `,"id_generated":true`...)
		}
		dst = appendOptional(dst, "provider_id", p.ProviderID)
		if p.ProviderExecuted {
			dst = append(dst, `,"provider_executed":true`...)
		}
		dst = appendOpaque(dst, p.Opaque)
	case ToolResult:
		dst = append(dst, `{"type":"tool_result"`...)
		dst = appendMember(dst, "tool_call_id", p.ID)
		dst = appendOptional(dst, "name", p.Name)
		dst = append(dst, `,"content":`...)
		dst = AppendParts(dst, p.Content)
		if p.IsError {
			dst = append(dst, `,"is_error":true`...)
		}
		dst = appendOpaque(dst, p.Opaque)
	case Unknown:
		return jsonio.AppendRaw(dst, p.Raw)
	}
	return append(dst, '}')
}

func appendMedia(dst []byte, p Media) []byte {
	dst = append(dst, `{"type":"media"`...)
	dst = appendMember(dst, "media_type", p.MediaType)
	dst = appendOptional(dst, "name", p.Name)
	if p.Data != nil {
		dst = append(dst, `,"data":"`...)
		dst = base64.StdEncoding.AppendEncode(dst, p.Data)
		dst = append(dst, '"')
	}
	dst = appendOptional(dst, "url", p.URL)
	dst = appendOptional(dst, "digest", p.Digest)
	if p.Size != 0 {
		dst = jsonio.AppendInt(append(dst, `,"size":`...), p.Size)
	}
	return appendOpaque(dst, p.Opaque)
}

func appendMember(dst []byte, key, v string) []byte {
	return jsonio.AppendText(append(dst, ','), key, v)
}

func appendOptional(dst []byte, key, v string) []byte {
	if v == "" {
		return dst
	}
	return appendMember(dst, key, v)
}

func appendRawMember(dst []byte, key string, raw json.RawMessage) []byte {
	if raw == nil {
		return dst
	}
	dst = append(append(append(dst, ',', '"'), key...), '"', ':')
	return jsonio.AppendRaw(dst, raw)
}

func appendOpaque(dst []byte, raw json.RawMessage) []byte {
	return appendRawMember(dst, "opaque", raw)
}

// AppendJSON appends the usage's JSON: input and output always, the rest where
// it is not zero.
func (u Usage) AppendJSON(dst []byte) []byte { return append(u.appendMembers(append(dst, '{')), '}') }

func (u Usage) appendMembers(dst []byte) []byte {
	dst = jsonio.AppendInt(append(dst, `"input_tokens":`...), u.InputTokens)
	dst = jsonio.AppendInt(append(dst, `,"output_tokens":`...), u.OutputTokens)
	for _, m := range [...]struct {
		key string
		n   int64
	}{{`,"cache_read_input_tokens":`, u.CacheReadInputTokens}, {`,"cache_creation_input_tokens":`, u.CacheCreationInputTokens}, {`,"reasoning_output_tokens":`, u.ReasoningOutputTokens}} {
		if m.n != 0 {
			dst = jsonio.AppendInt(append(dst, m.key...), m.n)
		}
	}
	return dst
}

// AppendJSON appends the tool definition's JSON.
func (t Tool) AppendJSON(dst []byte) []byte {
	dst = jsonio.AppendText(append(dst, '{'), "name", t.Name)
	dst = appendOptional(dst, "description", t.Description)
	dst = appendRawMember(dst, "parameters", t.Parameters)
	if t.Strict != nil {
		dst = strconv.AppendBool(append(dst, `,"strict":`...), *t.Strict)
	}
	return append(dst, '}')
}

// AppendJSON appends the request's JSON.
func (r *Request) AppendJSON(dst []byte) []byte {
	dst = jsonio.AppendText(append(dst, '{'), "model", r.Model)
	dst = appendOptional(dst, "system", r.System)
	dst = append(dst, `,"messages":[`...)
	for i, m := range r.Messages {
		if i > 0 {
			dst = append(dst, ',')
		}
		dst = m.AppendJSON(dst)
	}
	dst = append(dst, ']')
	if r.Tools != nil {
		dst = append(dst, `,"tools":[`...)
		for i, t := range r.Tools {
			if i > 0 {
				dst = append(dst, ',')
			}
			dst = t.AppendJSON(dst)
		}
		dst = append(dst, ']')
	}
	if r.ToolChoice != (ToolChoice{}) {
		dst = appendMember(dst, "tool_choice", r.ToolChoice.String())
	}
	dst = appendOptional(dst, "response_mode", string(r.ResponseMode))
	if s := r.Settings.AppendJSON(nil); len(s) > len("{}") {
		dst = append(append(dst, `,"settings":`...), s...)
	}
	if len(r.Extra) > 0 {
		dst = append(dst, `,"extra":`...)
		sep := byte('{')
		for _, k := range slices.Sorted(maps.Keys(r.Extra)) {
			dst = append(jsonio.AppendString(append(dst, sep), k), ':')
			dst = jsonio.AppendRaw(dst, r.Extra[k])
			sep = ','
		}
		dst = append(dst, '}')
	}
	return append(dst, '}')
}

// AppendJSON appends the JSON of the settings that are not the default.
func (s Settings) AppendJSON(dst []byte) []byte {
	dst = append(dst, '{')
	from := len(dst)
	if s.MaxTokens != 0 {
		dst = jsonio.AppendInt(append(dst, `,"max_tokens":`...), int64(s.MaxTokens))
	}
	if s.Temperature != nil {
		dst = strconv.AppendFloat(append(dst, `,"temperature":`...), *s.Temperature, 'g', -1, 64)
	}
	if s.TopP != nil {
		dst = strconv.AppendFloat(append(dst, `,"top_p":`...), *s.TopP, 'g', -1, 64)
	}
	if s.Seed != nil {
		dst = jsonio.AppendInt(append(dst, `,"seed":`...), *s.Seed)
	}
	if s.StopSequences != nil {
		dst = append(dst, `,"stop_sequences":[`...)
		for i, w := range s.StopSequences {
			if i > 0 {
				dst = append(dst, ',')
			}
			dst = jsonio.AppendString(dst, w)
		}
		dst = append(dst, ']')
	}
	if s.ParallelToolCalls != nil {
		dst = strconv.AppendBool(append(dst, `,"parallel_tool_calls":`...), *s.ParallelToolCalls)
	}
	dst = appendOptional(dst, "reasoning_effort", s.ReasoningEffort)
	dst = appendRawMember(dst, "output_schema", s.OutputSchema)
	if len(dst) > from {
		dst = append(dst[:from], dst[from+1:]...) // the first comma
	}
	return append(dst, '}')
}

// AppendEvent appends an event's JSON, an object with its "type".
func AppendEvent(dst []byte, ev Event) []byte {
	switch e := ev.(type) {
	case TextDelta:
		dst = jsonio.AppendText(append(dst, `{"type":"text_delta",`...), "text", e.Text)
		if e.Refusal {
			dst = append(dst, `,"refusal":true`...)
		}
		dst = appendOpaque(dst, e.Opaque)
	case ReasoningDelta:
		dst = jsonio.AppendText(append(dst, `{"type":"reasoning_delta",`...), "text", e.Text)
		dst = appendOpaque(dst, e.Opaque)
	case ToolCallStart:
		dst = appendCallKey(append(dst, `{"type":"tool_call_start"`...), e.Index, e.ID)
		dst = appendOptional(dst, "name", e.Name)
		dst = appendOpaque(dst, e.Opaque)
	case ToolCallDelta:
		dst = appendCallKey(append(dst, `{"type":"tool_call_delta"`...), e.Index, e.ID)
		dst = appendMember(dst, "arguments", e.Arguments)
	case ToolCallEnd:
		dst = appendCallKey(append(dst, `{"type":"tool_call_end"`...), e.Index, e.ID)
		dst = appendOptional(dst, "arguments", e.Arguments)
		dst = appendOpaque(dst, e.Opaque)
	case PartDone:
		dst = AppendPart(append(dst, `{"type":"part","part":`...), e.Part)
	case Usage:
		dst = e.appendMembers(append(dst, `{"type":"usage",`...))
	case Warning:
		dst = jsonio.AppendText(append(dst, `{"type":"warning",`...), "code", e.Code)
		dst = appendMember(dst, "message", e.Message)
	case Finish:
		dst = append(dst, `{"type":"finish"`...)
		dst = appendMember(dst, "reason", string(e.Reason))
		dst = appendOptional(dst, "raw", e.Raw)
		dst = appendOptional(dst, "message", e.Message)
		dst = appendOptional(dst, "response_id", e.ResponseID)
		dst = appendOptional(dst, "model", e.Model)
		dst = appendOpaque(dst, e.Opaque)
	case Unknown:
		return jsonio.AppendRaw(dst, e.Raw)
	}
	return append(dst, '}')
}

func appendCallKey(dst []byte, index int, id string) []byte {
	if index != 0 {
		dst = jsonio.AppendInt(append(dst, `,"index":`...), int64(index))
	}
	return appendOptional(dst, "id", id)
}

// MarshalJSON implements json.Marshaler.
func (m Message) MarshalJSON() ([]byte, error) { return m.AppendJSON(nil), nil }

// MarshalJSON implements json.Marshaler.
func (u Usage) MarshalJSON() ([]byte, error) { return u.AppendJSON(nil), nil }

// MarshalJSON implements json.Marshaler.
func (t Tool) MarshalJSON() ([]byte, error) { return t.AppendJSON(nil), nil }

// MarshalJSON implements json.Marshaler.
func (r *Request) MarshalJSON() ([]byte, error) { return r.AppendJSON(nil), nil }

// MarshalJSON implements json.Marshaler.
func (s Settings) MarshalJSON() ([]byte, error) { return s.AppendJSON(nil), nil }

// unmarshal reads one JSON text with a reader of the forms above.
func unmarshal[T any](b []byte, read func(*jsonio.Dec) T) (T, error) {
	var zero T
	if !utf8.Valid(b) {
		return zero, fmt.Errorf("llm: the JSON text is not UTF-8")
	}
	d := jsonio.NewDec(string(b))
	v := read(&d)
	if err := d.End(); err != nil {
		return zero, fmt.Errorf("llm: %w", err)
	}
	return v, nil
}

// UnmarshalJSON implements json.Unmarshaler.
func (m *Message) UnmarshalJSON(b []byte) (err error) { *m, err = unmarshal(b, ReadMessage); return }

// UnmarshalJSON implements json.Unmarshaler.
func (u *Usage) UnmarshalJSON(b []byte) (err error) { *u, err = unmarshal(b, ReadUsage); return }

// UnmarshalJSON implements json.Unmarshaler.
func (t *Tool) UnmarshalJSON(b []byte) (err error) { *t, err = unmarshal(b, ReadTool); return }

// UnmarshalJSON implements json.Unmarshaler.
func (r *Request) UnmarshalJSON(b []byte) (err error) { *r, err = unmarshal(b, ReadRequest); return }

// UnmarshalJSON implements json.Unmarshaler.
func (s *Settings) UnmarshalJSON(b []byte) (err error) {
	*s, err = unmarshal(b, ReadSettings)
	return
}

// UnmarshalPart reads a part written by AppendPart.
func UnmarshalPart(b []byte) (Part, error) { return unmarshal(b, ReadPart) }

// UnmarshalEvent reads an event written by AppendEvent.
func UnmarshalEvent(b []byte) (Event, error) { return unmarshal(b, ReadEvent) }
