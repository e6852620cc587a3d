package loop

import (
	"context"
	"fmt"
	"time"
)

// timeoutPolicy ends the context of each tool after d. The tool is told and
// waited for; what it returns after that is an error result. The time left is
// not part of the result's text, so that a repeat gives the same one.
func timeoutPolicy(d time.Duration) Middleware {
	return Middleware{Name: "tool_timeout", New: func(info RunInfo) Hooks {
		return Hooks{WrapTool: func(next ToolFunc) ToolFunc {
			return func(ctx context.Context, call Call) (Output, error) {
				ctx, stop := info.Clock.WithTimeout(ctx, d, ErrToolTimeout)
				defer stop()
				out, err := next(ctx, call)
				if context.Cause(ctx) == ErrToolTimeout { //nolint:errorlint // exactly this context's own end
					return Output{}, fmt.Errorf("%w (%v)", ErrToolTimeout, d)
				}
				return out, err
			}
		}}
	}}
}
