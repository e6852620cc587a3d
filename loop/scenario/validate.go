package scenario

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/looptape/looptape/fake"
	"github.com/looptape/looptape/internal/suggest"
	"github.com/looptape/looptape/loop"
)

// validate returns the configuration of a script that begins at start, or all errors that
// prevent a run.
func validate(s *fake.Script, start fake.Pos) (loop.Config, error) {
	var errs []error
	if len(s.Models) == 0 {
		errs = append(errs, s.Errorf(start, "missing models: add one, such as models: {main: [{text: hello}]}"))
	}
	for _, t := range s.Tools {
		errs = append(errs, validateTool(s, t))
	}
	cfg, err := Config(s)
	return cfg, errors.Join(append(errs, err)...)
}

// validateTool makes a tool without and with its schema, to find the position of the error.
func validateTool(s *fake.Script, t fake.Tool) error {
	_, err := loop.RawTool(t.Name, "", nil, nil)
	pos := t.Pos
	if err == nil {
		_, err = loop.RawTool(t.Name, "", t.Parameters, nil)
		pos = t.ParametersPos
	}
	if err != nil {
		return s.Errorf(pos, "%v", shortError(err))
	}
	return nil
}

// shortError removes package names and Go types from an error of the loop; nil stays nil.
func shortError(err error) error {
	if err == nil {
		return nil
	}
	text := err.Error()
	for _, place := range []string{"middleware: ", "AnswerTool: ", "Handoff: ", "loop: "} {
		text = strings.TrimPrefix(text, place)
	}
	if e, ok := errors.AsType[*json.UnmarshalTypeError](err); ok {
		member := e.Field[strings.LastIndex(e.Field, ".")+1:]
		text = strings.Replace(text, e.Error(), fmt.Sprintf("the %s at %q does not belong there", e.Value, member), 1)
	}
	return errors.New(text)
}

func checkName(what string, v fake.Value, name string, known []string) error {
	if slices.Contains(known, name) {
		return nil
	}
	hint := strings.TrimSpace("unknown " + what + " " + strconv.Quote(name) + ": " + suggest.Hint(name, known))
	return at(v.Pos, errors.New(strings.TrimSuffix(hint, ":")))
}

type positioned struct {
	pos fake.Pos
	err error
}

func (e *positioned) Error() string { return e.err.Error() }

func (e *positioned) Unwrap() error { return e.err }

// at adds a position to an error, unless it has one.
func at(pos fake.Pos, err error) error {
	if _, ok := errors.AsType[*positioned](err); ok || err == nil {
		return err
	}
	return &positioned{pos, err}
}
