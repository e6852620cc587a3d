package importer_test

import (
	"bytes"
	"compress/gzip"
	"encoding/json"
	"io"
	"os"
	"path/filepath"
	"testing"

	"github.com/looptape/looptape/trace/importer"
)

// tauAirline returns the recorded results of tau-bench, or skips the test where
// the data set is not beside the repository.
func tauAirline(tb testing.TB) []byte {
	tb.Helper()
	b, err := os.ReadFile(filepath.Join(sharedDir(tb), "data", "tau-airline", "gpt-4o-airline.json.gz"))
	if err != nil {
		tb.Skip("the data set tau-airline is not there: ", err)
	}
	return b
}

func sharedDir(tb testing.TB) string {
	tb.Helper()
	if dir := os.Getenv("LOOPTAPE_SHARED"); dir != "" {
		return dir
	}
	dir, err := os.Getwd()
	if err != nil {
		tb.Fatal(err)
	}
	for ; dir != filepath.Dir(dir); dir = filepath.Dir(dir) {
		shared := filepath.Join(dir, "..", "shared")
		if _, err := os.Stat(filepath.Join(shared, "data")); err == nil {
			return shared
		}
	}
	tb.Skip("no folder ../shared with data above this package; set LOOPTAPE_SHARED to where it is")
	return ""
}

func TestTauAirline(t *testing.T) {
	src, err := importer.Open("tau", bytes.NewReader(tauAirline(t)))
	if err != nil {
		t.Fatal(err)
	}
	var runs, messages, calls, rewards int
	for run, err := range src.Runs() {
		if err != nil {
			t.Fatal(err)
		}
		runs++
		messages += len(run.Messages)
		for _, m := range run.Messages {
			calls += len(m.Calls())
		}
		var reward float64
		if err := json.Unmarshal(run.Meta["reward"], &reward); err != nil {
			t.Fatalf("%s: the reward: %v", run.Name, err)
		}
		rewards += int(reward)
	}
	type figures struct {
		Format                          importer.Format
		Runs, Messages, Calls, Rewarded int
	}
	got := figures{src.Format, runs, messages, calls, rewards}
	want := figures{importer.FormatTauBench, 200, 5308, 1164, 84}
	if got != want {
		t.Errorf("got %+v, want %+v", got, want)
	}
}

func BenchmarkTauAirline(b *testing.B) {
	zr, err := gzip.NewReader(bytes.NewReader(tauAirline(b)))
	if err != nil {
		b.Fatal(err)
	}
	data, err := io.ReadAll(zr)
	if err != nil {
		b.Fatal(err)
	}
	b.Run("importer", func(b *testing.B) {
		b.SetBytes(int64(len(data)))
		b.ReportAllocs()
		for b.Loop() {
			src, err := importer.Open("tau", bytes.NewReader(data))
			if err != nil {
				b.Fatal(err)
			}
			for _, err := range src.Runs() {
				if err != nil {
					b.Fatal(err)
				}
			}
		}
	})
	b.Run("encoding-json", func(b *testing.B) {
		b.SetBytes(int64(len(data)))
		b.ReportAllocs()
		for b.Loop() {
			var v any
			if err := json.Unmarshal(data, &v); err != nil {
				b.Fatal(err)
			}
		}
	})
}
