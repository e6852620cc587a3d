package jsonio

import (
	"encoding/json"
	"strings"
	"testing"
)

// BenchmarkString reads a string as tools return it: JSON in a string.
func BenchmarkString(b *testing.B) {
	text := string(AppendString(nil, strings.Repeat(`{"sku":"1008292230","name":"Desk Lamp","price":"153.23"},`, 8)))
	b.Run("jsonio", func(b *testing.B) {
		mem := Arena{BlockSize: 64 << 10}
		b.SetBytes(int64(len(text)))
		for b.Loop() {
			d := NewDecIn(&mem, text)
			_ = d.String()
		}
	})
	b.Run("encoding-json", func(b *testing.B) {
		raw := []byte(text)
		b.SetBytes(int64(len(text)))
		for b.Loop() {
			var v any
			if err := json.Unmarshal(raw, &v); err != nil {
				b.Fatal(err)
			}
		}
	})
}
