package agentier

import (
	"encoding/json"
	"time"

	"github.com/looptape/looptape/loop/middleware"
	"github.com/looptape/looptape/loop/preset/dialect"
	"github.com/looptape/looptape/trace"
)

// goesWrong keeps what the run would fail of now. What happened first counts: an
// answer that breaks off because the run was cancelled is no failure of the model.
func (p *projection) goesWrong(body trace.Body) {
	switch b := body.(type) {
	case trace.ModelRetry:
		p.code = ""
	case trace.ModelError:
		if p.code == "" {
			p.code = ModelError
		}
	case trace.Canceled:
		p.code = ended(trace.Reason(b.Reason))
	case trace.Decision:
		if b.Reason == middleware.ReasonOutput && b.Action == trace.Stop {
			p.code = OutputParseError
		}
	}
}

// ended is the code of a run whose context has ended.
func ended(cause trace.Reason) Code {
	if cause == trace.ReasonDeadline {
		return Timeout
	}
	return Aborted
}

// end is the last part. The error is the run's; in a trace that was read, what is
// written of it.
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

// value is the JSON of the output, if it has to be such and is.
func (p *projection) value() json.RawMessage {
	o, err := middleware.NewOutput(p.schema)
	if err != nil {
		return nil
	}
	value, err := o.Read(p.res.Output)
	if err != nil {
		return nil
	}
	return value
}
