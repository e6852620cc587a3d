package middleware

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"slices"
	"strconv"
	"sync"

	"github.com/looptape/looptape/llm"
	"github.com/looptape/looptape/loop"
)

// LogMessages logs each new message of a run once, in order: those of the input after the last
// assistant message, and those that each step adds. An error or a panic of log does not affect
// the run, and log still receives later messages. It must be safe for concurrent use.
func LogMessages(log func(llm.Message) error) loop.Middleware {
	return logMessages(log, func(in []llm.Message) (known int) {
		for i, m := range slices.Backward(in) {
			if m.Role == llm.RoleAssistant {
				return i + 1
			}
		}
		return 0
	})
}

// LogMessagesFrom is [LogMessages] for an input whose first known messages were already
// logged. It logs all later messages.
func LogMessagesFrom(known int, log func(llm.Message) error) loop.Middleware {
	return logMessages(log, func(in []llm.Message) int { return min(known, len(in)) })
}

func logMessages(log func(llm.Message) error, known func(in []llm.Message) int) loop.Middleware {
	logAll := func(list []llm.Message) {
		for _, m := range list {
			func() {
				defer func() { _ = recover() }()
				_ = log(m)
			}()
		}
	}
	return loop.Middleware{Name: "message_log", New: func(info loop.RunInfo) loop.Hooks {
		logged, steps := 0, 0 // messages that the run added
		return loop.Hooks{
			Start: func(context.Context) (context.Context, error) {
				logAll(info.Input.Messages[known(info.Input.Messages):])
				return nil, nil
			},
			BeforeStep: func(_ context.Context, s *loop.StepInfo) (c loop.StepChange, err error) {
				for ; steps < len(s.Steps); steps++ {
					logged += len(s.Steps[steps].Messages)
					logAll(s.Steps[steps].Messages)
				}
				return c, nil
			},
			End: func(_ context.Context, res loop.Result) (loop.Result, error) {
				logAll(res.Messages[logged:])
				return res, nil
			},
		}
	}}
}

// JSONLog writes messages to a file, one JSON object per line. Its method Log is the argument
// of [LogMessages]. It is safe for use by many goroutines.
type JSONLog struct {
	mu   sync.Mutex
	file *os.File
	err  error
}

// NewJSONLog creates a log file in an existing directory. Its name is the time in UTC, such as
// 2000-01-31-09-05-59.jsonl, with a number if the file exists. A nil clock means the system
// clock.
func NewJSONLog(dir string, clock loop.Clock) (*JSONLog, error) {
	if clock == nil {
		clock = loop.SystemClock{}
	}
	root, err := os.OpenRoot(dir)
	if err != nil {
		return nil, fmt.Errorf("middleware: NewJSONLog: %w", err)
	}
	defer root.Close() //nolint:errcheck // nothing was written by it
	base := clock.Now().UTC().Format("2006-01-02-15-04-05")
	name := base + ".jsonl"
	for n := 2; ; n++ {
		f, err := root.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o666)
		switch {
		case err == nil:
			return &JSONLog{file: f}, nil
		case !errors.Is(err, fs.ErrExist):
			return nil, fmt.Errorf("middleware: NewJSONLog: %w", err)
		}
		name = base + "-" + strconv.Itoa(n) + ".jsonl"
	}
}

// Name returns the path of the file.
func (l *JSONLog) Name() string { return l.file.Name() }

// Log appends a line in a single write. After an error, all later calls return the same error,
// so no line follows an incomplete one.
func (l *JSONLog) Log(m llm.Message) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.err == nil {
		_, l.err = l.file.Write(append(m.AppendJSON(nil), '\n'))
	}
	return l.err
}

// Close closes the file. It returns the first error of a write, if any.
func (l *JSONLog) Close() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	return errors.Join(l.err, l.file.Close())
}
