package trace_test

import (
	"bytes"
	"encoding/json"
	"io"
	"testing"

	"github.com/looptape/looptape/trace"
)

func BenchmarkWriter(b *testing.B) {
	evs := sample(50)
	b.SetBytes(int64(len(write(b, trace.Header{}, evs))))
	b.ReportAllocs()
	for b.Loop() {
		w := trace.NewWriter(io.Discard, trace.Header{})
		for _, ev := range evs {
			if err := w.Write(ev); err != nil {
				b.Fatal(err)
			}
		}
	}
}

// Compare BenchmarkReader with BenchmarkEncodingJSON, which decodes the same lines. The goal is
// one sixth of its time.
func BenchmarkReader(b *testing.B) {
	file := write(b, trace.Header{}, sample(50))
	b.SetBytes(int64(len(file)))
	b.ReportAllocs()
	for b.Loop() {
		r, err := trace.NewReader(bytes.NewReader(file))
		if err != nil {
			b.Fatal(err)
		}
		for _, err := range r.Events() {
			if err != nil {
				b.Fatal(err)
			}
		}
	}
}

func BenchmarkEncodingJSON(b *testing.B) {
	file := write(b, trace.Header{}, sample(50))
	b.SetBytes(int64(len(file)))
	b.ReportAllocs()
	for b.Loop() {
		for line := range bytes.Lines(file) {
			var m map[string]any
			if err := json.Unmarshal(line, &m); err != nil {
				b.Fatal(err)
			}
		}
	}
}
