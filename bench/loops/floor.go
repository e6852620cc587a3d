package loops

import (
	"context"
	"errors"
	"sync"

	"github.com/looptape/looptape/bench/work"
	"github.com/looptape/looptape/llm"
)

// newFloor is the smallest loop over looptape's types: without checks, limits and a trace, and
// with a goroutine for each call of a step with several calls.
func newFloor(w *work.Work, o Options) (Run, func() error, error) {
	model := newLooptapeModel(w, false)
	tool := func(args string) []llm.Part {
		o.rawCalled(args)
		return []llm.Part{llm.Text{Text: work.Answer}}
	}
	return func(ctx context.Context) (string, error) {
		model.next = 0
		messages := []llm.Message{llm.User(work.Prompt)}
		for {
			response := llm.Response{}
			for ev, err := range model.Stream(ctx, &llm.Request{Messages: messages}) {
				switch e := ev.(type) {
				case llm.PartDone:
					response.Parts = append(response.Parts, e.Part)
				case llm.TextDelta:
					response.Parts = append(response.Parts, llm.Text{Text: e.Text})
				default: // the script has no other parts
				}
				if err != nil {
					return "", err
				}
			}
			messages = append(messages, response.Message())
			calls := response.Calls()
			if len(calls) == 0 {
				return response.Text(), nil
			}
			results, err := floorRun(calls, tool)
			if err != nil {
				return "", err
			}
			messages = append(messages, llm.Message{Role: llm.RoleTool, Parts: results})
		}
	}, nil, nil
}

func floorRun(calls []llm.ToolCall, tool func(string) []llm.Part) ([]llm.Part, error) {
	results := make([]llm.Part, len(calls))
	one := func(i int) {
		results[i] = llm.ToolResult{ID: calls[i].ID, Name: calls[i].Name, Content: tool(calls[i].Arguments)}
	}
	if calls[0].Name != work.Tool {
		return nil, errors.New("loops: the script calls an unknown tool")
	}
	if len(calls) == 1 {
		one(0)
		return results, nil
	}
	var wg sync.WaitGroup
	for i := range calls {
		wg.Go(func() { one(i) })
	}
	wg.Wait()
	return results, nil
}
