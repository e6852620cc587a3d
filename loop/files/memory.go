package files

import (
	"cmp"
	"io/fs"
	"maps"
	"path"
	"slices"
	"strings"
	"sync"
)

// State is a set of files as a value that serves as input and output of a run. Its JSON is an
// object.
type State struct {
	Files map[string]string `json:"files,omitempty"` // texts by path
	Dirs  []string          `json:"dirs,omitempty"`  // empty directories
}

// Memory is a [Backend] in memory. Its zero value has no files.
type Memory struct {
	mu    sync.Mutex
	files map[string]string
	dirs  map[string]bool // all except the root
}

// NewMemory returns a Memory with a copy of the files of a State. It returns an error if a
// path or a string is invalid.
func NewMemory(s State) (*Memory, error) {
	m := &Memory{}
	for _, name := range slices.Sorted(maps.Keys(s.Files)) {
		if err := m.Write(name, s.Files[name]); err != nil {
			return nil, err
		}
	}
	for _, dir := range s.Dirs {
		if err := m.Mkdir(dir); err != nil {
			return nil, err
		}
	}
	return m, nil
}

// State returns a copy of the files. Equal files have equal States.
func (m *Memory) State() State {
	m.mu.Lock()
	defer m.mu.Unlock()
	s := State{Files: maps.Clone(m.files)}
	for _, dir := range slices.Sorted(maps.Keys(m.dirs)) {
		if list, _ := m.list(dir); list == nil {
			s.Dirs = append(s.Dirs, dir)
		}
	}
	return s
}

// List implements Backend.
func (m *Memory) List(dir string) ([]Entry, error) { return list(&m.mu, m, dir) }

// Read implements Backend.
func (m *Memory) Read(name string) (string, error) { return read(&m.mu, m, name) }

// Write implements Backend.
func (m *Memory) Write(name, text string) error { return write(&m.mu, m, name, text) }

// Edit implements Backend.
func (m *Memory) Edit(name string, change func(text string) (string, error)) error {
	return edit(&m.mu, m, name, change)
}

// Mkdir implements Backend.
func (m *Memory) Mkdir(dir string) error { return do(&m.mu, "mkdir", dir, clean, m.mkdir) }

func (m *Memory) isDir(p string) error {
	for at := p; at != "."; at = path.Dir(at) {
		if _, file := m.files[at]; file {
			return ErrNotDir
		}
	}
	if p != "." && !m.dirs[p] {
		return fs.ErrNotExist
	}
	return nil
}

func (m *Memory) list(dir string) ([]Entry, error) {
	if err := m.isDir(dir); err != nil {
		return nil, err
	}
	var list []Entry
	for name, text := range m.files {
		if path.Dir(name) == dir {
			list = append(list, Entry{Name: path.Base(name), Size: int64(len(text))})
		}
	}
	for name := range m.dirs {
		if path.Dir(name) == dir {
			list = append(list, Entry{Name: path.Base(name), Dir: true})
		}
	}
	return list, nil
}

func (m *Memory) read(p string) (string, error) {
	text, ok := m.files[p]
	if ok {
		return text, nil
	}
	return "", cmp.Or(m.isDir(p), ErrIsDir)
}

func (m *Memory) write(p, text string) error {
	if m.dirs[p] {
		return ErrIsDir
	}
	if err := m.mkdir(path.Dir(p)); err != nil {
		return err
	}
	if m.files == nil {
		m.files = map[string]string{}
	}
	m.files[p] = strings.Clone(text)
	return nil
}

func (m *Memory) mkdir(p string) error {
	if err := m.isDir(p); err == ErrNotDir { //nolint:errorlint // isDir wraps nothing
		return err
	}
	if m.dirs == nil {
		m.dirs = map[string]bool{}
	}
	for ; p != "."; p = path.Dir(p) {
		m.dirs[p] = true
	}
	return nil
}
