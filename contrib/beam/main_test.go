package evalbeam_test

import (
	"context"
	"flag"
	"fmt"
	"io"
	"log/slog"
	"os"
	"sync"
	"testing"

	"github.com/apache/beam/sdks/v2/go/pkg/beam"
	"github.com/apache/beam/sdks/v2/go/pkg/beam/io/filesystem"

	"github.com/looptape/looptape/contrib/beam"
)

// TestMain readies Beam as a program has to, and takes away the files that its runner
// leaves in the folder of temporary files.
func TestMain(m *testing.M) {
	flag.Parse()
	filesystem.Register("together", func(context.Context) filesystem.Interface { return &meeting })
	evalbeam.Register()
	beam.Init()
	slog.SetDefault(slog.New(slog.DiscardHandler)) // the runner logs each error five times
	os.Exit(tidily(m))
}

func tidily(m *testing.M) int {
	dir, err := os.MkdirTemp("", "evalbeam")
	if err == nil {
		err = os.Setenv("TMPDIR", dir)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 2
	}
	status := m.Run()
	if err := os.RemoveAll(dir); err != nil {
		fmt.Fprintln(os.Stderr, err)
	}
	return status
}

// meeting is the filesystem of the scheme together.
var meeting togetherFS

// togetherFS is a filesystem whose files can only be opened by several readers concurrently.
type togetherFS struct {
	filesystem.Interface // which nothing else is asked of

	mu      sync.Mutex
	text    string // of each file
	missing int    // readers to wait for
	met     chan struct{}
}

// expect makes the readers wait for this number of readers.
func (f *togetherFS) expect(readers int, text string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.text, f.missing, f.met = text, readers, make(chan struct{})
}

// OpenRead waits until there are enough readers, for ever if they come one by one.
func (f *togetherFS) OpenRead(ctx context.Context, name string) (io.ReadCloser, error) {
	f.mu.Lock()
	if f.missing--; f.missing == 0 {
		close(f.met)
	}
	met, text := f.met, f.text
	f.mu.Unlock()
	select {
	case <-met:
		return io.NopCloser(named(text, name)), nil
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

func (f *togetherFS) Close() error { return nil }
