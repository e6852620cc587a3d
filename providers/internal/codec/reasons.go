package codec

import (
	"encoding/json"
	"fmt"
	"hash/fnv"
	"net/http"
	"slices"
	"strings"

	"github.com/looptape/looptape/llm"
)

// FinishReasons are the finish reasons of a protocol. The first one of each value is written.
type FinishReasons []struct {
	Raw string
	Is  llm.FinishReason
}

// Reason returns the finish reason of a raw one.
func (r FinishReasons) Reason(raw string) llm.FinishReason {
	for _, w := range r {
		if w.Raw == raw {
			return w.Is
		}
	}
	return llm.FinishUnknown
}

// Raw returns the raw finish reason of a reason: raw if it matches, or "" if there is none.
func (r FinishReasons) Raw(reason llm.FinishReason, raw string) string {
	if raw != "" && r.Reason(raw) == reason {
		return raw
	}
	for _, w := range r {
		if w.Is == reason {
			return w.Raw
		}
	}
	return ""
}

// Call is a call that an encoder writes to a stream.
type Call struct {
	Index    int // in the events
	ID, Name string
	Args     []byte // that were written
	Closed   bool
}

// Self returns c, also for a type that embeds Call.
func (c *Call) Self() *Call { return c }

// Rest returns the arguments in the end of a call that were not written yet. It returns an error
// if they differ from those that were.
func (c *Call) Rest(args string) (rest string, err error) {
	rest, ok := strings.CutPrefix(args, string(c.Args))
	if args != "" && !ok {
		return "", fmt.Errorf("the call %q: the arguments of its end differ from its deltas", c.ID)
	}
	return rest, nil
}

// FindCall returns the call of an event, like [llm.Accumulator]: the last open one with the
// index, else with the id, else the last or the first open one. It returns the zero value if no
// call is open.
func FindCall[T interface{ Self() *Call }](calls []T, index int, id string, last bool) (found T) {
	byID, some := false, false
	for _, call := range slices.Backward(calls) {
		c := call.Self()
		switch {
		case c.Closed:
			continue
		case index != 0 && c.Index == index:
			return call
		case byID:
		case id != "" && c.ID == id:
			found, byID = call, true
		case !last || !some:
			found = call
		}
		some = true
	}
	return found
}

// Nameless returns the open call that a start names, or the zero value; see [llm.ToolCallStart].
func Nameless[T interface{ Self() *Call }](calls []T, ev llm.ToolCallStart) (found T) {
	for _, call := range calls {
		c := call.Self()
		if ev.Index != 0 && c.Index == ev.Index && !c.Closed && c.Name == "" && ev.Name != "" {
			return call
		}
	}
	return found
}

// MemberNames maps the members of a protocol to the names that they have in opaque data. Known
// members keep their names. Others get a prefix, because a history may have begun with another
// provider, and providers reject unknown members.
type MemberNames struct {
	Prefix string
	Known  []string
}

// Stored returns the name of a member in opaque data.
func (n MemberNames) Stored(key string) string {
	if slices.Contains(n.Known, key) {
		return key
	}
	return n.Prefix + key
}

// Append appends the opaque members of the protocol to the open object, except own.
func (n MemberNames) Append(dst []byte, opaque json.RawMessage, own ...string) []byte {
	for key, raw := range EachMember(opaque) {
		name, marked := strings.CutPrefix(key, n.Prefix)
		if (marked || slices.Contains(n.Known, key)) && !slices.Contains(own, name) {
			dst = AppendRaw(dst, name, raw)
		}
	}
	return dst
}

// ShortID returns a call id of at most limit bytes, equal for a call and its result. A longer
// id becomes its beginning and a digest.
func ShortID(id string, limit int) string {
	if len(id) <= limit {
		return id
	}
	digest := Digest(id)
	return fmt.Sprintf("%.*s%s", limit-len(digest), id, digest)
}

// Digest returns an underscore and a hash.
func Digest(id string) string {
	h := fnv.New64a()
	_, _ = h.Write([]byte(id)) // never fails
	return fmt.Sprintf("_%016x", h.Sum64())
}

// Retryable reports whether a request with this response status may succeed later: 408, 409,
// 429 and temporary server errors, including Anthropic's 529.
func Retryable(status int) bool {
	switch status {
	case http.StatusRequestTimeout, http.StatusConflict, http.StatusTooManyRequests:
		return true
	case http.StatusNotImplemented, http.StatusHTTPVersionNotSupported:
		return false
	}
	return status >= 500
}
