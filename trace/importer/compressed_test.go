package importer_test

import (
	"bytes"
	"encoding/hex"
	"fmt"
	"io"
	"math/rand/v2"
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
		"whole":                   {string(whole), runs},
		"after other data":        {skipped + string(whole), runs},
		"two frames":              {string(whole) + string(whole), append(runs, "run-3@3 user:hi", "run-4@4 assistant:yo")},
		"truncated":               {string(whole[:len(whole)-4]), []string{"! file: unexpected EOF"}},
		"broken immediately":      {string(whole[:5]), []string{"! file: unexpected EOF"}},
		"no complete placeholder": {string(whole[:3]), []string{"! file: " + importer.ErrFormat.Error()}},
		"a window of 256 MB":      {"\x28\xb5\x2f\xfd\x00\x90\x01\x00\x00", []string{"! file: window size exceeded"}},
	} {
		t.Run(name, func(t *testing.T) {
			_, got := read(t, iotest.OneByteReader(strings.NewReader(c.in)))
			if diff := cmp.Diff(c.want, got); diff != "" {
				t.Errorf("runs (-want +got):\n%s", diff)
			}
		})
	}
}

// A small file that contains an endless text takes limited memory, and the records before
// it are read. The same text in an uncompressed file would be read.
func TestBomb(t *testing.T) {
	// Not parallel: the memory that other tests take would count.
	mebibyte := strings.Repeat("a", 1<<20)
	var long []string
	for range 33 {
		long = append(long, mebibyte)
	}
	endless := string(zstandard(t, long...))
	const why = "reading stopped: the limit of 32 MiB in memory is exceeded: decompress the file first if it is not a decompression bomb"
	for name, c := range map[string]struct {
		head string
		want []string
	}{
		"a line":  {"[" + hi + "]\n[\"", []string{"run-1@1 user:hi", "! file:2: [0]: " + why}},
		"a value": {"[" + hi + ",\n\"", []string{"run-1@1 user:hi …! file:2: [1]: " + why}},
		"a HAR":   {`{"log":{"creator":{"name":"`, []string{"! file: " + why}},
	} {
		t.Run(name, func(t *testing.T) {
			var before, after runtime.MemStats
			runtime.ReadMemStats(&before)
			_, got := read(t, strings.NewReader(string(zstandard(t, c.head))+endless))
			runtime.ReadMemStats(&after)
			if diff := cmp.Diff(c.want, got); diff != "" {
				t.Errorf("runs (-want +got):\n%.2000s", diff)
			}
			if mib := (after.TotalAlloc - before.TotalAlloc) >> 20; mib > 256 {
				t.Errorf("%d MiB were allocated", mib)
			}
		})
	}
}

// noise is 2 MiB of text that compress to half of that.
func noise(t testing.TB) string {
	t.Helper()
	b := make([]byte, 1<<20)
	if _, err := rand.NewChaCha8([32]byte{}).Read(b); err != nil {
		t.Fatal(err)
	}
	return hex.EncodeToString(b)
}

// What compresses no better than texts do is held up to another bound.
func TestLongValue(t *testing.T) {
	t.Parallel()
	text := noise(t)
	file := zstandard(t, `[{"role":"user","content":"`, strings.Repeat(text, 20), `"}]`)
	src, err := importer.Open("file", bytes.NewReader(file))
	if err != nil {
		t.Fatal(err)
	}
	for run, err := range src.Runs() {
		if err != nil {
			t.Fatal(err)
		}
		if got := len(run.Messages[0].Text()); got != 20*len(text) {
			t.Errorf("the text has %d bytes, want %d", got, 20*len(text))
		}
	}
}

// A value below the limit is read, and so is what follows it, even if twice what is in memory
// exceeds the limit.
func TestValuesBelowLimit(t *testing.T) {
	t.Parallel()
	want := []int{5 << 20, 28 << 20, 28 << 20}
	var lists []string
	for _, length := range want {
		lists = append(lists, `[{"role":"user","content":"`+strings.Repeat("a", length)+`"}]`)
	}
	src, err := importer.Open("file", bytes.NewReader(zstandard(t, "[", strings.Join(lists, ","), "]")))
	if err != nil {
		t.Fatal(err)
	}
	var got []int
	for run, err := range src.Runs() {
		if err != nil {
			t.Fatal(err)
		}
		got = append(got, len(run.Messages[0].Text()))
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("lengths of the texts (-want +got):\n%s", diff)
	}
}

// A small file that contains an endless run takes limited memory, too: its data so far
// is returned, or at least reported.
func TestRunBomb(t *testing.T) {
	t.Parallel()
	text := strings.Repeat("a", 1<<10)
	message := `{"role":"user","content":"` + text + `"}`
	span := `{"resourceSpans":[{"scopeSpans":[{"spans":[{"traceId":"t","attributes":[{"key":"gen_ai.prompt.0.role","value":{"stringValue":"user"}},{"key":"gen_ai.prompt.0.content","value":{"stringValue":"` + text + `"}}]}]}]}]}`
	long := strings.ReplaceAll(span, text, strings.Repeat(text, 300))
	const why = "the limit of 32 MiB in memory is exceeded: decompress the file first if it is not a decompression bomb"
	for name, c := range map[string]struct {
		head, piece string
		partial     bool
	}{
		"a list":         {"[" + message, "," + message, true},
		"lines":          {"", message + "\n", true},
		"spans":          {"", span + "\n", false},
		"long spans":     {"", long + "\n", false},
		"a trace":        {`{"format":"looptape-trace","version":2}` + "\n", `{"seq":1,"run":"r1","step":0,"kind":"custom","name":"` + text + `","data":1}` + "\n", false},
		"long trace":     {`{"format":"looptape-trace","version":2}` + "\n", `{"seq":1,"run":"r1","step":0,"kind":"custom","name":"` + strings.Repeat(text, 300) + `","data":1}` + "\n", false},
		"a list in line": {"[" + hi + "]\n[" + message, "," + message, true},
	} {
		t.Run(name, func(t *testing.T) {
			bomb := zstandard(t, c.head, strings.Repeat(c.piece, 40<<20/len(c.piece)))
			src, err := importer.Open("file", bytes.NewReader(bomb))
			if err != nil {
				t.Fatal(err)
			}
			named, partial := false, false
			for run, err := range src.Runs() {
				if err != nil {
					named = strings.HasSuffix(err.Error(), why)
					partial = run.Partial && len(run.Messages) > 1000
				}
			}
			if !named || partial != c.partial {
				t.Errorf("named %v, with a part of the run %v, want true and %v", named, partial, c.partial)
			}
		})
	}
}

// Runs that have ended are not held.
func TestManyRuns(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("a", 1<<20)
	var file []string
	for i := range 40 {
		file = append(file, fmt.Sprintf(`[{"role":"user","content":"%s %d"}]`+"\n", long, i))
	}
	traced := []string{`{"format":"looptape-trace","version":2}` + "\n"}
	for i := range 40 {
		traced = append(traced, fmt.Sprintf(`{"seq":1,"run":"r%d","step":0,"kind":"custom","name":"%s","data":1}`+"\n"+`{"seq":2,"run":"r%d","step":0,"kind":"run.end","reason":"done"}`+"\n", i, long, i))
	}
	for name, pieces := range map[string][]string{"lists": file, "an array": append([]string{"[", "[" + hi + "]"}, strings.Split(strings.ReplaceAll(","+strings.Join(file, ","), "\n", "")+"]", "\x00")...), "a trace": traced} {
		_, got := read(t, bytes.NewReader(zstandard(t, pieces...)))
		for _, item := range got {
			if strings.Contains(item, "!") {
				t.Errorf("%s: %.300s", name, item)
			}
		}
		if len(got) < 40 {
			t.Errorf("%s: %d runs", name, len(got))
		}
	}
}

// There is an end to what may be held of a value in a long file.
func TestLongestValue(t *testing.T) {
	t.Parallel()
	file := zstandard(t, "["+hi+`,"`, strings.Repeat(noise(t), 6), strings.Repeat("a", 256<<20))
	_, got := read(t, bytes.NewReader(file))
	want := []string{"run-1@1 user:hi …! file:1: [1]: reading stopped: the limit of 256 MiB in memory is exceeded: decompress the file first if it is not a decompression bomb"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("runs (-want +got):\n%.2000s", diff)
	}
}
