package sqlite_test

import (
	"context"
	"database/sql"
	"errors"
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"go.uber.org/goleak"

	"github.com/looptape/looptape/contrib/sqlite"
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
