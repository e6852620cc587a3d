package reply

import (
	"slices"

	"github.com/tidwall/gjson"
	"github.com/tidwall/sjson"

	"github.com/looptape/looptape/internal/jsonio"
)

// Put sets the member or element at a path to a JSON value. It creates the objects on
// the path. The path must be valid, and text must be JSON.
func Put(text, path, value string) string {
	out, _ := sjson.SetRaw(text, path, value)
	return out
}

// Drop removes the member or element at a path.
func Drop(text, path string) string {
	out, _ := sjson.Delete(text, path)
	return out
}

// Quote returns text as a JSON string.
func Quote(text string) string { return string(jsonio.AppendString(nil, text)) }

// IsObject reports whether valid JSON is an object. It is false for [DONE] and for
// empty data.
func IsObject(data []byte) bool { return len(data) > 0 && data[0] == '{' }

// Data is JSON, or other text if a provider sends such.
type Data []byte

// At returns the value at a path.
func (d Data) At(path string) gjson.Result { return gjson.GetBytes(d, path) }

// Put sets the value at a path as [Put] does.
func (d *Data) Put(path, value string) { *d = Data(Put(string(*d), path, value)) }

// Drop removes the member or element at a path.
func (d *Data) Drop(path string) { *d = Data(Drop(string(*d), path)) }

// Edit replaces the JSON of each frame, or of the body, by the result of f. It removes
// a frame if the result is empty. It reports whether anything changed.
func (r *Reply) Edit(f func(text string) string) (changed bool) {
	edit := func(data []byte) []byte {
		if !IsObject(data) {
			return data
		}
		now := f(string(data))
		changed = changed || now != string(data)
		return []byte(now)
	}
	frames := r.Frames[:0]
	for _, x := range r.Frames {
		if x.Data = edit(x.Data); len(x.Data) > 0 {
			frames = append(frames, x)
		}
	}
	r.Frames, r.Body = frames, edit(r.Body)
	return changed
}

// Omit removes the frames for which f is true. It reports whether there were any.
func (r *Reply) Omit(f func(Frame) bool) bool {
	n := len(r.Frames)
	r.Frames = slices.DeleteFunc(r.Frames, f)
	return len(r.Frames) < n
}

// Spread replaces each frame by the result of f, or keeps it if that is nil. It reports
// whether their number grew.
func (r *Reply) Spread(f func(Frame) []Frame) bool {
	n := len(r.Frames)
	var out []Frame
	for _, x := range r.Frames {
		more := f(x)
		if more == nil {
			more = []Frame{x}
		}
		out = append(out, more...)
	}
	r.Frames = out
	return len(out) > n
}

// Cut removes frames. It returns true.
func (r *Reply) Cut(from, to int) bool {
	r.Frames = slices.Delete(r.Frames, from, to)
	return true
}

// UsageAt returns the index of the chunk of Chat Completions that has usage and no
// choice, or -1.
func UsageAt(r *Reply) int {
	return slices.IndexFunc(r.Frames, func(f Frame) bool { return f.At("usage").IsObject() && !f.At("choices.0").Exists() })
}
