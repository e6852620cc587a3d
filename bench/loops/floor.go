package loops

import (
	"context"
	"errors"
	"sync"

	"github.com/looptape/looptape/bench/work"
	"github.com/looptape/looptape/llm"
)

// newFloor is the least that a loop over looptape's types can do: no check, no
// limit, no record; a goroutine for each call of a step that has several.
func newFloor(w *work.Work, o Options) (Run, func() error, error) {
	model := newLooptapeModel(w)
	tool := func(args string) []llm.Part {
		o.rawCalled(args)
		return []llm.Part{llm.Text{Text: work.Answer}}
	}
	return func(ctx context.Context) (string, error) {
		model.next = 0
		messages := []llm.Message{llm.User(work.Prompt)}
		for {
			turn := llm.Response{}
			for ev, err := range model.Stream(ctx, &llm.Request{Messages: messages}) {
				switch e := ev.(type) {
				case llm.PartDone:
					turn.Parts = append(turn.Parts, e.Part)
				case llm.TextDelta:
					turn.Parts = append(turn.Parts, llm.Text{Text: e.Text})
				}
				if err != nil {
					return "", err
				}
			}
			messages = append(messages, turn.Message())
			calls := turn.Calls()
			if len(calls) == 0 {
				return turn.Text(), nil
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
		return nil, errors.New("loops: the script calls a tool that there is not")
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
