package agentier

import (
	"time"

	"github.com/looptape/looptape/loop"
	"github.com/looptape/looptape/loop/middleware"
	"github.com/looptape/looptape/trace"
)

// noteFailure records the error of the run if it fails now. The first event counts: a
// response that is interrupted because the run was canceled is not a model failure.
func (p *projection) noteFailure(body trace.Body) {
	switch b := body.(type) {
	case trace.ModelRetry:
		p.code = ""
	case trace.ModelError:
		if p.code == "" {
			p.code = "MODEL_ERROR"
		}
	case trace.Canceled:
		p.code = "ABORTED"
		if b.Reason == string(trace.ReasonDeadline) {
			p.code = "TIMEOUT"
		}
	case trace.Decision:
		if b.Reason == middleware.ReasonOutput && b.Action == trace.Stop {
			p.code = "OUTPUT_PARSE_ERROR"
		}
	}
}

func (p *projection) end(b trace.RunEnd, at time.Duration, err error) []Part {
	switch {
	case err != nil && p.returns && err.Error() == loop.ErrDeadline.Error(): // in a model call
	case err != nil && p.code != "":
		return []Part{{Type: "onError", Err: &Error{p.code, err}}}
	case err != nil:
		return []Part{{Type: "onError", Err: err}}
	}
	// The text of a response with calls, which a limit makes the last one, is no answer.
	final := b.StopReason == trace.ReasonEndTurn || b.StopReason == trace.ReasonForced
	if o, err := middleware.NewOutput(p.schema); final && err == nil {
		p.res.Value, _ = o.Read(p.res.Output, nil) // nil if the answer does not follow the schema
	}
	p.res.Stop, p.res.Duration, p.res.Usage.Usage = b.StopReason, at, b.Usage
	p.res.Messages = append(p.res.Messages, b.AppendedMessages...)
	return []Part{{Type: "onComplete", Complete: &p.res}}
}
