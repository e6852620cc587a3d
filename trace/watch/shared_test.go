package watch_test

import (
	"io/fs"
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/looptape/looptape/trace/importer"
	"github.com/looptape/looptape/trace/watch"
)

// counts are the counts in a folder of recordings of HTTP.
type counts struct {
	Files, Exchanges, Answered int
	None                       int // files that are not such recordings
	Checked, Runs, Found       int
}

// Nothing is found in recordings of others that the providers took, except the calls that a plugin of
// ADK changes; those of charm's fantasy are in conformance.
func TestSharedRecordings(t *testing.T) {
	for folder, want := range map[string]counts{
		"go-vcr":          {Files: 9, Exchanges: 18},
		"other-recorders": {Files: 8, Exchanges: 9, None: 17},
		"adk-go-httprr":   {Files: 47, Exchanges: 126, Answered: 125, None: 9, Checked: 126, Runs: 64, Found: 3},
	} {
		t.Run(folder, func(t *testing.T) {
			var got counts
			err := filepath.WalkDir(filepath.Join(sharedDir(t), "data", folder), func(path string, _ fs.DirEntry, err error) error {
				switch filepath.Ext(path) {
				case ".yaml", ".json", ".har", ".httprr":
					got.add(t, path)
				}
				return err
			})
			if diff := cmp.Diff(want, got); diff != "" || err != nil {
				t.Errorf("%v (-want +got):\n%s", err, diff)
			}
		})
	}
}

func (f *counts) add(t *testing.T, path string) {
	t.Helper()
	file, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = file.Close() }()
	src, err := importer.Open(path, file)
	if err != nil {
		f.None++
		return
	}
	f.Files++
	var r watch.Recording
	for x, err := range src.Exchanges() {
		if err != nil {
			t.Error(err)
		}
		f.Exchanges++
		if x.Response != nil {
			f.Answered++
		}
		if x.Request == nil {
			continue
		}
		found, err := r.Add(watch.Interaction{Number: x.Number, Protocol: x.Protocol, Request: x.Request, Response: x.Response, Accepted: x.Accepted})
		if err != nil {
			t.Error(err)
		}
		f.Checked++
		f.Found += len(found)
	}
	f.Runs += r.Runs
}

func sharedDir(t *testing.T) string {
	t.Helper()
	dir := os.Getenv("LOOPTAPE_SHARED")
	if dir == "" {
		dir = filepath.Join("..", "..", "..", "shared")
	}
	if _, err := os.Stat(filepath.Join(dir, "data")); err != nil {
		t.Skip("no recordings: ", err)
	}
	return dir
}
