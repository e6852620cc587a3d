package yamlfile

import (
	"reflect"
	"regexp"

	"go.yaml.in/yaml/v3"
)

// yamlPrefix is the prefix of a YAML error. Its line is not used: it is missing, or the
// line before the map or list around the error.
var yamlPrefix = regexp.MustCompile(`^yaml: (?:line \d+: )?`)

// yamlError records an error of the YAML parser with the position at which the parser
// stopped and the position at which the current construct begins.
//
// yaml.v3 has both positions in unexported members of its Decoder. yamlError looks them up
// by name: if a version renames them, only the positions are lost.
func (r *Reader) yamlError(dec *yaml.Decoder, err error) {
	msg := "invalid YAML: " + yamlPrefix.ReplaceAllString(err.Error(), "")
	state := lookUp(reflect.ValueOf(dec), "parser", "parser")
	if kind := lookUp(state, "error"); !kind.CanInt() || kind.Int() == 0 {
		// The text is valid, but an alias is not.
		line, col := mark(lookUp(reflect.ValueOf(dec), "parser", "event", "start_mark"))
		r.ErrorAt(line, col, "%s", msg)
		return
	}
	line, col := mark(lookUp(state, "problem_mark"))
	context := lookUp(state, "context").String()
	atLine, atCol := mark(lookUp(state, "context_mark"))
	switch {
	case context == "" || atLine == line && atCol == col:
		r.ErrorAt(line, col, "%s", msg)
	case atLine < line && unclosed.MatchString(msg):
		r.ErrorAt(atLine, atCol, "%s by %d:%d, %s that begins here", msg, line, col, context)
	default:
		r.ErrorAt(line, col, "%s, %s that begins at %d:%d", msg, context, atLine, atCol)
	}
}

// unclosed matches the errors that an unclosed construct causes some lines later.
var unclosed = regexp.MustCompile(`: (did not find expected ','|could not find expected ':'|found unexpected end of stream)`)

// lookUp returns the member at a path, through pointers, or the zero Value.
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

// mark returns a position, which the parser counts from 0. Any other value is the first
// line.
func mark(v reflect.Value) (line, col int) {
	l, c := lookUp(v, "line"), lookUp(v, "column")
	if !l.CanInt() || !c.CanInt() {
		return 1, 0
	}
	return int(l.Int()) + 1, int(c.Int()) + 1
}
