package evals

import (
	"github.com/looptape/looptape/llm"
	"github.com/looptape/looptape/trace"
	"github.com/looptape/looptape/trace/importer"
)

// sizeOf estimates the memory of a run: its texts and a constant per event and part.
func sizeOf(run *importer.Run) int {
	const event = 256
	n := sizeOfMessages(run.Messages) + event*len(run.Events)
	for i := range run.Events {
		switch body := run.Events[i].Body.(type) {
		case trace.ModelRequest:
			n += sizeOfMessages(body.NewMessages)
		case trace.ModelResponse:
			n += sizeOfParts(body.Message.Parts)
		case trace.ModelDelta:
			n += len(body.Text)
		case trace.ToolEnd:
			n += sizeOfParts(body.Result.Content)
		default: // small
		}
	}
	return n
}

func sizeOfMessages(list []llm.Message) (n int) {
	for i := range list {
		n += sizeOfParts(list[i].Parts)
	}
	return n
}

func sizeOfParts(list []llm.Part) (n int) {
	const inputResult = 128
	for _, p := range list {
		n += inputResult
		switch p := p.(type) {
		case llm.Text:
			n += len(p.Text)
		case llm.Reasoning:
			n += len(p.Text)
		case llm.Media:
			n += len(p.Data)
		case llm.ToolCall:
			n += len(p.Arguments)
		case llm.ToolResult:
			n += sizeOfParts(p.Content)
		case llm.Unknown:
			n += len(p.Raw)
		}
	}
	return n
}
