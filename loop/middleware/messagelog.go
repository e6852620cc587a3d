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

// MessageLog is told messages, one after another. It may be called by the goroutines
// of several runs at once.
type MessageLog interface {
	Log(m llm.Message) error
}

// MessageLogFunc makes a function a MessageLog.
type MessageLogFunc func(m llm.Message) error

// Log calls f.
func (f MessageLogFunc) Log(m llm.Message) error { return f(m) }

// LogMessages tells a log each message that comes into the conversation of a run, in
// order, once: what the run begins with behind the last message of an assistant, and
// what it adds, step by step. A log that fails, or panics, changes nothing in the run,
// and is told the next message all the same.
func LogMessages(log MessageLog) loop.Middleware { return logMessages(log, newIn) }

// LogMessagesFrom is LogMessages for runs of which it is known how many messages of
// their input the log was told before: it is told all behind these.
func LogMessagesFrom(known int, log MessageLog) loop.Middleware {
	return logMessages(log, func(list []llm.Message) []llm.Message { return list[min(known, len(list)):] })
}

func logMessages(log MessageLog, isNew func(in []llm.Message) []llm.Message) loop.Middleware {
	return loop.Middleware{Name: "message_log", New: func(info loop.RunInfo) loop.Hooks {
		told, steps := 0, 0 // of what the run added
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

// newIn are the messages behind the last of an assistant.
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

// JSONLog is a MessageLog in a file: one line a message, its JSON.
type JSONLog struct {
	mu   sync.Mutex
	file *os.File
	err  error
}

// NewJSONLog makes a file for a log in a directory, which must be there. Its name is
// the time in UTC, as in 2000-01-31-09-05-59.jsonl, and a number more where there is
// such a file. A clock that is nil is the system's.
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

// Name is the path of the file.
func (l *JSONLog) Name() string { return l.file.Name() }

// Log appends a line, in one piece. The first error is that of all calls after it,
// so that no line stands behind one that is broken.
func (l *JSONLog) Log(m llm.Message) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.err == nil {
		_, l.err = l.file.Write(append(m.AppendJSON(nil), '\n'))
	}
	return l.err
}

// Close closes the file. The error is the first that a line met with, if there was
// one.
func (l *JSONLog) Close() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	return errors.Join(l.err, l.file.Close())
}
