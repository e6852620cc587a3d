package trace

import (
	"time"

	"github.com/looptape/looptape/internal/jsonio"
	"github.com/looptape/looptape/llm"
)

// What each body reads: the members that its append writes.

func (b *RunStart) body() Body { return *b }

func (b *RunStart) member(d *jsonio.Dec, key string) bool {
	switch key {
	case "parent":
		b.Parent = readParent(d)
	case "clock", "clock_b64":
		b.Clock = word(d.Text(key))
	case "options":
		b.Options = readOptions(d)
	case "tools":
		b.Tools = nil
		for range d.Elements() {
			b.Tools = append(b.Tools, readToolInfo(d))
		}
	case "suppress":
		b.Suppress = readMap(d)
	default:
		return false
	}
	return true
}

func readParent(d *jsonio.Dec) *Parent {
	var p Parent
	for key := range d.Members() {
		switch key = v1Parent.Name(d, key); key {
		case "run", "run_b64":
			p.Run = d.Text(key)
		case "tool_call_id", "tool_call_id_b64":
			p.ToolCallID = d.Text(key)
		default:
			d.Skip()
		}
	}
	return &p
}

func readToolInfo(d *jsonio.Dec) (t ToolInfo) {
	for key := range d.Members() {
		switch key {
		case "name", "name_b64":
			t.Name = d.Text(key)
		case "client":
			t.Client = d.Bool()
		default:
			d.Skip()
		}
	}
	return t
}

func (b *StepStart) body() Body { return *b }

func (b *StepStart) member(*jsonio.Dec, string) bool { return false }

func (b *ModelConfig) body() Body { return *b }

func (b *ModelConfig) member(d *jsonio.Dec, key string) bool {
	switch key {
	case "model", "model_b64":
		b.Model = d.Text(key)
	case "system", "system_b64":
		b.System = d.Text(key)
	case "tools":
		b.Tools = llm.ReadTools(d)
	case "tool_choice", "tool_choice_b64":
		var ok bool
		if b.ToolChoice, ok = llm.ReadToolChoice(d.Text(key)); !ok {
			d.Fail("tool_choice is none of auto, required, none and tool:NAME")
		}
	case "settings":
		b.Settings = llm.ReadSettings(d)
	case "extra":
		b.Extra = readExtra(d)
	default:
		return false
	}
	return true
}

func (b *ModelDelta) body() Body { return *b }

func (b *ModelDelta) member(d *jsonio.Dec, key string) bool {
	switch key {
	case "type", "type_b64":
		b.Type = DeltaKind(word(d.Text(key)))
	case "tool_call_id", "tool_call_id_b64":
		b.ToolCallID = d.Text(key)
	case "name", "name_b64":
		b.Name = d.Text(key)
	case "text", "text_b64":
		b.Text = d.Text(key)
	default:
		return false
	}
	return true
}

func (b *ModelResponse) body() Body { return *b }

func (b *ModelResponse) member(d *jsonio.Dec, key string) bool {
	switch key {
	case "message":
		b.Message = llm.ReadMessage(d)
	case "finish_reason", "finish_reason_b64":
		b.FinishReason = llm.FinishReason(word(d.Text(key)))
	case "raw_finish_reason", "raw_finish_reason_b64":
		b.RawFinishReason = d.Text(key)
	case "finish_message", "finish_message_b64":
		b.FinishMessage = d.Text(key)
	case "response_id", "response_id_b64":
		b.ResponseID = d.Text(key)
	case "model", "model_b64":
		b.Model = d.Text(key)
	case "usage":
		b.Usage = llm.ReadUsage(d)
	default:
		return false
	}
	return true
}

func (b *ModelError) body() Body { return *b }

func (b *ModelError) member(d *jsonio.Dec, key string) bool {
	switch key {
	case "error":
		b.Error = readError(d)
	case "partial":
		b.Partial = d.Bool()
	case "partial_content":
		b.PartialContent = llm.ReadParts(d)
	case "usage":
		b.Usage = llm.ReadUsage(d)
	default:
		return false
	}
	return true
}

func readError(d *jsonio.Dec) (e Error) {
	for key := range d.Members() {
		switch key {
		case "type", "type_b64":
			e.Type = word(d.Text(key))
		case "message", "message_b64":
			e.Message = d.Text(key)
		case "status":
			e.Status = int(d.Int())
		case "code", "code_b64":
			e.Code = d.Text(key)
		case "retry_after_ns":
			e.RetryAfter = time.Duration(d.Int())
		case "retryable":
			e.Retryable = d.Bool()
		default:
			d.Skip()
		}
	}
	return e
}

func (b *ModelRetry) body() Body { return *b }

func (b *ModelRetry) member(d *jsonio.Dec, key string) bool {
	switch key {
	case "wait_ns":
		b.Wait = time.Duration(d.Int())
	case "reason", "reason_b64":
		b.Reason = word(d.Text(key))
	default:
		return false
	}
	return true
}

func (b *Decision) body() Body { return *b }

func (b *Decision) member(d *jsonio.Dec, key string) bool {
	switch key {
	case "action", "action_b64":
		b.Action = Action(word(d.Text(key)))
	case "reason", "reason_b64":
		b.Reason = Reason(word(d.Text(key)))
	case "tool_calls":
		b.ToolCalls = int(d.Int())
	case "by", "by_b64":
		b.By = d.Text(key)
	case "note", "note_b64":
		b.Note = d.Text(key)
	default:
		return false
	}
	return true
}

func (b *ToolArguments) body() Body { return *b }

func (b *ToolArguments) member(d *jsonio.Dec, key string) bool {
	switch key {
	case "tool_call_id", "tool_call_id_b64":
		b.ToolCallID = d.Text(key)
	case "arguments", "arguments_b64":
		b.Arguments = d.Text(key)
	case "reason", "reason_b64":
		b.Reason = word(d.Text(key))
	default:
		return false
	}
	return true
}

func (b *ToolStart) body() Body { return *b }

func (b *ToolStart) member(d *jsonio.Dec, key string) bool {
	switch key {
	case "tool_call_id", "tool_call_id_b64":
		b.ToolCallID = d.Text(key)
	case "name", "name_b64":
		b.Name = d.Text(key)
	case "arguments", "arguments_b64":
		b.Arguments = d.Text(key)
	default:
		return false
	}
	return true
}

func (b *ToolEnd) body() Body { return *b }

func (b *ToolEnd) member(d *jsonio.Dec, key string) bool {
	switch key {
	case "tool_call_id", "tool_call_id_b64":
		b.ToolCallID = d.Text(key)
	case "outcome", "outcome_b64":
		b.Outcome = Outcome(word(d.Text(key)))
	case "result":
		b.Result = readResult(d)
	default:
		return false
	}
	return true
}

func (b *ToolSkip) body() Body { return *b }

func (b *ToolSkip) member(d *jsonio.Dec, key string) bool {
	switch key {
	case "tool_call_id", "tool_call_id_b64":
		b.ToolCallID = d.Text(key)
	case "name", "name_b64":
		b.Name = d.Text(key)
	case "reason", "reason_b64":
		b.Reason = word(d.Text(key))
	case "result":
		b.Result = readResult(d)
	default:
		return false
	}
	return true
}

func (b *Abandoned) body() Body { return *b }

func (b *Abandoned) member(d *jsonio.Dec, key string) bool {
	switch key {
	case "tool_call_id", "tool_call_id_b64":
		b.ToolCallID = d.Text(key)
	default:
		return false
	}
	return true
}

func (b *StepEnd) body() Body { return *b }

func (b *StepEnd) member(*jsonio.Dec, string) bool { return false }

func (b *HistoryRewrite) body() Body { return *b }

func (b *HistoryRewrite) member(d *jsonio.Dec, key string) bool {
	switch key {
	case "reason", "reason_b64":
		b.Reason = word(d.Text(key))
	case "by", "by_b64":
		b.By = d.Text(key)
	default:
		return false
	}
	return true
}

func (b *Canceled) body() Body { return *b }

func (b *Canceled) member(d *jsonio.Dec, key string) bool {
	switch key {
	case "reason", "reason_b64":
		b.Reason = word(d.Text(key))
	default:
		return false
	}
	return true
}

func (b *Suspended) body() Body { return *b }

func (b *Suspended) member(d *jsonio.Dec, key string) bool {
	switch key {
	case "pending":
		b.Pending = readStrings(d)
	case "digest", "digest_b64":
		b.Digest = d.Text(key)
	default:
		return false
	}
	return true
}

func (b *Resumed) body() Body { return *b }

func (b *Resumed) member(d *jsonio.Dec, key string) bool {
	switch key {
	case "of", "of_b64":
		b.Of = d.Text(key)
	default:
		return false
	}
	return true
}

func (b *Warning) body() Body { return *b }

func (b *Warning) member(d *jsonio.Dec, key string) bool {
	switch key {
	case "code", "code_b64":
		b.Code = d.Text(key)
	case "message", "message_b64":
		b.Message = d.Text(key)
	case "tool_call_id", "tool_call_id_b64":
		b.ToolCallID = d.Text(key)
	default:
		return false
	}
	return true
}

func (b *Custom) body() Body { return *b }

func (b *Custom) member(d *jsonio.Dec, key string) bool {
	switch key {
	case "name", "name_b64":
		b.Name = d.Text(key)
	case "data":
		b.Data = readRaw(d)
	default:
		return false
	}
	return true
}

func (b *RunEnd) body() Body { return *b }

func (b *RunEnd) member(d *jsonio.Dec, key string) bool {
	switch key {
	case "stop_reason", "stop_reason_b64":
		b.StopReason = Reason(word(d.Text(key)))
	case "finish_reason", "finish_reason_b64":
		b.FinishReason = llm.FinishReason(word(d.Text(key)))
	case "steps":
		b.Steps = int(d.Int())
	case "model_calls":
		b.ModelCalls = int(d.Int())
	case "usage":
		b.Usage = llm.ReadUsage(d)
	case "usage_by":
		b.UsageBy = readUsageBy(d)
	case "pending":
		b.Pending = readStrings(d)
	case "appended_messages":
		b.AppendedMessages, _ = readMessages(d, nil)
	case "error":
		e := readError(d)
		b.Error = &e
	default:
		return false
	}
	return true
}

func readUsageBy(d *jsonio.Dec) map[Purpose]llm.Usage {
	m := map[Purpose]llm.Usage{}
	for key := range d.Members() {
		m[Purpose(word(key))] = llm.ReadUsage(d)
	}
	return m
}
