package cli

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"github.com/looptape/looptape/cassettes"
	"github.com/looptape/looptape/cassettes/convert"
	"github.com/looptape/looptape/cassettes/recording"
	"github.com/looptape/looptape/internal/atomicfile"
	"github.com/looptape/looptape/loop/scenario"
	"github.com/looptape/looptape/trace/importer"
)

// Open opens a file, or standard input for "-", and shows its progress.
func (w *World) Open(name string) (io.ReadCloser, error) {
	m := w.NewMeter(name)
	if info, err := os.Stat(name); err == nil {
		m.Size = info.Size()
	}
	return m.Open(name)
}

// OpenRecording opens a recording, or its journal if there is no recording, and returns the name
// of the opened file.
func (m *Meter) OpenRecording(name string) (found string, f io.ReadCloser, err error) {
	f, err = m.Open(name)
	if errors.Is(err, fs.ErrNotExist) {
		journal := cassettes.JournalPath(name)
		if failed := atomicfile.CheckInput(journal, os.Stat); failed != nil {
			return name, nil, failed
		}
		if f, failed := m.Open(journal); failed == nil {
			return journal, f, nil
		}
	}
	return name, f, err
}

// ParseRecording reads a recording of HTTP. For a file in a format of recorded runs, the error names the
// format and the commands that read it.
func ParseRecording(name string, src []byte) (*convert.Recording, error) {
	rec, err := convert.Parse(name, src)
	if err == nil && rec.Invalid != nil {
		return nil, rec.Invalid
	}
	if err == nil || cassettes.IsCassette(src) {
		return rec, err
	}
	other, failed := importer.Open(name, bytes.NewReader(src))
	switch {
	case errors.Is(failed, importer.ErrEmpty):
		err = &recording.FormatError{File: name, Err: importer.ErrEmpty}
	case failed == nil && !other.Format.HTTP:
		use := "use looptape check, or create a scenario with looptape scenario from"
		switch other.Format.Name {
		case "rows":
			use = "use looptape eval"
		case "bodies", "stream":
			use = "use looptape check"
		}
		err = &recording.FormatError{File: name, Err: fmt.Errorf("not a recording of HTTP, but of the format %s: %s", other.Format.Name, use)}
	}
	return nil, err
}

// FolderError returns the error for a folder in the place of a file.
func FolderError(name string) error {
	return &fs.PathError{Op: "read", Path: name, Err: errors.New("is a folder: name the files in it")}
}

// Recording is a file with recorded runs.
type Recording struct {
	Name   string
	Open   func() (io.ReadCloser, error)
	Folder string // that the user named; empty if the user named the file
}

// Gather returns the named files and the files in the named folders, except hidden ones and those
// that are not regular, such as pipes. They share a progress bar.
func (w *World) Gather(names []string) (files []Recording, m *Meter, err error) {
	m = w.NewMeter("")
	add := func(name, folder string) {
		if info, err := os.Stat(name); err == nil {
			if folder != "" && !info.Mode().IsRegular() {
				w.Warn("%s: skipped: it is not a regular file", name)
				return
			}
			m.Size += info.Size()
		}
		files = append(files, Recording{name, func() (io.ReadCloser, error) { return m.Open(name) }, folder})
	}
	for _, name := range names {
		if info, err := os.Stat(name); err != nil || !info.IsDir() {
			add(name, "") // reading it reports the error
			continue
		}
		before := len(files)
		err := fs.WalkDir(os.DirFS(name), ".", func(path string, e fs.DirEntry, err error) error {
			hidden := path != "." && strings.HasPrefix(e.Name(), ".")
			switch {
			case err != nil:
				return err
			case hidden && e.IsDir():
				return fs.SkipDir
			case !hidden && !e.IsDir():
				add(filepath.Join(name, path), name)
			}
			return nil
		})
		if err == nil && len(files) == before {
			err = fmt.Errorf("%s: no file found in this folder", name)
		}
		if err != nil {
			return nil, nil, err
		}
	}
	m.Name = Count(len(files), "file")
	return files, m, nil
}

// ReadAll reads a whole file.
func (w *World) ReadAll(name string) ([]byte, error) {
	f, err := w.Open(name)
	if err != nil {
		return nil, err
	}
	text, err := io.ReadAll(f)
	return text, errors.Join(err, f.Close())
}

// ReadScenario reads a scenario file and returns its text as well.
func (w *World) ReadScenario(name string) (src []byte, f *scenario.File, err error) {
	if src, err = w.ReadAll(name); err == nil {
		f, err = scenario.Parse(name, src)
	}
	return src, f, err
}

// Output replaces a file with what write writes. If the name is empty or that of standard output,
// it calls write with standard output.
func (w *World) Output(name string, write func(io.Writer) error) error {
	if name == "" || w.isOut(name) {
		return write(w.Out)
	}
	var text bytes.Buffer
	if err := write(&text); err != nil {
		return err
	}
	return cassettes.Replace(name, text.Bytes())
}

// CheckOutputs returns an error if a file cannot be replaced. It changes none of them. Commands call
// it before their work; see [OutputFlag].
func (w *World) CheckOutputs(names ...string) error {
	for _, name := range names {
		if name == "" || w.isOut(name) {
			continue
		}
		if err := atomicfile.Check(name); err != nil {
			return err
		}
		if _, err := atomicfile.RandomName(atomicfile.Target(name)); err != nil {
			if temporary, ok := errors.AsType[*fs.PathError](err); ok {
				err = temporary.Err
			}
			return fmt.Errorf("%s: no file can be created in its folder: %w", name, err)
		}
	}
	return nil
}

// outFile describes the file of standard output; ok is false if it is not known.
func (w *World) outFile() (info fs.FileInfo, ok bool) {
	f, ok := w.Out.(*os.File)
	if !ok {
		return nil, false
	}
	info, err := f.Stat()
	return info, err == nil
}

// isOut reports whether name is the file of standard output.
func (w *World) isOut(name string) bool {
	out, ok := w.outFile()
	info, err := os.Stat(name)
	return ok && err == nil && os.SameFile(out, info)
}

// Meter shows the progress of reading files on a terminal, from the second second on. It is safe
// for concurrent use.
type Meter struct {
	Name string // of the files
	Size int64  // of all files

	world *World
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

// NewMeter returns a meter of files.
func (w *World) NewMeter(name string) *Meter { return &Meter{Name: name, world: w, start: w.Now()} }

// Open opens one of the files, or standard input for "-".
func (m *Meter) Open(name string) (io.ReadCloser, error) {
	if name == "-" {
		return io.NopCloser(m.world.In), nil
	}
	f, err := os.Open(name)
	if err != nil {
		return nil, err
	}
	info, err := f.Stat()
	if err == nil && info.IsDir() {
		err = FolderError(name)
	}
	if err != nil {
		return nil, errors.Join(err, f.Close())
	}
	if !m.world.ErrTerminal {
		return f, nil
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	m.files++
	return &progress{f, m, info.Size()}, nil
}

// progress is a file with a progress bar.
type progress struct {
	*os.File
	meter *Meter
	left  int64 // bytes that were not read
}

func (p *progress) Read(b []byte) (int, error) {
	n, err := p.File.Read(b)
	p.left -= int64(n)
	m := p.meter
	m.mu.Lock()
	defer m.mu.Unlock()
	m.done += int64(n)
	if now := m.world.Now(); now.Sub(m.start) >= progressAfter && now.Sub(m.shown) >= progressEvery {
		m.shown = now
		_, _ = io.WriteString(m.world.Err, "\r"+bar(m.done, m.Size)+" "+m.Name+"\x1b[K")
	}
	return n, err
}

// Close clears the bar after the last file. The unread rest of a file counts as done.
func (p *progress) Close() error {
	m := p.meter
	m.mu.Lock()
	defer m.mu.Unlock()
	m.done += p.left
	if m.files--; m.files == 0 && !m.shown.IsZero() {
		m.shown = time.Time{}
		_, _ = io.WriteString(m.world.Err, "\r\x1b[K")
	}
	return p.File.Close()
}

// bar draws the share done of size.
func bar(done, size int64) string {
	share := 1.0
	if size > 0 {
		share = min(1, float64(done)/float64(size))
	}
	b := bytes.Repeat([]byte("."), barWidth)
	for i := range b {
		if float64(i) < share*barWidth {
			b[i] = '#'
		}
	}
	return fmt.Sprintf("[%s] %3.0f %%", b, 100*share)
}
