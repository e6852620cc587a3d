package fake

import (
	"maps"
	"slices"

	"github.com/looptape/looptape/llm"
)

// cloneRequest returns a deep copy.
func cloneRequest(r *llm.Request) *llm.Request {
	out := *r
	out.Messages = slices.Clone(r.Messages)
	for i, m := range out.Messages {
		out.Messages[i].Parts = cloneParts(m.Parts)
		out.Messages[i].Opaque = slices.Clone(m.Opaque)
	}
	out.Tools = slices.Clone(r.Tools)
	for i, t := range out.Tools {
		out.Tools[i].Parameters = slices.Clone(t.Parameters)
		out.Tools[i].Strict = clonePointer(t.Strict)
	}
	out.Settings.Temperature = clonePointer(r.Settings.Temperature)
	out.Settings.TopP = clonePointer(r.Settings.TopP)
	out.Settings.Seed = clonePointer(r.Settings.Seed)
	out.Settings.StopSequences = slices.Clone(r.Settings.StopSequences)
	out.Settings.ParallelToolCalls = clonePointer(r.Settings.ParallelToolCalls)
	out.Settings.OutputSchema = slices.Clone(r.Settings.OutputSchema)
	out.Extra = maps.Clone(r.Extra)
	for k, v := range out.Extra {
		out.Extra[k] = slices.Clone(v)
	}
	return &out
}

func cloneParts(parts []llm.Part) []llm.Part {
	out := slices.Clone(parts)
	for i, p := range out {
		switch p := p.(type) {
		case llm.Text:
			p.Opaque = slices.Clone(p.Opaque)
			out[i] = p
		case llm.Reasoning:
			p.Opaque = slices.Clone(p.Opaque)
			out[i] = p
		case llm.Media:
			p.Data, p.Opaque = slices.Clone(p.Data), slices.Clone(p.Opaque)
			out[i] = p
		case llm.ToolCall:
			p.Opaque = slices.Clone(p.Opaque)
			out[i] = p
		case llm.ToolResult:
			p.Content, p.Opaque = cloneParts(p.Content), slices.Clone(p.Opaque)
			out[i] = p
		case llm.Unknown:
			p.Raw = slices.Clone(p.Raw)
			out[i] = p
		}
	}
	return out
}

func clonePointer[T any](p *T) *T {
	if p == nil {
		return nil
	}
	v := *p
	return &v
}
