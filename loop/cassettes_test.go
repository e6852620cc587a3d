package loop_test

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/sebdah/goldie/v2"

	"github.com/looptape/looptape/internal/cassettetest"
	"github.com/looptape/looptape/loop/scenario"
	"github.com/looptape/looptape/trace/check"
)

// transports replay each recording.
var transports = []cassettetest.Transport{cassettetest.Cassette, cassettetest.Bytes, cassettetest.GoVCR}

// TestCassetteGoldens replays each recording of testdata/cassettes with the client of its protocol and the
// loop, with each transport. The trace must be that of the file next to the recording:
// go test ./loop -run TestCassetteGoldens -update writes it.
func TestCassetteGoldens(t *testing.T) {
	for _, r := range recordings(t) {
		t.Run(r.Name, func(t *testing.T) {
			repeatable(t)
			o, err := r.Replay(t.Context(), cassettetest.Cassette)
			if err != nil {
				t.Fatal(err)
			}
			goldie.New(t, goldie.WithFixtureDir(filepath.Dir(r.Path())), goldie.WithNameSuffix(".trace"), goldie.WithDiffEngine(goldie.ColoredDiff)).
				Assert(t, filepath.Base(r.Name), []byte(o.Trace()))
			for _, by := range transports {
				for _, p := range problems(t, &r, by) {
					t.Errorf("%s: %s", by, p)
				}
			}
		})
	}
}

// problems returns how a replay differs from the expected one. A recording of INV-27 is replayed
// often, because an order that is not fixed may be the expected one.
func problems(t *testing.T, r *cassettetest.Recording, by cassettetest.Transport) (list []string) {
	t.Helper()
	want, err := os.ReadFile(strings.TrimSuffix(r.Path(), ".tape") + ".trace")
	if err != nil {
		t.Fatal(err)
	}
	times := 1
	if slices.Contains(r.Shows, "INV-27") {
		times = 40
	}
	for range times {
		o, err := r.Replay(t.Context(), by)
		if err != nil {
			list = append(list, err.Error())
		}
		if o == nil {
			return list
		}
		for _, v := range append(violations(o.Events), probed(o)...) {
			list = append(list, fmt.Sprintf("%s: event %d: %s", v.Invariant, v.Event, v.Message))
		}
		if diff := cmp.Diff(string(want), o.Trace()); diff != "" {
			list = append(list, "trace (-want +got):\n"+diff)
		}
	}
	return list
}

// TestCassetteGoldensOfResponseModes checks that the streaming and the non-streaming recording of a
// protocol give the same run (INV-12).
func TestCassetteGoldensOfResponseModes(t *testing.T) {
	runs := map[string]*scenario.Result{}
	for _, r := range recordings(t) {
		if !slices.Contains(r.Shows, "INV-12") {
			continue
		}
		o, err := r.Replay(t.Context(), cassettetest.Cassette)
		if err != nil {
			t.Fatal(err)
		}
		runs[r.Protocol+" "+r.ModeName()] = o
	}
	for _, protocol := range cassettetest.Protocols() {
		a, b := runs[protocol+" streaming"], runs[protocol+" non-streaming"]
		if a == nil || b == nil {
			t.Fatalf("%s: want a recording in each response mode", protocol)
		}
		for _, v := range check.Pair(a.Events, b.Events, check.ResponseMode) {
			t.Errorf("%s: %s: %s", protocol, v.Invariant, v.Message)
		}
	}
}

func recordings(t testing.TB) []cassettetest.Recording {
	t.Helper()
	list, err := cassettetest.Table(testdata)
	if err != nil {
		t.Fatal(err)
	}
	return list
}

// TestCassetteGoldensCover checks that a recording of each protocol shows each invariant and each
// topic, and that each cassette has a row.
func TestCassetteGoldensCover(t *testing.T) {
	shown := map[string]bool{}
	files := map[string]bool{}
	for _, r := range recordings(t) {
		for _, id := range r.Shows {
			shown[id+" in "+r.Protocol] = true
		}
		files[r.Path()] = true
	}
	want := slices.Clone(cassettetest.Topics)
	for _, inv := range check.Catalog() {
		want = append(want, inv.ID)
	}
	for _, id := range want {
		for _, protocol := range cassettetest.Protocols() {
			if !shown[id+" in "+protocol] {
				t.Errorf("no recording shows %s in %s: add a row to recordings.tsv", id, protocol)
			}
		}
	}
	err := filepath.WalkDir(filepath.Join(testdata, "cassettes"), func(path string, _ fs.DirEntry, err error) error {
		name, isTrace := strings.CutSuffix(path, ".trace")
		if isTrace {
			path = name + ".tape"
		}
		if strings.HasSuffix(path, ".tape") && !files[path] {
			t.Errorf("%s has no row in recordings.tsv", path)
		}
		return err
	})
	if err != nil {
		t.Error(err)
	}
}
