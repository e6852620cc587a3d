package sqlite_test

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"go.uber.org/goleak"

	"github.com/looptape/looptape/contrib/sqlite"
	"github.com/looptape/looptape/fake"
	"github.com/looptape/looptape/llm"
	"github.com/looptape/looptape/loop"
	"github.com/looptape/looptape/loop/preset/reactagent"
	"github.com/looptape/looptape/loop/store"
	"github.com/looptape/looptape/loop/store/storetest"
)

// kills is the number of processes that are killed in the middle of a save; the flag -kills sets it.
var kills = flag.Int("kills", 5, "how many processes are killed in the middle of a save")

// TestMain checks that no goroutine outlives the tests.
func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func TestStore(t *testing.T) {
	storetest.Suite{Kills: *kills, Open: func(dir string) (store.Store, error) {
		return sqlite.Open(context.Background(), filepath.Join(dir, "store ? #%.db"))
	}}.Test(t)
}

// RA-85: a thread of an earlier process, which has closed the database, continues as one in memory does.
func TestThread(t *testing.T) {
	opaque := json.RawMessage(`{"signature":"<é&>"}`)
	calls := fake.Response{Events: []llm.Event{
		llm.PartDone{Part: llm.Reasoning{Text: "hm", Opaque: opaque}},
		llm.PartDone{Part: llm.ToolCall{ID: "c1", Name: "a", Arguments: `{"n": 1.0}`, Opaque: opaque}},
		llm.Finish{Reason: llm.FinishToolCalls},
	}}
	tool := loop.Tool{Name: "a", Run: func(context.Context, loop.Call) (loop.Output, error) { return loop.TextOutput("A"), nil }}
	path := filepath.Join(t.TempDir(), "s.db")
	open := func() *sqlite.Store {
		s, err := sqlite.Open(t.Context(), path)
		if err != nil {
			t.Fatal(err)
		}
		return s
	}
	last := func(s store.Store, more ...fake.Response) (messages string) {
		model := fake.NewModel(append(more, fake.Response{Text: "done"})...)
		a, err := reactagent.New(model, &reactagent.Config{Memory: &reactagent.Memory{Store: s}, Config: loop.Config{Tools: []loop.Tool{tool}}})
		if err != nil {
			t.Fatal(err)
		}
		if !a.Run(t.Context(), []llm.Message{llm.User("go")}, "t", nil) {
			t.Error("the run failed")
		}
		requests := model.Requests()
		for _, m := range requests[len(requests)-1].Messages {
			messages += string(m.AppendJSON(nil)) + "\n"
		}
		return messages
	}
	memory := new(store.Memory)
	for _, more := range [][]fake.Response{{calls}, nil, nil} {
		s := open()
		want, got := last(memory, more...), last(s, more...)
		if err := s.Close(); err != nil {
			t.Error(err)
		}
		if got != want || !strings.Contains(got, string(opaque)) {
			t.Errorf("the request has\n%swant\n%s", got, want)
		}
	}
}

// Several stores open a new database at the same time.
func TestOpenConcurrently(t *testing.T) {
	path := filepath.Join(t.TempDir(), "s.db")
	const n = 8
	opened := make(chan error, n)
	for range n {
		go func() {
			s, err := sqlite.Open(t.Context(), path)
			if err == nil {
				err = s.Close()
			}
			opened <- err
		}()
	}
	for range n {
		if err := <-opened; err != nil {
			t.Error(err)
		}
	}
}

// Open returns an error for a database of another version, for a file that is not a database, and
// for a folder that does not exist.
func TestOpenErrors(t *testing.T) {
	dir := t.TempDir()
	newer := filepath.Join(dir, "newer.db")
	db, err := sql.Open("sqlite", newer)
	if err == nil {
		_, err = db.ExecContext(t.Context(), "PRAGMA user_version = 7")
		err = errors.Join(err, db.Close())
	}
	if err != nil {
		t.Fatal(err)
	}
	other := filepath.Join(dir, "other.db")
	db, err = sql.Open("sqlite", other)
	if err == nil {
		_, err = db.ExecContext(t.Context(), "CREATE TABLE notes (text TEXT)")
		err = errors.Join(err, db.Close())
	}
	if err != nil {
		t.Fatal(err)
	}
	text := filepath.Join(dir, "text")
	if err := os.WriteFile(text, []byte(strings.Repeat("text ", 1000)), 0o600); err != nil {
		t.Fatal(err)
	}
	for path, want := range map[string]string{
		other:                            "sqlite: Open: the database is of another application: use another file",
		"":                               `sqlite: Open: the path "" is no file`,
		":memory:":                       `sqlite: Open: the path ":memory:" is no file`,
		newer:                            "sqlite: Open: the database has version 7, want 1: use another file",
		text:                             "sqlite: Open: file is not a database",
		filepath.Join(dir, "none", "db"): "sqlite: Open: unable to open database file",
	} {
		s, err := sqlite.Open(t.Context(), path)
		if err == nil {
			err = s.Close()
		}
		if err == nil || !strings.HasPrefix(err.Error(), want) {
			t.Errorf("Open(%q): got %v, want %s", filepath.Base(path), err, want)
		}
	}
}
