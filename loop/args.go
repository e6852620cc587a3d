package loop

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/looptape/looptape/internal/jsonio"
	"github.com/looptape/looptape/llm"
)

// maxArgsDepth is how deeply arguments may nest. Providers refuse far less, and
// what is deeper is an attack or a mistake (quirk QT-09).
const maxArgsDepth = 1000

// argsError says why arguments are not a usable JSON object.
type argsError struct {
	cut bool // they end in the middle
	msg string
}

func (e *argsError) Error() string { return e.msg }

// checkObject reports why args is not one complete JSON object that every
// provider takes back: no other type, nothing behind it, no member twice, no
// lone surrogate, no depth beyond reason, and valid UTF-8.
func checkObject(args string) *argsError {
	if args == "{}" {
		return nil
	}
	d := jsonio.NewDec(args)
	var dup string
	object := d.Peek() == '{'
	if object {
		dup = walkArgs(&d, 1)
	} else {
		d.Skip()
	}
	if err := d.End(); err != nil {
		var syntax *jsonio.SyntaxError
		errors.As(err, &syntax)
		return &argsError{syntax.Offset >= len(args), "the arguments are not JSON: " + err.Error()}
	}
	switch {
	case !object:
		return &argsError{msg: "the arguments are JSON, but not an object"}
	case dup != "":
		return &argsError{msg: dup}
	case !utf8.ValidString(args):
		return &argsError{msg: "the arguments are not valid UTF-8"}
	case loneSurrogate(args):
		return &argsError{msg: "the arguments have half of a surrogate pair"}
	}
	return nil
}

// walkArgs reads a value and returns what is wrong with it beyond its syntax.
func walkArgs(d *jsonio.Dec, depth int) (problem string) {
	if depth > maxArgsDepth {
		d.Skip()
		return fmt.Sprintf("the arguments are nested more than %d deep", maxArgsDepth)
	}
	note := func(p string) {
		if problem == "" {
			problem = p
		}
	}
	switch d.Peek() {
	case '{':
		d.Object()
		var seen members
		for first := true; ; {
			key, ok := d.Key(&first)
			if !ok {
				return problem
			}
			if seen.add(key) {
				note(fmt.Sprintf("the arguments have the member %q twice", key))
			}
			note(walkArgs(d, depth+1))
		}
	case '[':
		d.Array()
		for first := true; d.More(&first); {
			note(walkArgs(d, depth+1))
		}
	default:
		d.Skip()
	}
	return problem
}

// members is a set of names, cheap while it is small.
type members struct {
	few  [8]string
	n    int
	many map[string]bool
}

// add reports whether key was there already.
func (m *members) add(key string) bool {
	for _, k := range m.few[:m.n] {
		if k == key {
			return true
		}
	}
	switch {
	case m.n < len(m.few):
		m.few[m.n] = key
		m.n++
		return false
	case m.many == nil:
		m.many = map[string]bool{}
	}
	twice := m.many[key]
	m.many[key] = true
	return twice
}

// has reports whether key was added.
func (m *members) has(key string) bool { return slices.Contains(m.few[:m.n], key) || m.many[key] }

// loneSurrogate reports whether valid JSON has an escape of half a pair.
func loneSurrogate(s string) bool {
	for {
		i := strings.Index(s, `\u`)
		if i < 0 {
			return false
		}
		// An even number of backslashes before means that this one is escaped.
		back := i
		for back > 0 && s[back-1] == '\\' {
			back--
		}
		if (i-back)%2 == 1 {
			s = s[i+1:]
			continue
		}
		if k := half(s[i:]); k == 'h' && half(s[i+6:]) == 'l' {
			s = s[i+12:]
			continue
		} else if k != 0 {
			return true
		}
		s = s[i+6:]
	}
}

// half tells whether s begins with the escape of a high or a low surrogate.
func half(s string) byte {
	if len(s) < 6 || s[0] != '\\' || s[1] != 'u' || s[2]|0x20 != 'd' {
		return 0
	}
	switch s[3] | 0x20 {
	case '8' | 0x20, '9' | 0x20, 'a', 'b':
		return 'h'
	case 'c', 'd', 'e', 'f':
		return 'l'
	}
	return 0
}

// prepare validates args, a JSON object, against the tool's schema and fills in
// its defaults. changed tells that the arguments are not those it was given.
func (t *Tool) prepare(args string) (resolved string, changed bool, err error) {
	if t.schema == nil {
		return args, false, nil
	}
	var v map[string]any
	if err := json.Unmarshal([]byte(args), &v); err != nil {
		return args, false, fmt.Errorf("invalid arguments: %w", err)
	}
	if bytes.Contains(t.Parameters, []byte(`"default"`)) {
		if resolved, changed, err = t.defaults(args); err != nil {
			return args, false, err
		}
		if changed {
			args = resolved
			if err := json.Unmarshal([]byte(args), &v); err != nil {
				return args, false, fmt.Errorf("invalid arguments: %w", err)
			}
		}
	}
	if err := t.schema.Validate(v); err != nil {
		return args, false, fmt.Errorf("invalid arguments: %w", err)
	}
	return args, changed, nil
}

// defaults fills in the schema's defaults; numbers keep their digits.
func (t *Tool) defaults(args string) (resolved string, changed bool, err error) {
	read := func() (v map[string]any, err error) {
		dec := json.NewDecoder(strings.NewReader(args))
		dec.UseNumber()
		err = dec.Decode(&v)
		return v, err
	}
	before, err := read()
	if err != nil {
		return args, false, err
	}
	after, _ := read()
	if err := t.schema.ApplyDefaults(&after); err != nil {
		return args, false, fmt.Errorf("filling in defaults: %w", err)
	}
	if reflect.DeepEqual(before, after) {
		return args, false, nil
	}
	out, err := JSONOutput(after)
	if err != nil {
		return args, false, err
	}
	return llm.ToolResult{Content: out.Content}.Text(), true, nil
}
