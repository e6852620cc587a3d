package storetest

import (
	"bytes"
	"context"
	"flag"
	"fmt"
	"maps"
	"math"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/looptape/looptape/loop/store"
)

// changed is a store with another Load or Save.
type changed struct {
	store.Store
	load func(s store.Store, ctx context.Context, key string) ([]byte, int64, error)
	save func(s store.Store, ctx context.Context, key string, value []byte, version int64) (int64, error)
}

func (c changed) Load(ctx context.Context, key string) ([]byte, int64, error) {
	if c.load == nil {
		return c.Store.Load(ctx, key)
	}
	return c.load(c.Store, ctx, key)
}

func (c changed) Save(ctx context.Context, key string, value []byte, version int64) (int64, error) {
	if c.save == nil {
		return c.Store.Save(ctx, key, value, version)
	}
	return c.save(c.Store, ctx, key, value, version)
}

// onDisk opens a store in a folder with a changed method.
func onDisk(c changed) func(dir string) (store.Store, error) {
	return func(dir string) (store.Store, error) {
		c := c
		c.Store = &store.Disk{Dir: dir}
		return c, nil
	}
}

// oneValue is a store for one key that copies its value when it is saved and loaded, or not.
type oneValue struct {
	saved, loaded func([]byte) []byte
	value         []byte
	version       int64
}

func (o *oneValue) Load(context.Context, string) ([]byte, int64, error) {
	return o.loaded(o.value), o.version, nil
}

func (o *oneValue) Save(_ context.Context, _ string, value []byte, version int64) (int64, error) {
	o.value, o.version = o.saved(value), version+1
	return o.version, nil
}

func same(b []byte) []byte { return b }

// broken are stores that violate the contract, and the case that must report it.
var broken = map[string]struct {
	in    string
	suite Suite
}{
	"a save ignores the version": {"conflict", Suite{Open: onDisk(changed{save: func(s store.Store, ctx context.Context, key string, value []byte, _ int64) (int64, error) {
		for {
			_, version, err := s.Load(ctx, key)
			if err != nil {
				return 0, err
			}
			if version, err = s.Save(ctx, key, value, version); err == nil {
				return version, nil
			}
		}
	}})}},
	"a conflict loses a change silently": {"retries", Suite{Open: onDisk(changed{save: func(s store.Store, ctx context.Context, key string, value []byte, version int64) (int64, error) {
		saved, err := s.Save(ctx, key, value, version)
		if err != nil && ctx.Err() == nil {
			return version + 1, nil
		}
		return saved, err
	}})}},
	"versions overflow": {"versions", Suite{Open: onDisk(changed{save: func(s store.Store, ctx context.Context, key string, value []byte, version int64) (int64, error) {
		return s.Save(ctx, key, value, version&math.MaxInt32)
	}})}},
	"keys differ in case only": {"values", Suite{Open: onDisk(changed{
		load: func(s store.Store, ctx context.Context, key string) ([]byte, int64, error) {
			return s.Load(ctx, strings.ToLower(key))
		},
		save: func(s store.Store, ctx context.Context, key string, value []byte, version int64) (int64, error) {
			return s.Save(ctx, strings.ToLower(key), value, version)
		},
	})}},
	"values are text": {"values", Suite{Open: onDisk(changed{save: func(s store.Store, ctx context.Context, key string, value []byte, version int64) (int64, error) {
		return s.Save(ctx, key, bytes.ToValidUTF8(value, []byte("?")), version)
	}})}},
	"a save keeps the value": {"ownership", Suite{Open: func(string) (store.Store, error) {
		return &oneValue{saved: same, loaded: bytes.Clone}, nil
	}}},
	"a load returns the stored value": {"ownership", Suite{Open: func(string) (store.Store, error) {
		return &oneValue{saved: bytes.Clone, loaded: same}, nil
	}}},
	"contexts are ignored": {"canceled", Suite{Open: func(string) (store.Store, error) {
		return &oneValue{saved: bytes.Clone, loaded: bytes.Clone}, nil
	}}},
	"values stay in memory": {"reopened", Suite{Open: func(string) (store.Store, error) { return new(store.Memory), nil }}},
	"values are not shared": {"stores", Suite{Open: func(string) (store.Store, error) { return new(store.Memory), nil }}},
	"processes have a store each": {"processes", Suite{Open: func(dir string) (store.Store, error) {
		return &store.Disk{Dir: filepath.Join(dir, fmt.Sprint(os.Getpid()))}, nil
	}}},
	"a message is lost": {"killed run", Suite{Open: onDisk(changed{save: func(s store.Store, ctx context.Context, key string, value []byte, version int64) (int64, error) {
		if key == logName+"/2" {
			return version + 1, nil
		}
		return s.Save(ctx, key, value, version)
	}})}},
	"the state of a run is changed": {"suspended run", Suite{Open: onDisk(changed{save: func(s store.Store, ctx context.Context, key string, value []byte, version int64) (int64, error) {
		return s.Save(ctx, key, bytes.ReplaceAll(value, []byte("70 euros"), []byte("71 euros")), version)
	}})}},
	"a save reports success before it is done": {"kills", Suite{Kills: 8, Open: onDisk(changed{save: func(s store.Store, ctx context.Context, key string, value []byte, version int64) (int64, error) {
		go s.Save(ctx, key, value, version) //nolint:errcheck // this is the fault
		return version + 1, nil
	}})}},
	"a save writes into the file": {"kills", Suite{Kills: 40, Open: func(dir string) (store.Store, error) { return overwrites(dir), nil }}},
}

// overwrites is the folder of a store that overwrites its only file.
type overwrites string

func (o overwrites) Load(context.Context, string) ([]byte, int64, error) {
	value, err := os.ReadFile(filepath.Join(string(o), "f"))
	if os.IsNotExist(err) {
		return nil, 0, nil
	}
	return value, 1, err
}

func (o overwrites) Save(_ context.Context, _ string, value []byte, version int64) (int64, error) {
	f, err := os.Create(filepath.Join(string(o), "f"))
	if err != nil {
		return 0, err
	}
	for part := range slices.Chunk(value, 500) {
		if _, err := f.Write(part); err != nil {
			return 0, err
		}
	}
	return version + 1, f.Close()
}

// recorder is a reporter that keeps the failures.
type recorder struct {
	*testing.T
	failures []string
}

func (r *recorder) Errorf(format string, args ...any) {
	r.failures = append(r.failures, fmt.Sprintf(format, args...))
}

func (r *recorder) Error(args ...any) { r.failures = append(r.failures, fmt.Sprint(args...)) }
func (r *recorder) Failed() bool      { return len(r.failures) > 0 }
func (r *recorder) Fail()             { r.Error("failed") }
func (r *recorder) FailNow()          { r.Fail(); runtime.Goexit() }

func (r *recorder) Fatal(args ...any) { r.Error(args...); runtime.Goexit() }
func (r *recorder) Fatalf(format string, args ...any) {
	r.Errorf(format, args...)
	runtime.Goexit()
}

// Each broken store violates the contract in its case.
func TestBroken(t *testing.T) {
	if role, arguments := childRole(); role != "" {
		broken[arguments[len(arguments)-1]].suite.child(t, role, arguments)
	}
	if err := flag.Set("rapid.nofailfile", "true"); err != nil {
		t.Fatal(err)
	}
	for _, name := range slices.Sorted(maps.Keys(broken)) {
		b := broken[name]
		t.Run(name, func(t *testing.T) {
			r := &recorder{T: t}
			w := &world{reporter: r, suite: b.suite, dir: t.TempDir(), name: name}
			done := make(chan struct{})
			go func() {
				defer close(done)
				w.start(cases[slices.IndexFunc(cases, func(c testcase) bool { return c.name == b.in })])
			}()
			<-done
			if !r.Failed() {
				t.Errorf("the case %q reports nothing", b.in)
			}
			t.Log(strings.Join(r.failures, "\n"))
		})
	}
}
