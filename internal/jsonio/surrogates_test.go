package jsonio_test

import (
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/looptape/looptape/internal/jsonio"
)

func TestLoneSurrogates(t *testing.T) {
	for text, want := range map[string][]int{
		`"a"`:                   nil,
		`\ud83d`:                {0},
		`\ude00x\uDBFF`:         {0, 7},
		`\ud83d\ude00`:          nil,
		`\ud83d\ud83d\ude00`:    {0},
		`\\ud83d`:               nil,
		`\\\ud83d`:              {2},
		`\n\ufffd\ud7ff\ue000`:  nil,
		`\ud83`:                 nil,
		`\`:                     nil,
		`{"a":"\n","b":"\udc00`: {15},
	} {
		if diff := cmp.Diff(want, slices.Collect(jsonio.LoneSurrogates(text))); diff != "" {
			t.Errorf("%s (-want +got):\n%s", text, diff)
		}
	}
}
