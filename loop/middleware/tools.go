package middleware

import (
	"bytes"
	"context"
	"encoding/json"

	"github.com/looptape/looptape/loop"
)

// toolsOf prepares the tools of middleware once for all runs.
func toolsOf(tools ...loop.Tool) ([]loop.Tool, error) {
	out := make([]loop.Tool, len(tools))
	for i, t := range tools {
		var err error
		if out[i], err = loop.RawTool(t.Name, t.Description, t.Parameters, t.Run); err != nil {
			return nil, err
		}
	}
	return out, nil
}

// running returns the tools for one run, with run as their function.
func running(tools []loop.Tool, run loop.ToolFunc) []loop.Tool {
	out := make([]loop.Tool, len(tools))
	for i, t := range tools {
		t.Run = run
		out[i] = t
	}
	return out
}

// emitJSON adds an event with the JSON of v to the trace.
func emitJSON(s *loop.StepInfo, name string, v any) error {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(v); err != nil {
		return err
	}
	return s.Emit(name, bytes.TrimSuffix(b.Bytes(), []byte("\n")))
}

// over reports whether a context has ended.
func over(ctx context.Context) bool { return ctx.Err() != nil }
