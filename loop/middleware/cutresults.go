package middleware

import (
	"context"
	"fmt"

	"github.com/looptape/looptape/llm"
	"github.com/looptape/looptape/loop"
)

// TruncateResults truncates each text that a tool returns to its first limit characters and
// appends a note. It does not truncate the substitute output of middleware.
func TruncateResults(limit int) loop.Middleware {
	return loop.Middleware{Name: "cut_results", New: func(loop.RunInfo) loop.Hooks {
		return loop.Hooks{WrapTool: func(next loop.ToolFunc) loop.ToolFunc {
			return func(ctx context.Context, call loop.Call) (loop.Output, error) {
				out, err := next(ctx, call)
				content := make([]llm.Part, len(out.Content))
				for i, p := range out.Content {
					if t, ok := p.(llm.Text); ok {
						t.Text = cut(t.Text, limit)
						p = t
					}
					content[i] = p
				}
				out.Content = content
				return out, err
			}
		}}
	}}
}

// cut returns the first n characters of text, with a note if there are more.
func cut(text string, n int) string {
	chars := 0
	for i := range text {
		if chars == n {
			return fmt.Sprintf("%s\n(cut: the first %d characters of a longer text)", text[:i], n)
		}
		chars++
	}
	return text
}
