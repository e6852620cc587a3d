package jsonio

import (
	"strconv"
	"unicode/utf8"
)

// maxPath is how long a path in a message may be, in bytes: what is nested
// thousands deep has a path that is too long to read.
const maxPath = 100

// pathAt gives the path of the value at the end of s, the beginning of a JSON
// text up to an error; of a long one, its beginning. It is slow and only used
// for messages.
func pathAt(s string) string {
	type level struct {
		object bool
		key    string
		n      int
		inKey  bool
	}
	var stack []level
	for i := 0; i < len(s); i++ {
		top := len(stack) - 1
		switch s[i] {
		case '{':
			stack = append(stack, level{object: true, inKey: true})
		case '[':
			stack = append(stack, level{})
		case '}', ']':
			if top >= 0 {
				stack = stack[:top]
			}
		case ',':
			if top >= 0 {
				stack[top].n++
				stack[top].inKey = stack[top].object
			}
		case ':':
			if top >= 0 {
				stack[top].inKey = false
			}
		case '"':
			j := i + 1
			for j < len(s) && s[j] != '"' {
				if s[j] == '\\' {
					j++
				}
				j++
			}
			if top >= 0 && stack[top].inKey && j < len(s) {
				stack[top].key = s[i+1 : j]
			}
			i = j
		}
	}
	var path []byte
	for _, l := range stack {
		if l.object {
			if l.key == "" {
				continue
			}
			if len(path) > 0 {
				path = append(path, '.')
			}
			path = append(path, l.key...)
			continue
		}
		path = append(path, '[')
		path = strconv.AppendInt(path, int64(l.n), 10)
		path = append(path, ']')
	}
	if len(path) <= maxPath {
		return string(path)
	}
	n := maxPath
	for n > 0 && !utf8.RuneStart(path[n]) {
		n--
	}
	return string(path[:n]) + "…"
}
