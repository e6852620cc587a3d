package cassettes

import (
	"bytes"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"

	"github.com/looptape/looptape/cassettes/recording"
	"github.com/looptape/looptape/internal/atomicfile"
)

// Usage lists the interactions that a replay used. A report is a file with one Usage per
// line, as JSON.
type Usage struct {
	Cassette string `json:"cassette"` // its file, from FullPath
	Used     []int  `json:"used"`     // numbers of the used interactions, from 1
}

// Report appends the usage so far to a report. It follows symbolic links. The list is empty for a recording.
// Concurrent programs may share a report.
func (c *Cassette) Report(path string) error {
	u := Usage{Cassette: FullPath(c.path), Used: []int{}}
	if c.index != nil {
		u.Used = c.index.Used()
	}
	line, err := json.Marshal(u)
	if err != nil {
		return err
	}
	f, err := atomicfile.Open(atomicfile.Target(path), os.O_CREATE|os.O_APPEND, 0)
	if err != nil {
		return err
	}
	_, err = f.Write(append(line, '\n'))
	return and(err, f.Close())
}

// ReadReport reads a report. It returns a [*FormatError] with this name if a line is
// invalid.
func ReadReport(name string, text []byte) (list []Usage, err error) {
	n := 0
	for line := range bytes.Lines(text) {
		n++
		var u Usage
		if err := json.Unmarshal(line, &u); err != nil || u.Cassette == "" {
			return nil, &recording.FormatError{File: name, Line: n, Err: errors.New(`invalid line of a report: want a line such as {"cassette":"/x.tape","used":[1]}`)}
		}
		list = append(list, u)
	}
	return list, nil
}

// FullPath returns the absolute path without symbolic links, as far as they can be
// resolved.
func FullPath(path string) string {
	if full, err := filepath.Abs(path); err == nil {
		path = full
	}
	if followed, err := filepath.EvalSymlinks(path); err == nil {
		path = followed
	}
	return path
}
