package llm

import "github.com/looptape/looptape/internal/jsonio"

// ReadEvent reads an event; one of unknown type becomes Unknown.
func ReadEvent(d *jsonio.Dec) Event {
	from := d.Offset()
	kind, first := readType(d)
	if d.Err() != nil {
		return nil
	}
	switch kind {
	case "text_delta":
		return readTextDelta(d, first)
	case "reasoning_delta":
		return readReasoningDelta(d, first)
	case "tool_call_start":
		return readCallStart(d, first)
	case "tool_call_delta":
		return readCallDelta(d, first)
	case "tool_call_end":
		return readCallEnd(d, first)
	case "part":
		return readPartDone(d, first)
	case "usage":
		return readUsage(d, first)
	case "warning":
		return readWarning(d, first)
	case "finish":
		return readFinish(d, first)
	}
	return readUnknown(d, first, kind, from)
}

func readTextDelta(d *jsonio.Dec, first bool) (e TextDelta) {
	for key := range d.MembersAfter(first) {
		switch key {
		case "text", "text_b64":
			e.Text = d.Text(key)
		case "refusal":
			e.Refusal = d.Bool()
		case "opaque":
			e.Opaque = readRaw(d)
		default:
			d.Skip()
		}
	}
	return e
}

func readReasoningDelta(d *jsonio.Dec, first bool) (e ReasoningDelta) {
	for key := range d.MembersAfter(first) {
		switch key {
		case "text", "text_b64":
			e.Text = d.Text(key)
		case "opaque":
			e.Opaque = readRaw(d)
		default:
			d.Skip()
		}
	}
	return e
}

func readCallStart(d *jsonio.Dec, first bool) (e ToolCallStart) {
	for key := range d.MembersAfter(first) {
		switch key {
		case "index":
			e.Index = int(d.Int())
		case "id", "id_b64":
			e.ID = d.Text(key)
		case "name", "name_b64":
			e.Name = d.Text(key)
		case "opaque":
			e.Opaque = readRaw(d)
		default:
			d.Skip()
		}
	}
	return e
}

func readCallDelta(d *jsonio.Dec, first bool) (e ToolCallDelta) {
	for key := range d.MembersAfter(first) {
		switch key = v1Call.Name(d, key); key {
		case "index":
			e.Index = int(d.Int())
		case "id", "id_b64":
			e.ID = d.Text(key)
		case "arguments", "arguments_b64":
			e.Arguments = d.Text(key)
		default:
			d.Skip()
		}
	}
	return e
}

func readCallEnd(d *jsonio.Dec, first bool) (e ToolCallEnd) {
	for key := range d.MembersAfter(first) {
		switch key = v1Call.Name(d, key); key {
		case "index":
			e.Index = int(d.Int())
		case "id", "id_b64":
			e.ID = d.Text(key)
		case "arguments", "arguments_b64":
			e.Arguments = d.Text(key)
		case "opaque":
			e.Opaque = readRaw(d)
		default:
			d.Skip()
		}
	}
	return e
}

func readPartDone(d *jsonio.Dec, first bool) Event {
	var p Part
	for key := range d.MembersAfter(first) {
		if key != "part" {
			d.Skip()
			continue
		}
		p = ReadPart(d)
	}
	if p == nil {
		d.Fail("an event of type part needs a part")
		return nil
	}
	return PartDone{p}
}

func readWarning(d *jsonio.Dec, first bool) (e Warning) {
	for key := range d.MembersAfter(first) {
		switch key {
		case "code", "code_b64":
			e.Code = d.Text(key)
		case "message", "message_b64":
			e.Message = d.Text(key)
		default:
			d.Skip()
		}
	}
	return e
}

func readFinish(d *jsonio.Dec, first bool) (e Finish) {
	for key := range d.MembersAfter(first) {
		switch key {
		case "reason", "reason_b64":
			e.Reason = FinishReason(d.Text(key))
		case "raw", "raw_b64":
			e.Raw = d.Text(key)
		case "message", "message_b64":
			e.Message = d.Text(key)
		case "response_id", "response_id_b64":
			e.ResponseID = d.Text(key)
		case "model", "model_b64":
			e.Model = d.Text(key)
		case "opaque":
			e.Opaque = readRaw(d)
		default:
			d.Skip()
		}
	}
	return e
}
