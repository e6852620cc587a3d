package agentier

import (
	"encoding/json"
	"time"

	"github.com/looptape/looptape/loop/internal/dialect"
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
		p.code = contextCode(trace.Reason(b.Reason))
	case trace.Decision:
		if b.Reason == middleware.ReasonOutput && b.Action == trace.Stop {
			p.code = "OUTPUT_PARSE_ERROR"
		}
	}
}

// contextCode returns the code of a run with an ended context.
func contextCode(reason trace.Reason) string {
	if reason == trace.ReasonDeadline {
		return "TIMEOUT"
	}
	return "ABORTED"
}

// end returns the last part. Its error is the error of the run or, for a recorded trace,
// the recorded error.
func (p *projection) end(b trace.RunEnd, at time.Duration, err error) []Part {
	err = dialect.Failure(err, b)
	switch {
	case err != nil && p.code != "":
		return []Part{{Type: "onError", Err: &Error{p.code, err}}}
	case err != nil:
		return []Part{{Type: "onError", Err: err}}
	}
	p.res.Stop, p.res.Value = b.StopReason, p.value()
	p.res.Messages = append(p.res.Messages, b.AppendedMessages...)
	p.res.Usage.Usage = b.Usage
	p.res.Duration = at
	return []Part{{Type: "onComplete", Complete: &p.res}}
}

// value returns the output as JSON, or nil if the run has no schema or the output is not
// JSON.
func (p *projection) value() json.RawMessage {
	o, err := middleware.NewOutput(p.schema)
	if err != nil {
		return nil
	}
	value, err := o.Read(p.res.Output, nil)
	if err != nil {
		return nil
	}
	return value
}
