// Package cassettetest reads, records and replays the recordings of testdata/cassettes. Each of
// them is the HTTP between a loop and looptape serve. Tests record with looptape record, and replay
// with the client of the protocol and the loop of this module.
package cassettetest

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/looptape/looptape/fake"
	"github.com/looptape/looptape/llm"
	"github.com/looptape/looptape/loop/scenario"
)

// Looptape is the [Recording.Client] of recordings with the loop and the clients of this module.
const Looptape = "looptape"

// Topics are what recordings show in addition to invariants.
var Topics = []string{"stop-with-pending-call", "dropped-end", "malformed-arguments"}

// Recording is a row of the table of recordings.
type Recording struct {
	// Name is the path below testdata/cassettes, without extension.
	Name string
	// Shows lists invariants and [Topics]: a loop that breaks one of them has another trace.
	Shows []string
	// Protocol is the name of a protocol.
	Protocol string
	Mode     llm.ResponseMode
	// Client is the program that was recorded: Looptape or a program of the module conformance.
	Client string
	// Scenario is a file below testdata.
	Scenario string
	// Serve are options of looptape serve, such as --quirk QA-11@1.
	Serve []string

	root string // testdata
}

// Table returns the recordings of recordings.tsv in a folder testdata.
func Table(root string) (list []Recording, err error) {
	file := filepath.Join(root, "cassettes", "recordings.tsv")
	text, err := os.ReadFile(file)
	if err != nil {
		return nil, err
	}
	lines := strings.Split(strings.TrimSpace(string(text)), "\n")
	for i, line := range lines[1:] { // after the names of the columns
		row := append(strings.Split(line, "\t"), "")
		mode, known := modes[row[min(3, len(row)-1)]]
		if len(row) < 7 || !known {
			return nil, fmt.Errorf("%s:%d: want the columns %q", file, i+2, lines[0])
		}
		list = append(list, Recording{row[0], strings.Fields(row[1]), row[2], mode, row[4], row[5], strings.Fields(row[6]), root})
	}
	return list, nil
}

// modes are the response modes by their names in the table.
var modes = map[string]llm.ResponseMode{"streaming": llm.Streaming, "non-streaming": llm.NonStreaming}

// ModeName returns the name of the response mode in the table.
func (r *Recording) ModeName() string {
	if r.Mode == llm.NonStreaming {
		return "non-streaming"
	}
	return "streaming"
}

// Path returns the path of the cassette.
func (r *Recording) Path() string {
	return filepath.Join(r.root, "cassettes", filepath.FromSlash(r.Name)+".tape")
}

// ScenarioPath returns the path of the scenario.
func (r *Recording) ScenarioPath() string {
	return filepath.Join(r.root, filepath.FromSlash(r.Scenario))
}

// script returns the script of the scenario.
func (r *Recording) script() (*fake.Script, error) {
	src, err := os.ReadFile(r.ScenarioPath())
	if err != nil {
		return nil, err
	}
	f, err := scenario.Parse(r.ScenarioPath(), src)
	if err != nil {
		return nil, err
	}
	return f.Script, nil
}
