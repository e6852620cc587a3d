package general

import (
	"io"
	"strings"
	"testing"
)

// The output of a program is limited while it is read.
func TestOutputIsLimited(t *testing.T) {
	var b limitedBuffer
	if n, err := io.Copy(&b, strings.NewReader(strings.Repeat("x", 10*maxOutput))); n != 10*maxOutput || err != nil {
		t.Errorf("copied %d bytes, %v", n, err)
	}
	if n := b.kept.Len(); n < maxOutput || n > maxOutput+10 {
		t.Errorf("%d bytes are kept, want about %d", n, maxOutput)
	}
}
