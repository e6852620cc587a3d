package quirk

import (
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/tidwall/gjson"

	"github.com/looptape/looptape/fake/wire/internal/reply"
)

// growingCounts counts the output tokens up from chunk to chunk. The last chunk has no
// count.
func growingCounts(_ *reply.Response, r *reply.Reply) bool {
	n := len(r.Frames) - 1
	if n < 1 || !r.Frames[n].At(outputPath).Exists() {
		return false
	}
	maxCount := int(r.Frames[n].At(outputPath).Int())
	for i := range n {
		r.Frames[i].Put(outputPath, strconv.Itoa(maxCount*(i+1)/n))
	}
	r.Frames[n].Data = []byte(reply.Drop(string(r.Frames[n].Data), outputPath))
	return true
}

func omitArguments(_ *reply.Response, r *reply.Reply) bool {
	return r.Edit(func(text string) string {
		for i, part := range gjson.Get(text, partsPath).Array() {
			if part.Get("functionCall.args").Raw == "{}" {
				text = reply.Drop(text, partsPath+"."+strconv.Itoa(i)+".functionCall.args")
			}
		}
		return text
	})
}

// partialArguments splits each call with arguments into a start, a chunk for each scalar, two
// for a string, and an end.
func partialArguments(_ *reply.Response, r *reply.Reply) bool {
	return r.Spread(func(f reply.Frame) []reply.Frame {
		path, ok := findPart(string(f.Data), isCall)
		args := f.At(path + ".functionCall.args")
		if !ok || !args.IsObject() {
			return []reply.Frame{f}
		}
		deltas := scalars("$", args)
		if deltas == nil {
			return []reply.Frame{f}
		}
		last := f
		f.Data = []byte(reply.Drop(string(f.Data), reasonPath)) // the last chunk has it
		out := []reply.Frame{f}
		out[0].Data = []byte(reply.Put(reply.Drop(string(f.Data), path+".functionCall.args"), path+".functionCall.willContinue", "true"))
		more := func(call string) {
			next := f
			next.Put(partsPath, `[{"functionCall":`+call+`}]`)
			out = append(out, next)
		}
		for _, p := range deltas {
			more(`{"partialArgs":[` + p + `],"willContinue":true}`)
		}
		last.Put(partsPath, `[{"functionCall":{}}]`)
		return append(out, last)
	})
}

// scalars returns the partial arguments of a value; nil if an object or array in it is
// empty, which partial arguments cannot represent.
func scalars(path string, v gjson.Result) (out []string) {
	delta := func(member string) string { return `{"jsonPath":` + reply.Quote(path) + `,` + member }
	switch v.Type {
	case gjson.Null:
		return []string{delta(`"nullValue":"NULL_VALUE"}`)}
	case gjson.True, gjson.False:
		return []string{delta(`"boolValue":` + v.Raw + `}`)}
	case gjson.Number:
		return []string{delta(`"numberValue":` + v.Raw + `}`)}
	case gjson.String:
		half := len(v.Str) / 2
		for half > 0 && !utf8.RuneStart(v.Str[half]) {
			half--
		}
		return []string{
			delta(`"stringValue":` + reply.Quote(v.Str[:half]) + `,"willContinue":true}`),
			delta(`"stringValue":` + reply.Quote(v.Str[half:]) + `}`),
		}
	case gjson.JSON:
	}
	n := 0
	v.ForEach(func(key, below gjson.Result) bool {
		to := path + "[" + strconv.Itoa(n) + "]"
		if v.IsObject() {
			to = path + step(key.Str)
		}
		deltas := scalars(to, below)
		if deltas == nil {
			out = nil
			return false
		}
		n++
		out = append(out, deltas...)
		return true
	})
	return out
}

func step(name string) string {
	plain := func(r rune) bool {
		return r == '_' || r >= '0' && r <= '9' || r >= 'A' && r <= 'Z' || r >= 'a' && r <= 'z'
	}
	if name != "" && strings.TrimFunc(name, plain) == "" {
		return "." + name
	}
	return "['" + strings.NewReplacer(`\`, `\\`, `'`, `\'`).Replace(name) + "']"
}
