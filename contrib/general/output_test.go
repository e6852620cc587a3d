package general

import (
	"context"
	"errors"
	"io"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/looptape/looptape/llm"
	"github.com/looptape/looptape/loop"
)

func call(arguments string) loop.Call { return loop.Call{Arguments: arguments} }

func textOf(out loop.Output) string { return llm.ToolResult{Content: out.Content}.Text() }

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

// RA-83: there is no tool shell for Local on a system where it cannot work.
func TestNoLocal(t *testing.T) {
	other := func(context.Context, Command) (Outcome, error) { return Outcome{}, nil }
	for _, c := range []struct {
		run      Runner
		hasLocal bool
		want     string
	}{
		{nil, true, "no runner of commands (Config.Shell)"}, {nil, false, "no runner of commands (Config.Shell)"}, {other, true, ""}, {other, false, ""}, {Local, true, ""},
		{Local, false, "Local needs /bin/sh, which this system does not have: set Config.Shell to another Runner"},
	} {
		if got := whyNoRunner(c.run, c.hasLocal); got != c.want {
			t.Errorf("got %q, want %q", got, c.want)
		}
	}
}

// A search ends after its time.
func TestSearchTime(t *testing.T) {
	root, err := os.OpenRoot(t.TempDir())
	if err == nil {
		err = errors.Join(root.WriteFile("f", []byte("x"), 0o600), root.Mkdir("d", 0o700))
	}
	if err != nil {
		t.Fatal(err)
	}
	defer root.Close() //nolint:errcheck // it was only read
	for _, tool := range searchGroup(&folder{root, time.Nanosecond}).tools {
		out, err := tool.Run(t.Context(), call(`{"pattern":"x"}`))
		if text := textOf(out); err != nil || text != "Error: the search took more than 1ns: search a smaller folder" {
			t.Errorf("%s: got %q, %v", tool.Name, text, err)
		}
	}
}
