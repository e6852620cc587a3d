package page

import (
	"slices"

	"github.com/looptape/looptape/llm"
	"github.com/looptape/looptape/trace"
)

// event reads an event of a trace. Responses and results contain the conversation; requests add
// user messages and other results.
func (r *reading) event(ev *trace.Event) {
	switch body := ev.Body.(type) {
	case trace.ModelConfig:
		if ev.Purpose == trace.PurposeAnswer && body.System != r.system {
			r.system = body.System
			r.add(entry{Kind: kindSystem, Text: body.System})
		}
	case trace.HistoryRewrite:
		r.rewritten = true
		r.note(kindNote, "the messages were rewritten", body.Reason)
	case trace.ModelRequest:
		if ev.Purpose == trace.PurposeAnswer {
			r.request(body.NewMessages)
		}
	case trace.ModelResponse:
		r.answer(body.Message, ev.Purpose, body.FinishReason)
	case trace.ToolArguments:
		if waiting := r.open[body.ToolCallID]; len(waiting) > 0 {
			e := &r.Entries[waiting[0]]
			e.Ran = r.fit(body.Arguments, e)
		}
	case trace.ToolEnd:
		r.ended(body.ToolCallID, body.Result, "")
	case trace.ToolSkip:
		r.ended(body.ToolCallID, body.Result, body.Reason)
	case trace.RunEnd:
		r.end(&body)
	default:
		r.happened(ev.Body)
	}
}

func (r *reading) happened(body trace.Body) {
	switch body := body.(type) {
	case trace.ModelError:
		r.note(kindError, "a call of the model failed", body.Error.Message)
	case trace.ModelRetry:
		r.note(kindNote, "the model is called again", body.Reason)
	case trace.Abandoned:
		r.note(kindError, "a running tool was not waited for", body.ToolCallID)
	case trace.Canceled:
		r.note(kindNote, "the run was canceled", body.Reason)
	case trace.Suspended:
		r.note(kindNote, "the run waits for somebody outside", "")
	case trace.Resumed:
		r.note(kindNote, "the run continues another run", body.Of)
	case trace.Warning:
		r.note(kindNote, "warning", body.Message)
	default: // not shown
	}
}

// request reads the new messages of a request: all of the first and of a rewritten one, else
// those that are new.
func (r *reading) request(messages []llm.Message) {
	whole := !r.asked || r.rewritten
	r.asked, r.rewritten = true, false
	for _, m := range messages {
		if whole || m.Role == llm.RoleUser || m.Role == llm.RoleSystem {
			r.message(m)
			continue
		}
		for _, p := range m.Parts {
			if res, ok := p.(llm.ToolResult); ok {
				r.result(res, "")
			}
		}
	}
}

// ended takes the result of a call, which in a trace has an id of its own.
func (r *reading) ended(call string, res llm.ToolResult, skipped string) {
	res.ID = call
	r.result(res, skipped)
}

func (r *reading) end(body *trace.RunEnd) {
	r.request(body.AppendedMessages)
	switch {
	case body.Error != nil:
		r.note(kindError, "the run failed", body.Error.Message)
	case body.StopReason != trace.ReasonEndTurn:
		r.note(kindNote, "the run ended", string(body.StopReason))
	}
}

func (r *reading) note(k kind, what, why string) {
	if why != "" {
		what += ": " + why
	}
	r.add(entry{Kind: k, Text: what})
}

// attach adds a run to the entry of the call that started it, if it fits.
func (r *reading) attach(s startedRun) {
	i := slices.IndexFunc(r.Entries, func(e entry) bool { return e.Kind == kindCall && e.ID == s.call })
	if i < 0 || r.size+s.size > maxRun {
		r.Left++
		return
	}
	r.size += s.size
	r.Left += s.Left
	r.cut = r.cut || s.cut
	r.Entries[i].Runs = append(r.Entries[i].Runs, s.transcript)
}
