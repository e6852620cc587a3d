package scenario

import (
	"strings"

	"github.com/looptape/looptape/internal/jsonio"
)

// isV1 reports whether a trace section has the text form of version 1, in which
// the kind of an event takes 15 columns.
func isV1(text string) bool {
	const start = "run.start      "
	return len(text) > len(start) && strings.HasPrefix(text, start) && text[len(start)] != ' '
}

// currentParts renames in the lines of a parts section, each of them JSON, what
// had other names in version 1: members of calls and of their results.
func currentParts(lines string) string {
	var out []byte
	for line := range strings.Lines(lines) {
		body := strings.TrimSuffix(line, "\n")
		if !jsonio.ValidText(body) {
			out = append(out, line...)
			continue
		}
		d := jsonio.NewDec(body)
		out = append(appendCurrent(out, &d), line[len(body):]...)
	}
	return string(out)
}

func appendCurrent(dst []byte, d *jsonio.Dec) []byte {
	switch d.Peek() {
	case '{':
		return appendCurrentObject(dst, d)
	case '[':
		d.Array()
		dst = append(dst, '[')
		for i, first := 0, true; d.More(&first); i++ {
			if i > 0 {
				dst = append(dst, ',')
			}
			dst = appendCurrent(dst, d)
		}
		return append(dst, ']')
	}
	return append(dst, d.Raw()...)
}

func appendCurrentObject(dst []byte, d *jsonio.Dec) []byte {
	var names map[string]string
	d.Object()
	dst = append(dst, '{')
	for i, first := 0, true; ; i++ {
		key, ok := d.Key(&first)
		if !ok {
			return append(dst, '}')
		}
		if i > 0 {
			dst = append(dst, ',')
		}
		if now, ok := names[key]; ok {
			key = now
		}
		dst = append(jsonio.AppendString(dst, key), ':')
		from := len(dst)
		dst = appendCurrent(dst, d)
		if i == 0 && key == "type" {
			names = v1Parts[string(dst[from:])]
		}
	}
}

// v1Parts maps, by the type of a part, its members in version 1 to those of today.
var v1Parts = map[string]map[string]string{
	`"tool_call"`:   {"args": "arguments", "args_b64": "arguments_b64", "minted": "id_generated"},
	`"tool_result"`: {"id": "tool_call_id", "id_b64": "tool_call_id_b64"},
}
