package anthropic

import (
	"encoding/json"
	"slices"
	"strings"

	"github.com/looptape/looptape/internal/jsonio"
	"github.com/looptape/looptape/llm"
	"github.com/looptape/looptape/providers/internal/codec"
)

// maxNesting is how deeply JSON from the caller or the model may nest in a request. JSON
// readers differ in what they accept.
const maxNesting = 500

// sane reports whether raw is JSON that may appear in a request.
func sane(raw []byte) bool {
	return codec.Depth(jsonio.View(raw)) <= maxNesting && jsonio.Valid(raw)
}

// members returns the members of opaque data that may appear in a request.
func members(opaque json.RawMessage) codec.Members {
	if !sane(opaque) {
		return nil
	}
	return codec.MembersOf(opaque)
}

// keyOther is the member of opaque data that contains the members this package does not know.
const keyOther = "anthropic"

// The members of blocks that are opaque data under their own names.
var (
	textMembers   = []string{"cache_control", "citations"}
	callMembers   = []string{"cache_control", "caller", "server_name"}
	resultMembers = []string{"cache_control"}
	mediaMembers  = []string{"cache_control", "citations", "context"}
)

// directCaller is the default of the member "caller": the model.
const directCaller = `{"type":"direct"}`

// opaqueReader collects the members of a block or message that llm has no field for.
type opaqueReader struct {
	known      []string // kept under their own names
	key, value string   // a member with its default value, which is omitted
	own, other codec.Members
}

// read reads an object into fields, and returns the opaque data of the other members, or nil.
func (r *opaqueReader) read(d *jsonio.Dec, fields ...any) json.RawMessage {
	codec.ReadStrict(d, func(key string) {
		raw := d.Raw()
		switch {
		case key == r.key && string(codec.Compact(raw)) == r.value:
		case slices.Contains(r.known, key):
			r.own.AddRaw(key, raw)
		case key != "type":
			r.other.AddRaw(key, raw)
		}
	}, fields...)
	r.own.AddObject(keyOther, r.other)
	return r.own.Object()
}

// end ends a block with the members of opaque data that it may have: the known ones and those
// that came from Anthropic. A history may have begun with another provider, so other members
// are omitted.
func (w *writer) end(opaque json.RawMessage, known ...string) {
	for _, m := range members(opaque) {
		switch {
		case m.Key == keyOther:
			w.Dst = codec.AppendMembers(w.Dst, m.Raw)
		case slices.Contains(known, m.Key):
			w.Value(m.Key, []byte(m.Raw))
		}
	}
	w.Add("}")
}

// kindOf returns the type of the next object, which may be any of its members.
func kindOf(d *jsonio.Dec) string {
	ahead, first := *d, true
	if ahead.Object() && ahead.Member("type", &first) {
		return codec.String(&ahead)
	}
	ahead = *d
	return codec.GetString(ahead.Raw(), "type")
}

// ranElsewhere reports whether another provider ran a call.
func ranElsewhere(p llm.ToolCall) bool {
	if kind := codec.GetString(p.Opaque, "type"); kind != "" {
		return p.ProviderExecuted && !strings.HasSuffix(kind, "_tool_use")
	}
	return p.ProviderExecuted && (codec.Get(p.Opaque, "executableCode") != nil || codec.Get(p.Opaque, "toolCall") != nil)
}
