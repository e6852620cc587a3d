package wire

import (
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/tidwall/gjson"
)

// growingCounts counts the output from chunk to chunk, up to the last but one, which
// has all; the last has none.
func growingCounts(_ *play, r *reply) bool {
	n := len(r.frames) - 1
	if n < 1 || !r.frames[n].at(outputPath).Exists() {
		return false
	}
	most := int(r.frames[n].at(outputPath).Int())
	for i := range n {
		r.frames[i].put(outputPath, strconv.Itoa(most*(i+1)/n))
	}
	r.frames[n].data = []byte(drop(string(r.frames[n].data), outputPath))
	return true
}

// leavesArgsOut takes empty arguments out.
func leavesArgsOut(_ *play, r *reply) bool {
	return r.edit(func(text string) string {
		for i, part := range gjson.Get(text, partsPath).Array() {
			if part.Get("functionCall.args").Raw == "{}" {
				text = drop(text, partsPath+"."+strconv.Itoa(i)+".functionCall.args")
			}
		}
		return text
	})
}

// partialArgs cuts each chunk that is a call with arguments into a beginning, one
// piece for each scalar in the arguments, two for a string, and an end.
func partialArgs(_ *play, r *reply) bool {
	return r.spread(func(f frame) []frame {
		path, ok := partWhere(string(f.data), isCall)
		args := f.at(path + ".functionCall.args")
		if !ok || !args.IsObject() {
			return []frame{f}
		}
		pieces := scalars("$", args)
		if pieces == nil {
			return []frame{f}
		}
		last := f
		f.data = []byte(drop(string(f.data), reasonPath)) // it comes with the last piece
		out := []frame{f}
		out[0].data = []byte(put(drop(string(f.data), path+".functionCall.args"), path+".functionCall.willContinue", "true"))
		more := func(call string) {
			next := f
			next.put(partsPath, `[{"functionCall":`+call+`}]`)
			out = append(out, next)
		}
		for _, p := range pieces {
			more(`{"partialArgs":[` + p + `],"willContinue":true}`)
		}
		last.put(partsPath, `[{"functionCall":{}}]`)
		return append(out, last)
	})
}

// scalars are the pieces of a value; nil if one of its objects or arrays is empty,
// for which there is no piece.
func scalars(path string, v gjson.Result) (out []string) {
	piece := func(member string) string { return `{"jsonPath":` + quoted(path) + `,` + member }
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
			piece(`"stringValue":` + quoted(v.Str[:half]) + `,"willContinue":true}`),
			piece(`"stringValue":` + quoted(v.Str[half:]) + `}`),
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
