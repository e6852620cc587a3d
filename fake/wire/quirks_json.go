package wire

import (
	"github.com/tidwall/sjson"

	"github.com/looptape/looptape/internal/jsonio"
)

// These edit the JSON of answers. The paths are ours and the texts the codecs', so
// that no edit can fail.

// put sets a member or an element to a JSON value, and makes what is on the way.
func put(text, path, value string) string {
	out, _ := sjson.SetRaw(text, path, value)
	return out
}

// drop takes a member or an element out.
func drop(text, path string) string {
	out, _ := sjson.Delete(text, path)
	return out
}

// quoted returns a text as JSON.
func quoted(text string) string { return string(jsonio.AppendString(nil, text)) }

// edit lets f change the JSON of each frame, or of the body, and reports whether
// anything is another now. A frame for which f returns nothing is taken out.
func (r *reply) edit(f func(text string) string) (changed bool) {
	frames := r.frames[:0]
	for _, fr := range r.frames {
		if now, is := edited(fr.data, f); is {
			changed = true
			fr.data = now
		}
		if len(fr.data) > 0 {
			frames = append(frames, fr)
		}
	}
	r.frames = frames
	if now, is := edited(r.body, f); is {
		changed = true
		r.body = now
	}
	return changed
}

func edited(data []byte, f func(text string) string) ([]byte, bool) {
	if !isObject(data) {
		return data, false
	}
	now := f(string(data))
	return []byte(now), now != string(data)
}

// isObject reports whether data is a JSON object, and not [DONE] or nothing.
func isObject(data []byte) bool { return len(data) > 0 && data[0] == '{' }
