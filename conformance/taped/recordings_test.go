package taped

import (
	"bytes"
	"encoding/json"
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/looptape/looptape/conformance/node"
	"github.com/looptape/looptape/internal/cassettetest"
)

var update = flag.Bool("update", false, "write the recordings of testdata/cassettes")

// TestSDKRecordings records the loops of the SDKs with looptape record again. The cassettes of
// testdata/cassettes must not differ: go test ./taped -run TestSDKRecordings -update writes them. Each loop
// has a recording in each of its protocols.
func TestSDKRecordings(t *testing.T) {
	testdata, err := filepath.Abs(filepath.Join(root, "testdata"))
	if err != nil {
		t.Fatal(err)
	}
	list, err := cassettetest.Table(testdata)
	if err != nil {
		t.Fatal(err)
	}
	looptape := build(t)
	missing := map[string]bool{}
	for _, c := range node.Clients() {
		for _, protocol := range c.Protocols {
			missing["npm/"+c.Name+" in "+protocol] = true
		}
	}
	for _, p := range goPrograms {
		for _, protocol := range p.protocols {
			missing[p.name+" in "+protocol] = true
		}
	}
	// LangGraph sends each result of Gemini in its own message, which the server rejects.
	delete(missing, "npm/langgraph in gemini")
	for _, r := range list {
		delete(missing, r.Client+" in "+r.Protocol)
		if r.Client != cassettetest.Looptape {
			t.Run(r.Name, func(t *testing.T) {
				t.Parallel()
				recordAgain(t, &r, looptape)
			})
		}
	}
	for name := range missing {
		t.Errorf("no recording of %s: add a row to recordings.tsv", name)
	}
}

// recordAgain compares a recording with a new one.
func recordAgain(t *testing.T, r *cassettetest.Recording, looptape string) {
	t.Helper()
	c := node.Case{ID: r.Name, Protocol: r.Protocol, Streaming: r.ModeName() == "streaming"}
	input, err := json.Marshal(c)
	if err != nil {
		t.Fatal(err)
	}
	command := []string{os.Args[0], r.Client}
	if name, ok := strings.CutPrefix(r.Client, "npm/"); ok {
		command = []string{"node", filepath.Join(installed(t), node.Client{Name: name}.File())}
	}
	tape, output, err := r.Record(t.Context(), looptape, command, bytes.NewReader(append(input, '\n')))
	if err != nil {
		t.Fatal(err)
	}
	var got node.Result
	if err := json.Unmarshal(bytes.SplitAfter(output, []byte("\n"))[0], &got); err != nil || got != (node.Result{ID: r.Name, Text: answer}) {
		t.Fatalf("the output is %s (%v), want %q", output, err, answer)
	}
	was, err := r.Current(tape, *update)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(was), string(tape)); diff != "" {
		t.Errorf("%s is not current (-is +recorded again):\n%s", r.Path(), diff)
	}
}
