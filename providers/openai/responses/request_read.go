package responses

import (
	"encoding/json"
	"errors"
	"fmt"

	"github.com/looptape/looptape/internal/jsonio"
	"github.com/looptape/looptape/llm"
	"github.com/looptape/looptape/providers/internal/wirejson"
	"github.com/looptape/looptape/providers/openai/internal/api"
)

// DecodeRequest implements [protocol.Protocol]. It ignores the path.
func (Protocol) DecodeRequest(_ string, body []byte) (*llm.Request, error) {
	d, err := newDec(body)
	if err != nil {
		return nil, fmt.Errorf("openai-responses: the request: %w", err)
	}
	r := requestReader{req: &llm.Request{ResponseMode: llm.NonStreaming}}
	// EncodeRequest always writes these, so Extra says if they are missing.
	r.extra("store", "null")
	r.extra("include", "null")
	for key := range d.Members() {
		r.member(&d, key)
	}
	if err := errors.Join(d.End(), r.err); err != nil {
		return nil, fmt.Errorf("openai-responses: the request: %w", err)
	}
	if len(r.req.Extra) == 0 {
		r.req.Extra = nil
	}
	return r.req, nil
}

// requestReader reads the members of a request.
type requestReader struct {
	req *llm.Request
	err error
}

func (r *requestReader) extra(key, raw string) {
	if r.req.Extra == nil {
		r.req.Extra = map[string]json.RawMessage{}
	}
	r.req.Extra[key] = wirejson.Compact(raw)
}

func (r *requestReader) member(d *jsonio.Dec, key string) {
	s := &r.req.Settings
	if d.Peek() == 'n' {
		d.Null()
		return
	}
	switch key {
	case "model":
		r.req.Model = d.String()
	case "instructions":
		if d.Peek() == '"' {
			r.req.System = d.String()
			return
		}
		r.extra(key, d.Raw())
	case "input":
		r.input(d)
	case "tools":
		r.tools(d)
	case "tool_choice":
		r.toolChoice(d)
	case "parallel_tool_calls":
		s.ParallelToolCalls = new(d.Bool())
	case "max_output_tokens":
		s.MaxTokens = int(d.Int())
	case "temperature":
		s.Temperature = new(d.Float())
	case "top_p":
		s.TopP = new(d.Float())
	case "stream":
		if d.Bool() {
			r.req.ResponseMode = llm.Streaming
		}
	case "reasoning":
		r.reasoning(d)
	case "text":
		r.text(d)
	case "store":
		r.standing(key, d.Raw(), "false")
	case "include":
		r.standing(key, d.Raw(), wantsEncrypted)
	default:
		r.extra(key, d.Raw())
	}
}

// standing handles a member that EncodeRequest always writes with this value.
func (r *requestReader) standing(key, raw, always string) {
	if string(wirejson.Compact(raw)) == always {
		delete(r.req.Extra, key)
		return
	}
	r.extra(key, raw)
}

func (r *requestReader) toolChoice(d *jsonio.Dec) {
	raw := d.Raw()
	switch string(wirejson.Compact(raw)) {
	case `"auto"`:
		return
	case `"required"`:
		r.req.ToolChoice.Mode = llm.ChooseRequired
		return
	case `"none"`:
		r.req.ToolChoice.Mode = llm.ChooseNone
		return
	}
	if v := json.RawMessage(raw); wirejson.GetString(v, "type") == "function" && wirejson.GetString(v, "name") != "" {
		r.req.ToolChoice = llm.ToolChoice{Mode: llm.ChooseTool, Name: wirejson.GetString(v, "name")}
		return
	}
	r.extra("tool_choice", raw)
}

// reasoning reads the effort. The rest goes to Extra.
func (r *requestReader) reasoning(d *jsonio.Dec) {
	var rest wirejson.Members
	for key := range d.Members() {
		if key == "effort" && d.Peek() == '"' {
			r.req.Settings.ReasoningEffort = d.String()
			continue
		}
		rest.Add(d, key)
	}
	if rest != nil {
		r.extra("reasoning", string(rest.Object()))
	}
}

// text reads the output schema. The rest goes to Extra.
func (r *requestReader) text(d *jsonio.Dec) {
	var rest wirejson.Members
	for key := range d.Members() {
		if key != "format" {
			rest.Add(d, key)
			continue
		}
		raw := json.RawMessage(d.Raw())
		if format := r.format(raw); format != nil {
			inner := jsonio.NewDec(string(format))
			rest.Add(&inner, key)
		}
	}
	if rest != nil {
		r.extra("text", string(rest.Object()))
	}
}

// format reads the schema, and returns the members that EncodeRequest would not write.
func (r *requestReader) format(raw json.RawMessage) json.RawMessage {
	schema := wirejson.Get(raw, "schema")
	if wirejson.GetString(raw, "type") != "json_schema" || !jsonio.IsObject(jsonio.View(schema)) {
		return raw
	}
	r.req.Settings.OutputSchema = wirejson.Compact(string(schema))
	var rest wirejson.Members
	strict := false
	wirejson.EachMember(raw, func(key, value string) {
		switch {
		case key == "type" || key == "schema" || key == "name" && value == `"`+schemaName+`"`:
			return
		case key == "strict":
			strict = true
			if value == "true" && api.FollowsStrict(schema) {
				return
			}
		}
		d := jsonio.NewDec(value)
		rest.Add(&d, key)
	})
	if !strict && api.FollowsStrict(schema) {
		no := jsonio.NewDec("false")
		rest.Add(&no, "strict")
	}
	return rest.Object()
}

// tools reads the functions. Other tools, and those that Tool cannot represent, go to Extra.
func (r *requestReader) tools(d *jsonio.Dec) {
	others := []byte{'['}
	for range d.Elements() {
		from := d.Offset()
		t, whole := readTool(d)
		if t.Name != "" {
			r.req.Tools = append(r.req.Tools, t)
		}
		if whole {
			continue
		}
		others = append(wirejson.AppendComma(others), wirejson.Compact(d.Since(from))...)
	}
	if len(others) > 1 {
		r.extra("tools", string(append(others, ']')))
	}
}

// readTool reads a tool. It has no name unless it is a function. Whole reports whether Tool
// represents all of it.
func readTool(d *jsonio.Dec) (t llm.Tool, whole bool) {
	kind := ""
	whole = true
	for key := range d.Members() {
		switch {
		case key == "type":
			kind = wirejson.String(d)
		case key == "name":
			t.Name = wirejson.String(d)
		case key == "description" && d.Peek() == '"':
			t.Description = d.String()
		case key == "parameters" && d.Peek() == '{':
			t.Parameters = wirejson.Compact(d.Raw())
		case key == "strict" && d.Peek() != 'n':
			t.Strict = new(d.Bool())
		default:
			whole = d.Raw() == "null" && whole
		}
	}
	if kind != "function" {
		return llm.Tool{}, false
	}
	return t, whole && t.Name != ""
}
