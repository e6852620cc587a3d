package uistream

import (
	"fmt"
	"iter"
	"net/http"
)

// Write sends parts as server-sent events, one event per part, each immediately, and then
// [DONE]. The status is 200: a later failure is a part. Write returns when the parts have
// ended.
//
// If the client disconnects or a part is invalid, Write stops the iteration, which cancels the
// run, and returns an error.
func Write(w http.ResponseWriter, parts iter.Seq[Part]) error {
	h := w.Header()
	h.Set("Content-Type", "text/event-stream")
	h.Set("Cache-Control", "no-cache")
	h.Set("X-Accel-Buffering", "no") // prevents buffering in nginx
	h.Set("X-Vercel-Ai-Ui-Message-Stream", "v1")
	w.WriteHeader(http.StatusOK)
	out := http.NewResponseController(w)
	send := func(data []byte) error {
		if _, err := fmt.Fprintf(w, "data: %s\n\n", data); err != nil {
			return fmt.Errorf("uistream: sending a part: %w", err)
		}
		if err := out.Flush(); err != nil {
			return fmt.Errorf("uistream: flushing a part: %w", err)
		}
		return nil
	}
	for p := range parts {
		data, err := p.MarshalJSON()
		if err != nil {
			return fmt.Errorf("uistream: a part of the type %s: %w", p.Type, err)
		}
		if err := send(data); err != nil {
			return err
		}
	}
	return send([]byte("[DONE]"))
}
