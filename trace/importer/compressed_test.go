package importer_test

import (
	"bytes"
	"io"
	"runtime"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/google/go-cmp/cmp"
	"github.com/klauspost/compress/zstd"

	"github.com/looptape/looptape/trace/importer"
)

func zstandard(t testing.TB, pieces ...string) []byte {
	t.Helper()
	var b bytes.Buffer
	zw, err := zstd.NewWriter(&b)
	if err != nil {
		t.Fatal(err)
	}
	for _, s := range pieces {
		if _, err := io.WriteString(zw, s); err != nil {
			t.Fatal(err)
		}
	}
	if err := zw.Close(); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

func TestZstandard(t *testing.T) {
	whole := zstandard(t, "["+hi+"]\n["+yo+"]\n")
	runs := []string{"run-1@1 user:hi", "run-2@2 assistant:yo"}
	skipped := "\x5a\x2a\x4d\x18\x03\x00\x00\x00abc"
	for name, c := range map[string]struct {
		in   string
		want []string
	}{
		"whole":              {string(whole), runs},
		"behind other data":  {skipped + string(whole), runs},
		"two frames":         {string(whole) + string(whole), append(runs, "run-3@3 user:hi", "run-4@4 assistant:yo")},
		"cut off":            {string(whole[:len(whole)-4]), []string{"! file: unexpected EOF"}},
		"broken at once":     {string(whole[:5]), []string{"! file: unexpected EOF"}},
		"no whole mark":      {string(whole[:3]), []string{"! file: " + importer.ErrFormat.Error()}},
		"a window of 256 MB": {"\x28\xb5\x2f\xfd\x00\x90\x01\x00\x00", []string{"! file: window size exceeded"}},
	} {
		t.Run(name, func(t *testing.T) {
			_, got := read(t, iotest.OneByteReader(strings.NewReader(c.in)))
			if diff := cmp.Diff(c.want, got); diff != "" {
				t.Errorf("runs (-want +got):\n%s", diff)
			}
		})
	}
}

// A small file that holds an endless text takes no endless memory, and what came before
// it is read. The same text in a file that is not compressed would be read.
func TestBomb(t *testing.T) {
	mebibyte := strings.Repeat("a", 1<<20)
	var long []string
	for range 257 {
		long = append(long, mebibyte)
	}
	endless := string(zstandard(t, long...))
	const why = "reading stopped: a value is longer than 256 MiB when it is decompressed; decompress the file first if it is no bomb"
	for name, c := range map[string]struct {
		head string
		want []string
	}{
		"a line":  {"[" + hi + "]\n[\"", []string{"run-1@1 user:hi", "! file:2: [0]: " + why}},
		"a value": {"[" + hi + ",\n\"", []string{"run-1@1 user:hi …! file:2: [1]: " + why}},
		"a HAR":   {`{"log":"`, []string{"! file: " + why}},
	} {
		t.Run(name, func(t *testing.T) {
			var before, after runtime.MemStats
			runtime.ReadMemStats(&before)
			_, got := read(t, strings.NewReader(string(zstandard(t, c.head))+endless))
			runtime.ReadMemStats(&after)
			if diff := cmp.Diff(c.want, got); diff != "" {
				t.Errorf("runs (-want +got):\n%.2000s", diff)
			}
			if mib := (after.TotalAlloc - before.TotalAlloc) >> 20; mib > 2048 {
				t.Errorf("%d MiB were taken", mib)
			}
		})
	}
}
