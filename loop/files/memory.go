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
// path or a text is invalid.
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
		if len(m.in(dir)) == 0 {
			s.Dirs = append(s.Dirs, dir)
		}
	}
	return s
}

// List implements Backend.
func (m *Memory) List(dir string) ([]Entry, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	p, err := clean(dir)
	if err == nil {
		err = m.isDir(p)
	}
	if err != nil {
		return nil, fail("list", dir, err)
	}
	return m.in(p), nil
}

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

// in returns the entries of a directory.
func (m *Memory) in(dir string) []Entry {
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
	slices.SortFunc(list, func(a, b Entry) int { return cmp.Compare(a.Name, b.Name) })
	return list
}

// Read implements Backend.
func (m *Memory) Read(name string) (string, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	_, text, err := m.read(name)
	return text, fail("read", name, err)
}

func (m *Memory) read(name string) (p, text string, err error) {
	p, err = cleanFile(name)
	if err != nil {
		return p, "", err
	}
	text, ok := m.files[p]
	if ok {
		return p, text, nil
	}
	if err = m.isDir(p); err == nil {
		err = ErrIsDir
	}
	return p, "", err
}

// Write implements Backend.
func (m *Memory) Write(name, text string) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	p, err := cleanFile(name)
	if err == nil {
		err = m.put(p, text)
	}
	return fail("write", name, err)
}

func (m *Memory) put(p, text string) error {
	if err := fit(text); err != nil {
		return err
	}
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

// Edit implements Backend.
func (m *Memory) Edit(name string, change func(text string) (string, error)) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	p, text, err := m.read(name)
	if err == nil {
		text, err = change(text)
	}
	if err == nil {
		err = m.put(p, text)
	}
	return fail("edit", name, err)
}

// Mkdir implements Backend.
func (m *Memory) Mkdir(dir string) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	p, err := clean(dir)
	if err == nil {
		err = m.mkdir(p)
	}
	return fail("mkdir", dir, err)
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
