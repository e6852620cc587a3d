package scenario

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/looptape/looptape/fake"
	"github.com/looptape/looptape/loop"
)

// valid reports what of a script can never run: no models, tools that a loop
// does not take, options that do not exist or do not fit. Start is where the
// script begins. All that is found is returned together.
func valid(s *fake.Script, start fake.Pos) error {
	var errs []error
	if len(s.Models) == 0 {
		errs = append(errs, s.Errorf(start, "there are no models; say what one answers, as in models: {main: [{text: hello}]}"))
	}
	for _, t := range s.Tools {
		errs = append(errs, validTool(s, t))
	}
	_, err := Config(s)
	return errors.Join(append(errs, err)...)
}

// validTool makes a tool as Run does, first without and then with its schema, to
// tell what is to blame.
func validTool(s *fake.Script, t fake.Tool) error {
	if _, err := loop.RawTool(t.Name, "", nil, nil); err != nil {
		return s.Errorf(t.Pos, "%s", unprefixed(err))
	}
	if _, err := loop.RawTool(t.Name, "", t.Parameters, nil); err != nil {
		return s.Errorf(t.ParametersPos, "%s", unprefixed(err))
	}
	return nil
}

// unprefixed is an error of the loop in the words of a scenario's author: without
// the package, and without the Go types of a schema's members.
func unprefixed(err error) string {
	text := err.Error()
	for _, place := range []string{"middleware: ", "AnswerTool: ", "Handoff: ", "loop: "} {
		text = strings.TrimPrefix(text, place)
	}
	if e, ok := errors.AsType[*json.UnmarshalTypeError](err); ok {
		member := e.Field[strings.LastIndex(e.Field, ".")+1:]
		text = strings.Replace(text, e.Error(), fmt.Sprintf("the %s at %q does not belong there", e.Value, member), 1)
	}
	return text
}

// refers reports a value that is none of these names.
func refers(what string, v fake.Value, name string, known []string) error {
	if slices.Contains(known, name) {
		return nil
	}
	hint := ""
	if near := fake.Suggest(name, known); near != "" {
		hint = fmt.Sprintf("; did you mean %q?", near)
	}
	return at(v.Pos, fmt.Errorf("there is no %s %q%s", what, name, hint))
}

// placed is an error of a value within an option's value.
type placed struct {
	pos fake.Pos
	err error
}

func (e *placed) Error() string { return e.err.Error() }

func (e *placed) Unwrap() error { return e.err }

// at gives an error its place, unless it has one that is more exact.
func at(pos fake.Pos, err error) error {
	if _, ok := errors.AsType[*placed](err); ok || err == nil {
		return err
	}
	return &placed{pos, err}
}
