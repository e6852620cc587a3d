package middleware

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"slices"
	"strconv"
	"sync"

	"github.com/looptape/looptape/llm"
	"github.com/looptape/looptape/loop"
	"github.com/looptape/looptape/loop/store"
)

// LogMessages logs each new message of a run once, in order: those of the input after the last
// assistant message, and those that each step adds. An error or a panic of log does not affect
// the run, and log still receives later messages. It must be safe for concurrent use. For runs that are resumed,
// LogMessages must come before middleware that replaces the history.
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
				_ = log(llm.Message{Role: m.Role, Parts: slices.Clone(m.Parts), Opaque: m.Opaque}) // log may change its copy
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
				if given := len(info.Input.Messages); s.Step == 0 && info.Input.Resume != nil && len(s.History()) > given {
					before := s.History()[given:] // the results of the pending calls
					logged += len(before)
					logAll(before)
				}
				for ; steps < len(s.Steps); steps++ {
					logged += len(s.Steps[steps].Messages)
					logAll(s.Steps[steps].Messages)
				}
				return c, nil
			},
			End: func(_ context.Context, res loop.Result) (loop.Result, error) {
				logAll(res.Messages[min(logged, len(res.Messages)):]) // other middleware may have removed some
				return res, nil
			},
		}
	}}
}

// JSONLog writes messages to a file, one JSON object per line. Its method Log is the argument
// of [LogMessages]. It is safe for use by many goroutines.
type JSONLog struct {
	mu   sync.Mutex
	file namedFile
	err  error
}

// namedFile is an *os.File.
type namedFile interface {
	io.WriteCloser
	Name() string
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

// StoreLog appends messages to those that a store has under its name, each under its own key: the name of
// the log, a slash and the number of the message, from 0. Its method Log is the argument of [LogMessages].
// The messages of a step are stored before the next step begins, so another process can continue a run
// that was killed with the messages of its log. It is safe for use by many goroutines.
type StoreLog struct {
	Store store.Store
	Name  string

	mu     sync.Mutex
	known  bool // logged is set
	logged int
	err    error
}

// Load returns the messages of the log; an unknown log has none. Log then appends to them.
func (l *StoreLog) Load(ctx context.Context) (messages []llm.Message, err error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if messages, err = l.load(ctx); err != nil {
		return nil, fmt.Errorf("middleware: StoreLog.Load: %w", err)
	}
	l.err = nil
	return messages, nil
}

// load returns the messages of the log and sets their number.
func (l *StoreLog) load(ctx context.Context) (messages []llm.Message, err error) {
	for {
		m, found, err := l.document(len(messages)).Load(ctx)
		if err != nil {
			return nil, err
		}
		if !found {
			l.known, l.logged = true, len(messages)
			return messages, nil
		}
		messages = append(messages, m)
	}
}

// document returns the document of a message.
func (l *StoreLog) document(n int) *store.Document[llm.Message] {
	return &store.Document[llm.Message]{Store: l.Store, Key: l.Name + "/" + strconv.Itoa(n), Format: "looptape-message", FormatVersion: 1}
}

// Log stores a message, also if the run is canceled. The first call finds the end of the log, unless Load
// has returned its messages. After an error, all calls until Load return the same error, so no message
// is missing before a later one. The error wraps [store.ErrConflict] if another writer has added
// messages since the first call or Load.
func (l *StoreLog) Log(m llm.Message) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.err == nil {
		if err := l.append(context.Background(), m); err != nil {
			l.err = fmt.Errorf("middleware: StoreLog.Log: %w", err)
		}
	}
	return l.err
}

// append stores a message after those of the log.
func (l *StoreLog) append(ctx context.Context, m llm.Message) error {
	if !l.known {
		if _, err := l.load(ctx); err != nil {
			return err
		}
	}
	if err := l.document(l.logged).Save(ctx, m); err != nil {
		return err
	}
	l.logged++
	return nil
}

// Err returns the first error of Log since Load. A run does not report it.
func (l *StoreLog) Err() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.err
}
