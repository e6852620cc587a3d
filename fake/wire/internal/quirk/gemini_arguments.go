package quirk

import (
	"strconv"
	"strings"

	"github.com/tidwall/gjson"

	"github.com/looptape/looptape/fake/wire/internal/reply"
)

// growingCounts counts the output tokens up from chunk to chunk. The last chunk has no
// count.
func growingCounts(r *reply.Reply) bool {
	n := len(r.Frames) - 1
	if n < 1 || !r.Frames[n].At(outputPath).Exists() {
		return false
	}
	maxCount := int(r.Frames[n].At(outputPath).Int())
	for i := range n {
		r.Frames[i].Put(outputPath, strconv.Itoa(maxCount*(i+1)/n))
	}
	r.Frames[n].Drop(outputPath)
	return true
}

func omitArguments(text string) string {
	for i, part := range gjson.Get(text, partsPath).Array() {
		if part.Get("functionCall.args").Raw == "{}" {
			text = reply.Drop(text, partsPath+"."+strconv.Itoa(i)+".functionCall.args")
		}
	}
	return text
}

// partialArguments splits each call with arguments into a start, a chunk for each scalar, two
// for a string, and an end.
func partialArguments(r *reply.Reply) bool {
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
		f.Drop(reasonPath) // the last chunk has it
		out := []reply.Frame{f}
		out[0].Drop(path + ".functionCall.args")
		out[0].Put(path+".functionCall.willContinue", "true")
		for _, p := range deltas {
			next := f
			next.Put(partsPath, `[{"functionCall":{"partialArgs":[`+p+`],"willContinue":true}}]`)
			out = append(out, next)
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
		half := firstHalf(v.Str)
		return []string{
			delta(`"stringValue":` + reply.Quote(half) + `,"willContinue":true}`),
			delta(`"stringValue":` + reply.Quote(v.Str[len(half):]) + `}`),
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
