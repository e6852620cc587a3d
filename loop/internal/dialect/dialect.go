// Package dialect contains helpers that convert trace events to the event types of a
// reference loop. It does not depend on a preset.
package dialect

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"reflect"
	"slices"
	"strings"
	"time"

	"github.com/looptape/looptape/internal/jsonio"
	"github.com/looptape/looptape/trace"
)

// Parts converts the events of a run, that of the first event. For each iteration, begin
// creates the state of a conversion and returns the function that converts an event to parts.
// It gets the [Failure] of the run with its last event. Parts skips the events of other runs,
// and those of model calls with another purpose except errors and retries.
func Parts[P any](events iter.Seq2[trace.Event, error], begin func() func(trace.Event, error) []P) iter.Seq[P] {
	return func(yield func(P) bool) {
		parts, run, begun := begin(), "", false
		for ev, err := range events {
			if !begun {
				run, begun = ev.Run, true
			}
			skip := ev.Run != run || ev.Purpose != trace.PurposeAnswer
			switch b := ev.Body.(type) {
			case trace.ModelError, trace.ModelRetry:
				skip = ev.Run != run
			case trace.RunEnd:
				err = Failure(err, b)
			default:
			}
			if skip {
				continue
			}
			for _, p := range parts(ev, err) {
				if !yield(p) {
					return
				}
			}
		}
	}
}

// Failure returns the error of a run at its end: err, or the recorded error of a trace.
// It returns nil if the run did not fail.
func Failure(err error, end trace.RunEnd) error {
	if err == nil && end.Error != nil {
		return errors.New(end.Error.Message)
	}
	return err
}

// Object encodes a JSON object without HTML escaping. The members are keys, each followed by
// its value, in this order. As in the tags of encoding/json, a key that ends in ",omitzero"
// omits a zero value. Object returns an error if a value cannot be encoded.
func Object(members ...any) ([]byte, error) {
	b := []byte{'{'}
	for pair := range slices.Chunk(members, 2) {
		key, omitZero := strings.CutSuffix(pair[0].(string), ",omitzero")
		if omitZero && (pair[1] == nil || reflect.ValueOf(pair[1]).IsZero()) {
			continue
		}
		value, err := Encode(pair[1])
		if err != nil {
			return nil, fmt.Errorf("the member %q: %w", key, err)
		}
		if len(b) > 1 {
			b = append(b, ',')
		}
		b = append(append(jsonio.AppendString(b, key), ':'), value...)
	}
	return append(b, '}'), nil
}

// Encode encodes a value without HTML escaping.
func Encode(v any) (json.RawMessage, error) {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(v); err != nil {
		return nil, err
	}
	return bytes.TrimSuffix(b.Bytes(), []byte("\n")), nil
}

// Milliseconds returns a duration in milliseconds.
func Milliseconds(d time.Duration) float64 { return float64(d) / float64(time.Millisecond) }

// Value returns the output of a model or a tool as JSON: the text itself if it is JSON,
// and otherwise a JSON string. It returns empty if the text is empty.
func Value(text, empty string) json.RawMessage {
	switch {
	case text == "":
		return json.RawMessage(empty)
	case jsonio.Valid([]byte(text)):
		return json.RawMessage(text)
	}
	return jsonio.AppendString(nil, text)
}
