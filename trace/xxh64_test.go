package trace

import (
	"math"
	"strings"
	"testing"
)

// The figures are those that https://github.com/cespare/xxhash (v2.3.0) tests
// itself with; TestHash's are made with it.
func TestXXH64(t *testing.T) {
	// 63 bytes: a stripe and each kind of rest.
	const s63 = "Call me Ishmael. Some years ago--never mind how long precisely-"
	for _, c := range []struct {
		text string
		seed uint64
		want uint64
	}{
		{"", 0, 0xef46db3751d8e999},
		{"a", 0, 0xd24ec4f1a98c6e5b},
		{"as", 0, 0x1c330fb2d66be179},
		{"asd", 0, 0x631c37ce72a97393},
		{"asdf", 0, 0x415872f599cea71e},
		{s63, 0, 0x02a2e85470d6fd96},
		{"", 123, 0xe0db84de91f3e198},
		{"asdf", math.MaxUint64, 0x9a2fd8473be539b6},
		{s63, 54321, 0x1736d186daf5d1cd},
		{s63[:32], 1, 0xc599a68bb710ade5},
		{s63[:40], 1, 0x4c398770f0012adc},
		{strings.Repeat(s63, 3), 1, 0xc4114825087c3e24},
	} {
		if got := xxh64(c.seed, []byte(c.text)); got != c.want {
			t.Errorf("xxh64(%d, %q) = %#016x, want %#016x", c.seed, c.text, got, c.want)
		}
	}
}
