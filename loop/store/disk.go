package store

import (
	"bufio"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"

	"github.com/looptape/looptape/internal/atomicfile"
	"github.com/looptape/looptape/internal/lockfile"
)

// Disk is a store in a folder, with one file for each key. A save writes a new file, waits until it is
// on disk and renames it. Processes that use the folder wait for each other; on systems that
// cannot lock files only one process may use it. A Disk has nothing to close.
//
// The first line of a file has the version, the size and the key, and the value follows. Who removes
// the file of a key makes it unknown. Only the current user may read the files.
type Disk struct {
	// Dir is the folder, which must be set. The first operation creates it, for the current user only, if it does
	// not exist.
	Dir string

	once sync.Once
	turn chan struct{} // has an element while an operation of this Disk has the lock or waits for it
}

// Names in the folder of a Disk.
const (
	lockName    = "lock"
	valueSuffix = ".value"
	newSuffix   = ".new" // of a file that is not complete; the next save of the key replaces it
)

// Load implements [Store].
func (d *Disk) Load(ctx context.Context, key string) (value []byte, version int64, err error) {
	err = d.locked(ctx, func() error {
		value, version, err = d.read(key)
		return err
	})
	if err != nil {
		return nil, 0, failed("loading", key, err)
	}
	return value, version, nil
}

// Save implements [Store].
func (d *Disk) Save(ctx context.Context, key string, value []byte, version int64) (saved int64, err error) {
	err = d.locked(ctx, func() error {
		switch _, stored, err := d.read(key); {
		case err != nil:
			return err
		case version == math.MaxInt64:
			return errLastVersion
		case stored != version:
			return ErrConflict
		}
		return atomicfile.Replace(d.path(key), atomicfile.Private, newName, func(w io.Writer) error {
			_, err := fmt.Fprintf(w, headFormat, version+1, len(value), strconv.QuoteToASCII(key))
			if err == nil {
				_, err = w.Write(value)
			}
			return err
		})
	})
	if err != nil {
		return 0, failed("saving", key, err)
	}
	return version + 1, nil
}

// headFormat is the first line of a file.
const headFormat = "looptape-store 1 %d %d %s\n"

// newName returns the name for a new file. A killed process may have left one there; the lock makes
// sure that no process writes to it now.
func newName(path string) (string, error) {
	if err := os.Remove(path + newSuffix); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return "", err
	}
	return path + newSuffix, nil
}

// read returns the value and the version of a key.
func (d *Disk) read(key string) ([]byte, int64, error) {
	f, err := os.Open(d.path(key))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, 0, nil
	} else if err != nil {
		return nil, 0, err
	}
	defer f.Close() //nolint:errcheck // it was only read
	r := bufio.NewReader(f)
	head, err := r.ReadString('\n')
	if err != nil && !errors.Is(err, io.EOF) {
		return nil, 0, err
	}
	var version, size int64
	if fields := strings.SplitN(head, " ", 5); len(fields) == 5 {
		version, _ = strconv.ParseInt(fields[2], 10, 64) // 0 is invalid
		size, _ = strconv.ParseInt(fields[3], 10, 64)    // the comparison fails
	}
	if version < 1 || head != fmt.Sprintf(headFormat, version, size, strconv.QuoteToASCII(key)) {
		return nil, 0, fmt.Errorf("%s has another first line than a value of this key: remove it, or replace it by a backup", f.Name())
	}
	value, err := io.ReadAll(r)
	if err == nil && int64(len(value)) != size {
		err = fmt.Errorf("%s has %d bytes of the value, want %d: remove it, or replace it by a backup", f.Name(), len(value), size)
	}
	return value, version, err
}

// path returns the file of a key: a readable part that is safe on any system, and a hash.
func (d *Disk) path(key string) string {
	hash := sha256.Sum256([]byte(key))
	readable := strings.Map(func(r rune) rune {
		if r >= 'a' && r <= 'z' || r >= '0' && r <= '9' || r == '-' {
			return r
		}
		return '_'
	}, strings.ToLower(key[:min(len(key), 40)]))
	return filepath.Join(d.Dir, readable+"-"+hex.EncodeToString(hash[:16])+valueSuffix)
}

// locked calls f while no other operation uses the folder.
func (d *Disk) locked(ctx context.Context, f func() error) error {
	if d.Dir == "" {
		return errors.New("missing folder: set Disk.Dir")
	}
	if err := ctx.Err(); err != nil {
		return err
	}
	d.once.Do(func() { d.turn = make(chan struct{}, 1) })
	select {
	case d.turn <- struct{}{}:
	case <-ctx.Done():
		return ctx.Err()
	}
	lock, err := d.openLock()
	if err != nil {
		<-d.turn
		return err
	}
	release := func() error {
		defer func() { <-d.turn }()
		return lock.Close()
	}
	if lockfile.Lock(lock) == nil {
		return errors.Join(f(), release())
	}
	waited := make(chan error, 1)
	go func() { waited <- lockfile.Wait(lock) }()
	select {
	case err := <-waited:
		if err == nil {
			err = f()
		}
		return errors.Join(err, release())
	case <-ctx.Done():
		go func() {
			<-waited      //nolint:errcheck // the lock is released next
			_ = release() // nothing was written
		}()
		return ctx.Err()
	}
}

// openLock opens the lock of the folder. It creates both if they do not exist.
func (d *Disk) openLock() (*os.File, error) {
	name := filepath.Join(d.Dir, lockName)
	lock, err := atomicfile.Open(name, os.O_CREATE, atomicfile.Private)
	if !errors.Is(err, fs.ErrNotExist) {
		return lock, err
	}
	known := atomicfile.ExistingFolder(d.Dir)
	if err := os.MkdirAll(d.Dir, 0o700); err != nil {
		return nil, err
	}
	if err := atomicfile.SyncFolders(d.Dir, known); err != nil {
		return nil, err
	}
	return atomicfile.Open(name, os.O_CREATE, atomicfile.Private)
}
