package main

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"sync"
	"time"

	"github.com/looptape/looptape/cassettes"
)

// openFile opens a file, or standard input for "-", and shows its progress.
func (w *world) openFile(name string) (io.ReadCloser, error) {
	m := &meter{w: w, name: name, start: w.now()}
	if info, err := os.Stat(name); err == nil {
		m.size = info.Size()
	}
	return m.open(name)
}

// closeAfter closes f and returns the error that came first.
func closeAfter(f io.Closer, err error) error {
	if cerr := f.Close(); err == nil {
		err = cerr
	}
	return err
}

// replaceWith replaces a file with the written content.
func replaceWith(name string, write func(io.Writer) error) error {
	var text bytes.Buffer
	if err := write(&text); err != nil {
		return err
	}
	return cassettes.Replace(name, text.Bytes())
}

// meter shows the progress of reading files on a terminal, from the second second on. It is
// safe for concurrent use.
type meter struct {
	w     *world
	name  string // of what is read
	size  int64  // of all of it
	start time.Time

	mu    sync.Mutex
	files int // that are open
	done  int64
	shown time.Time
}

const (
	progressAfter = time.Second
	progressEvery = 100 * time.Millisecond
	barWidth      = 30
)

// open opens one of the files, or standard input for "-".
func (m *meter) open(name string) (io.ReadCloser, error) {
	if name == "-" {
		return io.NopCloser(m.w.in), nil
	}
	f, err := os.Open(name)
	if err != nil {
		return nil, err
	}
	info, err := f.Stat()
	if err == nil && info.IsDir() {
		err = &fs.PathError{Op: "read", Path: name, Err: errors.New("is a folder: name the files in it")}
	}
	if err != nil {
		return nil, closeAfter(f, err)
	}
	if !m.w.errTerm {
		return f, nil
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	m.files++
	return &progress{f, m, info.Size()}, nil
}

// add records n bytes read.
func (m *meter) add(n int) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.done += int64(n)
	if now := m.w.now(); now.Sub(m.start) >= progressAfter && now.Sub(m.shown) >= progressEvery {
		m.shown = now
		_, _ = io.WriteString(m.w.err, "\r"+bar(m.done, m.size)+" "+m.name+"\x1b[K")
	}
}

// close records the end of a file with left unread bytes. It clears the bar after the last
// file.
func (m *meter) close(left int64) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.done += left
	if m.files--; m.files == 0 && !m.shown.IsZero() {
		m.shown = time.Time{}
		_, _ = io.WriteString(m.w.err, "\r\x1b[K")
	}
}

// progress is a file with a progress bar.
type progress struct {
	*os.File
	meter *meter
	left  int64 // bytes that were not read
}

func (p *progress) Read(b []byte) (int, error) {
	n, err := p.File.Read(b)
	p.left -= int64(n)
	p.meter.add(n)
	return n, err
}

// Close also clears the bar.
func (p *progress) Close() error {
	p.meter.close(p.left)
	return p.File.Close()
}

// bar draws the share done of size.
func bar(done, size int64) string {
	share := 1.0
	if size > 0 {
		share = min(1, float64(done)/float64(size))
	}
	b := make([]byte, barWidth)
	for i := range b {
		b[i] = '.'
		if float64(i) < share*barWidth {
			b[i] = '#'
		}
	}
	return fmt.Sprintf("[%s] %3.0f %%", b, 100*share)
}
