package cli

import (
	"fmt"
	"strings"
	"testing"
)

func TestBar(t *testing.T) {
	full := "[" + strings.Repeat("#", barWidth) + "] 100 %"
	for _, c := range []struct {
		done, size int64
		want       string
	}{
		{0, 10, "[" + strings.Repeat(".", barWidth) + "]   0 %"},
		{10, 10, full},
		{11, 10, full}, // the file has grown
		{5, 0, full},   // a pipe
	} {
		if got := bar(c.done, c.size); got != c.want {
			t.Errorf("bar(%d, %d) = %q, want %q", c.done, c.size, got, c.want)
		}
	}
}

// Bytes that are not UTF-8 would be replaced in a copy of the recording.
func TestParseRecordingInvalid(t *testing.T) {
	const text = `{"log":{"entries":[{"request":{"method":"GET","url":"http://a/"},"response":{"status":200,"content":{"text":"%s"}}}]}}`
	for body, want := range map[string]string{
		"\xe9": "x:1: the byte 0xe9 at offset 109 is not UTF-8: convert the file to UTF-8",
		"é":    "<nil>",
	} {
		_, err := ParseRecording("x", []byte(strings.Replace(text, "%s", body, 1)))
		if got := fmt.Sprint(err); got != want {
			t.Errorf("%q: got %q, want %q", body, got, want)
		}
	}
}
