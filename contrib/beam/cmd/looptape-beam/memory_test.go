//go:build linux

package main

import (
	"bufio"
	"bytes"
	"flag"
	"fmt"
	"math/rand/v2"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"syscall"
	"testing"
)

var runs = flag.Int("runs", 20_000, "runs of TestSummaryMemory, which compares peak memory from 10,000,000")

var bootstrapInterval = regexp.MustCompile(`"bootstrap":\[[^]]*\],`)

// TestSummaryMemory computes the statistics of a tenth of the runs and of all of them, with Prism and the worker in
// processes of their own. They equal those of looptape
// without bootstrap intervals, and the peak memory of the worker is the same within 10 %.
func TestSummaryMemory(t *testing.T) {
	bin := t.TempDir()
	build(t, filepath.Join("..", "..", "..", ".."), bin, "./cmd/looptape")
	build(t, ".", bin, ".")
	build(t, ".", bin, "github.com/apache/beam/sdks/v2/go/cmd/prism")
	endpoint := startPrism(t, filepath.Join(bin, "prism"))
	var peaks []int64
	for _, n := range []int{*runs / 10, *runs} {
		files := generate(t, n)
		out := filepath.Join(t.TempDir(), "summary.json")
		worker := exec.CommandContext(t.Context(), filepath.Join(bin, "looptape-beam"), slices.Concat([]string{
			"-summary", out, "-runner=universal", "-endpoint=" + endpoint, "-environment_type=LOOPBACK",
		}, files)...)
		if text, err := worker.CombinedOutput(); err != nil {
			t.Fatalf("%d runs: %v\n%s", n, err, text)
		}
		used := worker.ProcessState
		peak := used.SysUsage().(*syscall.Rusage).Maxrss >> 10
		t.Logf("%d runs: processor time of the worker %v, its peak memory %d MiB", n, used.UserTime()+used.SystemTime(), peak)
		peaks = append(peaks, peak)
		want, err := exec.CommandContext(t.Context(), filepath.Join(bin, "looptape"), slices.Concat([]string{"eval", "score", "--format", "json"}, files)...).Output()
		if err != nil {
			t.Fatal(err)
		}
		want = bootstrapInterval.ReplaceAll(want, nil)
		if got, err := os.ReadFile(out); err != nil || !bytes.Equal(got, want) {
			t.Errorf("%d runs: error %v; got\n%s\nwant\n%s", n, err, got, want)
		}
	}
	if *runs >= 10_000_000 && peaks[1]*10 > peaks[0]*11 {
		t.Errorf("the peak memory grew from %d to %d MiB", peaks[0], peaks[1])
	}
}

// startPrism starts Beam's local runner until the end of the test.
func startPrism(t *testing.T, name string) (endpoint string) {
	t.Helper()
	l, err := new(net.ListenConfig).Listen(t.Context(), "tcp", "localhost:0")
	if err != nil {
		t.Fatal(err)
	}
	port := l.Addr().(*net.TCPAddr).Port
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(t.Context(), name, "-serve_http=false", "-log_kind=text", fmt.Sprint("-job_port=", port))
	logs, err := cmd.StderrPipe()
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
	})
	lines := bufio.NewScanner(logs)
	for lines.Scan() {
		if strings.Contains(lines.Text(), fmt.Sprint(":", port)) {
			go func() {
				for lines.Scan() { // so that Prism can write
				}
			}()
			return fmt.Sprint("localhost:", port)
		}
	}
	t.Fatal("prism ended: ", lines.Err())
	return ""
}

// generate writes runs: 100 of each case, and up to 20,000 in a file.
func generate(t *testing.T, n int) (files []string) {
	t.Helper()
	const perCase, perFile = 100, 20_000
	random := rand.New(rand.NewPCG(uint64(n), 0))
	dir := t.TempDir()
	var text []byte
	for i := range n {
		rate := 0.3 + 0.6*float64(i/perCase*7919%1000)/1000
		score := 0
		if random.Float64() < rate {
			score = 1
		}
		text = fmt.Appendf(text, `{"case":"case-%d","epoch":%d,"score":%d,"messages":[]}`+"\n", i/perCase, i%perCase, score)
		if (i+1)%perFile == 0 || i == n-1 {
			name := filepath.Join(dir, fmt.Sprintf("runs-%05d.jsonl", len(files)))
			if err := os.WriteFile(name, text, 0o600); err != nil {
				t.Fatal(err)
			}
			files, text = append(files, name), text[:0]
		}
	}
	return files
}
