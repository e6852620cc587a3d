package importer

import (
	"encoding/json"
	"errors"
	"strconv"
	"strings"

	"github.com/looptape/looptape/internal/jsonio"
)

// nested reads a document whose runs are the elements of an array within objects, where
// the path of its shape leads. What stands before the array is the head of the runs. It
// reports whether what follows can be read.
func (w *walker) nested(in *input) bool {
	w.found, w.head = false, map[string]json.RawMessage{}
	if err := w.object(in, "", w.shape.path); err != nil {
		w.give(Run{}, err)
		return false
	}
	if !w.found && !w.stopped {
		w.give(Run{}, &Error{File: w.name, Line: in.line, Err: errors.New("there is no array " + strings.Join(w.shape.path, ".") + ", where the runs would be")})
	}
	return true
}

// object goes through the object that comes next, at a path, for the array of runs that
// the members named lead to. After an error what follows cannot be read.
func (w *walker) object(in *input, path string, names []string) *Error {
	if in.next() != '{' {
		return w.lost(in, path, "expected an object")
	}
	in.skip(1)
	for n := 0; !w.stopped; n++ {
		c := in.next()
		if c == '}' {
			in.skip(1)
			return nil
		}
		if n > 0 {
			if c != ',' {
				return w.lost(in, path, "expected a comma or the end of the object")
			}
			in.skip(1)
		}
		key, err := w.key(in, path)
		if err == nil {
			err = w.member(in, key, below(path, key), names)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// key reads a member's name and the colon behind it.
func (w *walker) key(in *input, path string) (string, *Error) {
	if in.next() != '"' {
		return "", w.lost(in, path, "expected a member's name in double quotes")
	}
	line := in.line
	text, err := in.value()
	if err != nil {
		return "", &Error{File: w.name, Line: line, Path: path, Err: err}
	}
	if in.next() != ':' {
		return "", w.lost(in, path, "expected a colon after the member's name")
	}
	in.skip(1)
	d := jsonio.NewDec(text)
	return d.String(), nil
}

// member reads the value of a member: the array of runs, an object on the way there, or
// something of the head.
func (w *walker) member(in *input, key, path string, names []string) *Error {
	c := in.next()
	if !begins(c) {
		return w.lost(in, path, "expected a value")
	}
	if key == names[0] && c == '[' && len(names) == 1 {
		w.found = true
		return w.array(in, path, w.quickRun, w.run)
	}
	if key == names[0] && c == '{' && len(names) > 1 {
		return w.object(in, path, names[1:])
	}
	line := in.line
	text, err := in.value()
	if err != nil {
		return &Error{File: w.name, Line: line, Path: path, Err: err}
	}
	if !w.found {
		w.head[path] = w.sound(text, line, path)
	}
	return nil
}

// sound returns a text as JSON; if it is none it tells why, and returns null.
func (w *walker) sound(text string, line int, path string) json.RawMessage {
	text = finite(text)
	d := jsonio.NewDec(text)
	d.Skip()
	if err := d.End(); err != nil {
		w.give(Run{}, w.place(err, text, line, path))
		return json.RawMessage("null")
	}
	return json.RawMessage(text)
}

// array calls do for each element of the array that comes next, at a path, but for
// those that are quickly read, until the consumer wants no more. After an error what
// follows cannot be read.
func (w *walker) array(in *input, path string, quick quickly, do func(text string, line int, path string)) *Error {
	in.skip(1)
	for n := 0; !w.stopped; n++ {
		c := in.next()
		if c == ']' {
			in.skip(1)
			return nil
		}
		if n > 0 {
			if c != ',' {
				return w.lost(in, path+index(n), "expected a comma or the end of the array")
			}
			in.skip(1)
			c = in.next()
		}
		if !begins(c) {
			return w.lost(in, path+index(n), "expected a value")
		}
		if in.quick(quick) {
			continue
		}
		line := in.line
		text, err := in.value()
		if err != nil {
			return &Error{File: w.name, Line: line, Path: path + index(n), Err: err}
		}
		do(text, line, path+index(n))
	}
	return nil
}

// begins reports whether a value may begin with what next returned.
func begins(c byte) bool { return c != 0 && strings.IndexByte("],}:", c) < 0 }

func (w *walker) lost(in *input, path, msg string) *Error {
	err := errors.New(msg + "; the rest is not read")
	if in.next() == 0 {
		err = in.cut()
	}
	return &Error{File: w.name, Line: in.line, Path: path, Err: err}
}

func index(n int) string { return "[" + strconv.Itoa(n) + "]" }
