package importer_test

import (
	"io"
	"runtime"
	"strings"
	"testing"

	"github.com/looptape/looptape/trace/importer"
)

// repeated returns one text, another one many times, and a third.
func repeated(before, unit string, times int, after string) io.Reader {
	readers := []io.Reader{strings.NewReader(before)}
	for range times {
		readers = append(readers, strings.NewReader(unit))
	}
	return io.MultiReader(append(readers, strings.NewReader(after))...)
}

// What is read one run at a time takes no more memory when there are more runs.
func TestMemory(t *testing.T) {
	const times = 200
	text := strings.Repeat("0123456789abcdef", 1<<13) // 128 KiB
	for name, r := range map[string]io.Reader{
		"rows":      repeated("", `{"prompt":"p","answer":"`+text+"\"}\n", times, ""),
		"CSV":       repeated("prompt,answer\n", "p,\""+text+"\"\n", times, ""),
		"Inspect":   repeated(`{"version":2,"eval":{},"samples":[{"id":0}`, `,{"id":1,"messages":[{"role":"user","content":"`+text+`"}]}`, times, "]}"),
		"promptfoo": repeated(`{"evalId":"e","results":{"results":[{}`, `,{"response":{"output":"`+text+`"}}`, times, "]}}"),
	} {
		t.Run(name, func(t *testing.T) {
			src, err := importer.Open("file", r)
			if err != nil {
				t.Fatal(err)
			}
			start, runs := heap(), 0
			for _, err := range src.Runs() {
				if err != nil {
					t.Fatal(err)
				}
				if runs++; runs%50 != 0 {
					continue
				}
				if more := int64(heap()) - int64(start); more > 4<<20 {
					t.Fatalf("%d KiB more are held after %d runs", more>>10, runs)
				}
			}
			if runs < times {
				t.Errorf("got %d runs, want %d", runs, times)
			}
		})
	}
}

// heap is how many bytes are in use.
func heap() uint64 {
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return m.HeapAlloc
}
