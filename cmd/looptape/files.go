package main

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"time"
)

// openFile opens a file, or standard input for "-", and shows its progress.
func (w *world) openFile(name string) (io.ReadCloser, error) {
	if name == "-" {
		return io.NopCloser(w.in), nil
	}
	f, err := os.Open(name)
	if err != nil {
		return nil, err
	}
	info, err := f.Stat()
	if err == nil && info.IsDir() {
		err = &fs.PathError{Op: "read", Path: name, Err: errors.New("it is a folder; name the files in it")}
	}
	if err != nil {
		return nil, closeAfter(f, err)
	}
	if !w.errTerm {
		return f, nil
	}
	return &progress{File: f, w: w, size: info.Size(), start: w.now()}, nil
}

// closeAfter closes f and returns the error that came first.
func closeAfter(f io.Closer, err error) error {
	if cerr := f.Close(); err == nil {
		err = cerr
	}
	return err
}

// progress shows on a terminal how much of a file has been read, once that
// takes longer than a second.
type progress struct {
	*os.File
	w          *world
	size, done int64
	start      time.Time
	shown      time.Time
}

const (
	progressAfter = time.Second
	progressEvery = 100 * time.Millisecond
	barWidth      = 30
)

func (p *progress) Read(b []byte) (int, error) {
	n, err := p.File.Read(b)
	p.done += int64(n)
	if now := p.w.now(); now.Sub(p.start) >= progressAfter && now.Sub(p.shown) >= progressEvery {
		p.shown = now
		_, _ = io.WriteString(p.w.err, "\r"+bar(p.done, p.size)+" "+p.Name()+"\x1b[K")
	}
	return n, err
}

// Close clears the bar away.
func (p *progress) Close() error {
	if !p.shown.IsZero() {
		_, _ = io.WriteString(p.w.err, "\r\x1b[K")
	}
	return p.File.Close()
}

// bar draws how much of size is done.
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
