package jsonval

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"reflect"
)

// Decode decodes one JSON value without trailing data. Numbers are a [json.Number].
func Decode(raw []byte) (any, error) {
	var v any
	err := DecodeAll(json.NewDecoder(bytes.NewReader(raw)), &v)
	return v, err
}

// DecodeAll decodes one JSON value, after which dec has no more data. Numbers in a value of type
// any are a [json.Number].
func DecodeAll(dec *json.Decoder, to any) error {
	dec.UseNumber()
	if err := dec.Decode(to); err != nil {
		return err
	}
	if _, err := dec.Token(); !errors.Is(err, io.EOF) {
		return errors.New("unexpected data after the value")
	}
	return nil
}

// Line encodes a value as a line of JSON, with its end and without the escapes for HTML.
func Line(v any) ([]byte, error) {
	var line bytes.Buffer
	enc := json.NewEncoder(&line)
	enc.SetEscapeHTML(false)
	err := enc.Encode(v)
	return line.Bytes(), err
}

// Equal reports whether two strings are equal or represent the same JSON value. Numbers are equal
// only if they are written in the same way.
func Equal(a, b string) bool { return a == b || Canonical(a) == Canonical(b) }

// EqualDecoded reports whether two strings are JSON values that a client cannot distinguish which
// decodes numbers as float64.
func EqualDecoded(a, b string) bool {
	var x, y any
	return json.Unmarshal([]byte(a), &x) == nil && (a == b || json.Unmarshal([]byte(b), &y) == nil && reflect.DeepEqual(x, y))
}

// Leaves replaces each value that is neither an object nor an array in a decoded JSON value. It
// changes v and returns the result.
func Leaves(v any, replace func(leaf any) any) any {
	switch v := v.(type) {
	case []any:
		for i := range v {
			v[i] = Leaves(v[i], replace)
		}
		return v
	case map[string]any:
		for name := range v {
			v[name] = Leaves(v[name], replace)
		}
		return v
	}
	return replace(v)
}
