package middleware

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strconv"
	"sync"

	"github.com/looptape/looptape/llm"
	"github.com/looptape/looptape/loop"
)

// MessageLog receives messages, one after another. It must be safe for use by several runs
// concurrently.
type MessageLog interface {
	Log(m llm.Message) error
}

// MessageLogFunc is a function that implements [MessageLog].
type MessageLogFunc func(m llm.Message) error

// Log calls f.
func (f MessageLogFunc) Log(m llm.Message) error { return f(m) }

// LogMessages logs each new message of a run once, in order: the messages of the input after
// the last assistant message, and the messages that each step adds. An error or a panic of the
// log does not affect the run, and the log still receives later messages.
func LogMessages(log MessageLog) loop.Middleware { return logMessages(log, newIn) }

// LogMessagesFrom is [LogMessages] for an input whose first known messages were already
// logged. It logs all later messages.
func LogMessagesFrom(known int, log MessageLog) loop.Middleware {
	return logMessages(log, func(list []llm.Message) []llm.Message { return list[min(known, len(list)):] })
}

func logMessages(log MessageLog, isNew func(in []llm.Message) []llm.Message) loop.Middleware {
	return loop.Middleware{Name: "message_log", New: func(info loop.RunInfo) loop.Hooks {
		told, steps := 0, 0 // messages that the run added
		tell := func(list []llm.Message) {
			for _, m := range list {
				tellLog(log, m)
			}
		}
		return loop.Hooks{
			Start: func(context.Context) (context.Context, error) {
				tell(isNew(info.Input.Messages))
				return nil, nil
			},
			BeforeStep: func(_ context.Context, s *loop.StepInfo) (loop.StepChange, error) {
				for ; steps < len(s.Steps); steps++ {
					list := s.Steps[steps].Messages
					told += len(list)
					tell(list)
				}
				return loop.StepChange{}, nil
			},
			End: func(_ context.Context, res *loop.Result) error {
				tell(res.Messages[told:])
				return nil
			},
		}
	}}
}

// newIn returns the messages after the last assistant message.
func newIn(list []llm.Message) []llm.Message {
	from := len(list)
	for from > 0 && list[from-1].Role != llm.RoleAssistant {
		from--
	}
	return list[from:]
}

func tellLog(log MessageLog, m llm.Message) {
	defer func() { _ = recover() }()
	_ = log.Log(m)
}

// JSONLog is a [MessageLog] that writes to a file, one JSON message per line.
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
