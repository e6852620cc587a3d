package uistream

import (
	"fmt"
	"iter"
	"net/http"
)

// Write sends parts as server-sent events, one event per part, each immediately. [DONE]
// follows the last part. The status is 200: a later failure is a part. Write sends nothing
// else and returns when the parts have ended.
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
	out := sender{w: w, flush: http.NewResponseController(w)}
	for p := range parts {
		data, err := p.MarshalJSON()
		if err != nil {
			return fmt.Errorf("uistream: a part of the type %s: %w", p.Type, err)
		}
		if err := out.send(data); err != nil {
			return err
		}
	}
	return out.send([]byte("[DONE]"))
}

type sender struct {
	w     http.ResponseWriter
	flush *http.ResponseController
}

func (s sender) send(data []byte) error {
	event := append(append([]byte("data: "), data...), "\n\n"...)
	if _, err := s.w.Write(event); err != nil {
		return fmt.Errorf("uistream: sending a part: %w", err)
	}
	if err := s.flush.Flush(); err != nil {
		return fmt.Errorf("uistream: flushing a part: %w", err)
	}
	return nil
}
