// Package sqlite is a [store.Store] in a SQLite database. It is a module of its own, so that
// other users of looptape do not download SQLite. It uses modernc.org/sqlite, which needs no C compiler.
package sqlite

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"math"
	"net/url"
	"path/filepath"

	_ "modernc.org/sqlite" // the driver

	"github.com/looptape/looptape/loop/store"
)

// Store is a store in a database. Other stores, also in other processes, may use the database at the same
// time. A saved value is on disk when Save returns.
type Store struct{ db *sql.DB }

// schemaVersion is the user_version of a database with the table.
const schemaVersion = 1

// Open opens the database in a file, which must not be on a network file system. It creates the
// file with the default mode if it does not exist, but not its folder: other users can read the values
// unless the folder or the umask excludes them. The caller must close the store after use.
func Open(ctx context.Context, path string) (*Store, error) {
	if path == "" || path == ":memory:" {
		return nil, fmt.Errorf("sqlite: Open: the path %q is no file: use store.Memory for values in memory", path)
	}
	// An immediate transaction waits for other writers when it begins. A change to the write-ahead log would
	// not wait: it fails if another connection opens or closes the database.
	options := url.Values{"_txlock": {"immediate"}, "_pragma": {"busy_timeout(10000)", "synchronous(FULL)"}}
	address := url.URL{Scheme: "file", Opaque: (&url.URL{Path: filepath.ToSlash(path)}).EscapedPath(), RawQuery: options.Encode()}
	db, err := sql.Open("sqlite", address.String())
	if err == nil {
		if err = create(ctx, db); err != nil {
			err = errors.Join(err, db.Close())
		}
	}
	if err != nil {
		return nil, fmt.Errorf("sqlite: Open: %w", err)
	}
	return &Store{db}, nil
}

// create creates the table in a new database, and checks that of another one.
func create(ctx context.Context, db *sql.DB) error {
	return transaction(ctx, db, func(tx *sql.Tx) error {
		var version, tables, own int
		if err := tx.QueryRowContext(ctx, "PRAGMA user_version").Scan(&version); err != nil {
			return err
		}
		if err := tx.QueryRowContext(ctx, "SELECT count(*), count(*) FILTER (WHERE name = 'looptape_store') FROM sqlite_schema WHERE type = 'table'").Scan(&tables, &own); err != nil {
			return err
		}
		switch {
		case tables > 0 && own == 0:
			return errors.New("the database is of another application: use another file")
		case version == schemaVersion && own > 0:
			return nil
		case version != 0:
			return fmt.Errorf("the database has version %d, want %d: use another file", version, schemaVersion)
		}
		_, err := tx.ExecContext(ctx, fmt.Sprintf("CREATE TABLE looptape_store (key BLOB PRIMARY KEY, version INTEGER NOT NULL, value BLOB NOT NULL); PRAGMA user_version = %d", schemaVersion))
		return err
	})
}

func transaction(ctx context.Context, db *sql.DB, f func(tx *sql.Tx) error) error {
	tx, err := db.BeginTx(ctx, nil)
	if err != nil {
		return err
	}
	if err := f(tx); err != nil {
		return errors.Join(err, tx.Rollback())
	}
	return tx.Commit()
}

// Close closes the database.
func (s *Store) Close() error { return s.db.Close() }

// Load implements [store.Store].
func (s *Store) Load(ctx context.Context, key string) (value []byte, version int64, err error) {
	err = s.db.QueryRowContext(ctx, "SELECT value, version FROM looptape_store WHERE key = ?", []byte(key)).Scan(&value, &version)
	if errors.Is(err, sql.ErrNoRows) {
		return nil, 0, nil
	}
	if err != nil {
		return nil, 0, fmt.Errorf("sqlite: loading %q: %w", key, err)
	}
	return value, version, nil
}

// Save implements [store.Store].
func (s *Store) Save(ctx context.Context, key string, value []byte, version int64) (int64, error) {
	const (
		insert = "INSERT INTO looptape_store (key, version, value) VALUES (?1, ?2 + 1, ?3) ON CONFLICT DO NOTHING"
		update = "UPDATE looptape_store SET version = ?2 + 1, value = ?3 WHERE key = ?1 AND version = ?2"
	)
	if version == math.MaxInt64 {
		return 0, fmt.Errorf("sqlite: saving %q: the version is the last one: save the value under another key", key)
	}
	statement := update
	if version == 0 {
		statement = insert
	}
	err := transaction(ctx, s.db, func(tx *sql.Tx) error {
		res, err := tx.ExecContext(ctx, statement, []byte(key), version, append([]byte{}, value...))
		if err != nil {
			return err
		}
		switch n, err := res.RowsAffected(); {
		case err != nil:
			return err
		case n != 1:
			return store.ErrConflict
		default:
			return nil
		}
	})
	if err != nil {
		return 0, fmt.Errorf("sqlite: saving %q: %w", key, err)
	}
	return version + 1, nil
}
