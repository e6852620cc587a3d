// Package dialect holds what the presets share in spelling a run's events as
// their documents do. It knows no preset.
package dialect

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"iter"

	"github.com/looptape/looptape/internal/jsonio"
	"github.com/looptape/looptape/trace"
)

// Parts projects a run's events: begin makes the state of a projection, for each time
// that the parts are read, and returns what gives the parts of an event. The run is that
// of the first event; others among them, such as those of its sub-agents, are passed over.
func Parts[P any](events iter.Seq2[trace.Event, error], begin func() func(trace.Event, error) []P) iter.Seq[P] {
	return func(yield func(P) bool) {
		parts, run, begun := begin(), "", false
		for ev, err := range events {
			if !begun {
				run, begun = ev.Run, true
			}
			if ev.Run != run {
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

// Failure is the error of a run at its end: its own, or, in a trace that was read, what
// is written of it. It is nil if the run did not fail.
func Failure(err error, end trace.RunEnd) error {
	if err == nil && end.Error != nil {
		return errors.New(end.Error.Message)
	}
	return err
}

// Member is a member of a JSON object.
type Member struct {
	Key   string
	Value any
}

// Object is the JSON of an object with these members, in this order, without
// HTML escaping. It fails if a value has no JSON.
func Object(members ...Member) ([]byte, error) {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	sep := byte('{')
	for _, m := range members {
		b.WriteByte(sep)
		sep = ','
		b.Write(jsonio.AppendString(nil, m.Key))
		b.WriteByte(':')
		if err := enc.Encode(m.Value); err != nil {
			return nil, fmt.Errorf("the member %q: %w", m.Key, err)
		}
		b.Truncate(b.Len() - 1) // the encoder's newline
	}
	if len(members) == 0 {
		b.WriteByte('{')
	}
	b.WriteByte('}')
	return b.Bytes(), nil
}

// Value is the JSON of what a model or a tool has written: the text itself if it
// is JSON, else a string; empty stands for an empty text.
func Value(text, empty string) json.RawMessage {
	switch {
	case text == "":
		return json.RawMessage(empty)
	case jsonio.Valid([]byte(text)):
		return json.RawMessage(text)
	}
	return jsonio.AppendString(nil, text)
}
