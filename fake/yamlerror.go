package fake

import (
	"reflect"
	"regexp"

	"go.yaml.in/yaml/v3"
)

// yamlPrefix is what stands before the words of a YAML error. Its line is not
// used: it is the line before that of the map or list around the error, or none.
var yamlPrefix = regexp.MustCompile(`^yaml: (?:line \d+: )?`)

// yamlError keeps an error of the YAML parser, with the place at which the
// parser stopped, and that where the construct begins which it was in.
//
// yaml.v3 keeps both places in members of its Decoder that it does not export;
// they are looked up by name, so that a version that names them otherwise loses
// the places and nothing else.
func (r *reader) yamlError(dec *yaml.Decoder, err error) {
	msg := "this is not YAML: " + yamlPrefix.ReplaceAllString(err.Error(), "")
	state := lookUp(reflect.ValueOf(dec), "parser", "parser")
	if kind := lookUp(state, "error"); !kind.CanInt() || kind.Int() == 0 {
		// The text was understood, but not what it refers to.
		line, col := mark(lookUp(reflect.ValueOf(dec), "parser", "event", "start_mark"))
		r.errorAt(line, col, "%s", msg)
		return
	}
	line, col := mark(lookUp(state, "problem_mark"))
	context := lookUp(state, "context").String()
	atLine, atCol := mark(lookUp(state, "context_mark"))
	switch {
	case context == "" || atLine == line && atCol == col:
		r.errorAt(line, col, "%s", msg)
	case atLine < line && unclosed.MatchString(msg):
		r.errorAt(atLine, atCol, "%s by %d:%d, %s that begins here", msg, r.before+line, col, context)
	default:
		r.errorAt(line, col, "%s, %s that begins at %d:%d", msg, context, r.before+atLine, atCol)
	}
}

// unclosed tells the errors for which, lines later, what was begun is to blame
// and not what came.
var unclosed = regexp.MustCompile(`: (did not find expected ','|could not find expected ':'|found unexpected end of stream)`)

// lookUp returns the member of that path, through pointers, or the zero Value.
func lookUp(v reflect.Value, path ...string) reflect.Value {
	for _, name := range path {
		if v.Kind() == reflect.Pointer {
			v = v.Elem()
		}
		if v.Kind() != reflect.Struct {
			return reflect.Value{}
		}
		v = v.FieldByName(name)
	}
	return v
}

// mark reads a place, which the parser counts from 0. What is no place is the
// first line.
func mark(v reflect.Value) (line, col int) {
	l, c := lookUp(v, "line"), lookUp(v, "column")
	if !l.CanInt() || !c.CanInt() {
		return 1, 0
	}
	return int(l.Int()) + 1, int(c.Int()) + 1
}
