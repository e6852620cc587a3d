package anthropic

import (
	"encoding/json"
	"slices"

	"github.com/looptape/looptape/internal/jsonio"
	"github.com/looptape/looptape/providers/internal/wirejson"
)

// maxNesting is how deeply JSON from the caller or the model may nest in a request. JSON
// readers differ in what they accept.
const maxNesting = 500

// sane reports whether raw is JSON that may appear in a request.
func sane(raw []byte) bool {
	return wirejson.Depth(jsonio.View(raw)) <= maxNesting && jsonio.Valid(raw)
}

// eachMember calls f for the members of opaque data that may appear in a request.
func eachMember(opaque json.RawMessage, f func(key, raw string)) {
	if sane(opaque) {
		wirejson.EachMember(opaque, f)
	}
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

// opaqueReader collects the members of a block or message that llm has no field for.
type opaqueReader struct {
	known      []string // kept under their own names
	own, other wirejson.Members
}

// read reads the next value as a member. It ignores null.
func (r *opaqueReader) read(d *jsonio.Dec, key string) {
	if slices.Contains(r.known, key) {
		r.own.Add(d, key)
		return
	}
	r.other.Add(d, key)
}

// object returns the opaque data, or nil.
func (r *opaqueReader) object() json.RawMessage {
	r.own.AddObject(keyOther, r.other)
	return r.own.Object()
}

// appendMembers appends the members of opaque data that a block may have: the known ones and
// those that came from Anthropic. A history may have begun with another provider, so other
// members are omitted.
func appendMembers(dst []byte, opaque json.RawMessage, known ...string) []byte {
	eachMember(opaque, func(key, raw string) {
		switch {
		case key == keyOther:
			dst = wirejson.AppendMembers(dst, json.RawMessage(raw))
		case slices.Contains(known, key):
			dst = wirejson.AppendRaw(dst, key, raw)
		}
	})
	return dst
}

// optionalString reads a string or null.
func optionalString(d *jsonio.Dec) string {
	if d.Null() {
		return ""
	}
	return d.String()
}

// typeOf opens an object and returns its type, which may be any of its members. First is the
// argument for d.Key, which returns the type again unless it came first.
func typeOf(d *jsonio.Dec) (kind string, first bool) {
	ahead := *d
	first = true
	if d.Object() && d.Member("type", &first) {
		return wirejson.String(d), false
	}
	return wirejson.GetString(json.RawMessage(ahead.Raw()), "type"), true
}
