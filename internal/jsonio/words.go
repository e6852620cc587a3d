package jsonio

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"reflect"
)

// Words says an error of encoding/json without the names of Go's types, for people who wrote
// the JSON. An error that has none is returned as it is.
func Words(err error) error {
	wrong, ok := errors.AsType[*json.UnmarshalTypeError](err)
	switch {
	case errors.Is(err, io.EOF):
		return errors.New("there is nothing")
	case !ok:
		return err
	case wrong.Field == "":
		return fmt.Errorf("expected %s, found %s", kindOf(wrong.Type), wrong.Value)
	}
	return fmt.Errorf("%s: expected %s, found %s", wrong.Field, kindOf(wrong.Type), wrong.Value)
}

// kindOf is what JSON has for a type.
func kindOf(t reflect.Type) string {
	switch t.Kind() {
	case reflect.String:
		return "a text"
	case reflect.Bool:
		return "true or false"
	case reflect.Slice, reflect.Array:
		return "a list"
	case reflect.Map, reflect.Struct:
		return "an object"
	case reflect.Float32, reflect.Float64:
		return "a number"
	default:
		return "a whole number"
	}
}
