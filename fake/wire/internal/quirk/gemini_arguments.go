package quirk

import (
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/tidwall/gjson"

	"github.com/looptape/looptape/fake/wire/internal/reply"
)

// growingCounts counts the output from chunk to chunk, up to the last but one, which
// has all; the last has none.
func growingCounts(_ *reply.Response, r *reply.Reply) bool {
	n := len(r.Frames) - 1
	if n < 1 || !r.Frames[n].At(outputPath).Exists() {
		return false
	}
	most := int(r.Frames[n].At(outputPath).Int())
	for i := range n {
		r.Frames[i].Put(outputPath, strconv.Itoa(most*(i+1)/n))
	}
	r.Frames[n].Data = []byte(reply.Drop(string(r.Frames[n].Data), outputPath))
	return true
}

// leavesArgsOut takes empty arguments out.
func leavesArgsOut(_ *reply.Response, r *reply.Reply) bool {
	return r.Edit(func(text string) string {
		for i, part := range gjson.Get(text, partsPath).Array() {
			if part.Get("functionCall.args").Raw == "{}" {
				text = reply.Drop(text, partsPath+"."+strconv.Itoa(i)+".functionCall.args")
			}
		}
		return text
	})
}

// partialArgs cuts each chunk that is a call with arguments into a beginning, one
// piece for each scalar in the arguments, two for a string, and an end.
func partialArgs(_ *reply.Response, r *reply.Reply) bool {
	return r.Spread(func(f reply.Frame) []reply.Frame {
		path, ok := partWhere(string(f.Data), isCall)
		args := f.At(path + ".functionCall.args")
		if !ok || !args.IsObject() {
			return []reply.Frame{f}
		}
		pieces := scalars("$", args)
		if pieces == nil {
			return []reply.Frame{f}
		}
		last := f
		f.Data = []byte(reply.Drop(string(f.Data), reasonPath)) // it comes with the last piece
		out := []reply.Frame{f}
		out[0].Data = []byte(reply.Put(reply.Drop(string(f.Data), path+".functionCall.args"), path+".functionCall.willContinue", "true"))
		more := func(call string) {
			next := f
			next.Put(partsPath, `[{"functionCall":`+call+`}]`)
			out = append(out, next)
		}
		for _, p := range pieces {
			more(`{"partialArgs":[` + p + `],"willContinue":true}`)
		}
		last.Put(partsPath, `[{"functionCall":{}}]`)
		return append(out, last)
	})
}

// scalars are the pieces of a value; nil if one of its objects or arrays is empty,
// for which there is no piece.
func scalars(path string, v gjson.Result) (out []string) {
	piece := func(member string) string { return `{"jsonPath":` + reply.Quote(path) + `,` + member }
	switch v.Type {
	case gjson.Null:
		return []string{piece(`"nullValue":"NULL_VALUE"}`)}
	case gjson.True, gjson.False:
		return []string{piece(`"boolValue":` + v.Raw + `}`)}
	case gjson.Number:
		return []string{piece(`"numberValue":` + v.Raw + `}`)}
	case gjson.String:
		half := len(v.Str) / 2
		for half > 0 && !utf8.RuneStart(v.Str[half]) {
			half--
		}
		return []string{
			piece(`"stringValue":` + reply.Quote(v.Str[:half]) + `,"willContinue":true}`),
			piece(`"stringValue":` + reply.Quote(v.Str[half:]) + `}`),
		}
	case gjson.JSON:
	}
	n := 0
	v.ForEach(func(key, below gjson.Result) bool {
		to := path + "[" + strconv.Itoa(n) + "]"
		if v.IsObject() {
			to = path + step(key.Str)
		}
		pieces := scalars(to, below)
		if pieces == nil {
			out = nil
			return false
		}
		n++
		out = append(out, pieces...)
		return true
	})
	return out
}

// step is a member's name in a path.
func step(name string) string {
	plain := func(r rune) bool {
		return r == '_' || r >= '0' && r <= '9' || r >= 'A' && r <= 'Z' || r >= 'a' && r <= 'z'
	}
	if name != "" && strings.TrimFunc(name, plain) == "" {
		return "." + name
	}
	return "['" + strings.NewReplacer(`\`, `\\`, `'`, `\'`).Replace(name) + "']"
}
