//go:build unix

package general

import (
	"os"
	"runtime"
	"strings"
	"testing"
)

// Without a sandbox, too, what a command leaves in the background ends with it.
func TestLocalBackground(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("there is no /proc")
	}
	sandbox := bubblewrap
	defer func() { bubblewrap = sandbox }()
	bubblewrap = func() string { return "" }
	out, err := Local(t.Context(), Command{Script: "sleep 600 >/dev/null 2>&1 & echo $!", Dir: t.TempDir()})
	if err != nil || out.Sandbox != "" {
		t.Fatalf("got %+v, %v", out, err)
	}
	for n, running := 0, true; running; n++ {
		stat, err := os.ReadFile("/proc/" + strings.TrimSpace(out.Stdout) + "/stat")
		running = err == nil && !strings.Contains(string(stat), ") Z ") // one that ended and was not waited for
		if n == 100_000 {
			t.Fatal("the process still runs")
		}
	}
}
