package trace

import (
	"reflect"
	"slices"
	"strconv"

	"github.com/looptape/looptape/llm"
)

// Project returns the canonical form without the differences between providers that give equal
// responses. It omits raw finish reasons and their explanations, response ids, model names,
// provider-specific members, provider ids of calls, and opaque data. The ids of calls become c1, c2 …
// in each run, in the order of their first use. The finish reason tool_calls becomes stop, because
// Gemini has no finish reason for calls.
//
// Project does not change its input.
func Project(events []Event) []Event {
	out := Canonical(events)
	p := projector{calls: map[string]map[string]string{}}
	for i := range out {
		if b, ok := out[i].Body.(RunStart); ok && b.Parent != nil {
			p.run = b.Parent.Run
			b.Parent = &Parent{Run: p.run, ToolCallID: p.call(b.Parent.ToolCallID)}
			out[i].Body = b
			continue
		}
		p.run = out[i].Run
		p.edit(reflect.ValueOf(&out[i].Body).Elem())
	}
	return out
}

// projected are the fields that Project empties, in addition to Opaque.
var projected = []string{
	"ModelConfig.Model", "ModelConfig.Extra",
	"ModelResponse.RawFinishReason", "ModelResponse.FinishMessage",
	"ModelResponse.ResponseID", "ModelResponse.Model",
	"Suspended.Digest", // of what a provider wants back, too
	"ToolCall.IDGenerated", "ToolCall.ProviderID",
}

type projector struct {
	calls map[string]map[string]string // run → call → its new id
	run   string
}

// call returns the new id of a call of the run.
func (p *projector) call(id string) string {
	ids := p.calls[p.run]
	if ids == nil {
		ids = map[string]string{}
		p.calls[p.run] = ids
	}
	if _, ok := ids[id]; !ok && id != "" {
		ids[id] = "c" + strconv.Itoa(len(ids)+1)
	}
	return ids[id]
}

// edit edits a value, and copies of the lists in it.
func (p *projector) edit(v reflect.Value) {
	switch v.Kind() {
	case reflect.Interface:
		if !v.IsNil() {
			x := reflect.New(v.Elem().Type()).Elem()
			x.Set(v.Elem())
			p.edit(x)
			v.Set(x)
		}
	case reflect.Slice:
		if v.IsNil() || v.Type().Elem().Kind() == reflect.Uint8 {
			return
		}
		v.Set(reflect.AppendSlice(reflect.MakeSlice(v.Type(), 0, v.Len()), v))
		for i := range v.Len() {
			p.edit(v.Index(i))
		}
	case reflect.Struct:
		for i := range v.NumField() {
			p.field(v.Type(), v.Type().Field(i).Name, v.Field(i))
		}
	default: // has no list of messages
	}
}

func (p *projector) field(of reflect.Type, name string, v reflect.Value) {
	full := of.Name() + "." + name
	switch {
	case name == "Opaque" || slices.Contains(projected, full):
		v.SetZero()
	case name == "ToolCallID", full == "ToolCall.ID", full == "ToolResult.ID":
		v.SetString(p.call(v.String()))
	case name == "FinishReason" && v.String() == string(llm.FinishToolCalls):
		v.SetString(string(llm.FinishStop))
	case name == "Pending":
		p.edit(v)
		for i := range v.Len() {
			v.Index(i).SetString(p.call(v.Index(i).String()))
		}
	default:
		p.edit(v)
	}
}
