package rerun_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/looptape/looptape/evals/rerun"
	"github.com/looptape/looptape/trace/importer"
)

// calls returns a run that calls the tool t n times, each time with the result "x".
func calls(t *testing.T, n int) *importer.Run {
	t.Helper()
	text := `{"case":"c","messages":[{"role":"user","content":"<go>"}`
	for i := range n {
		text += fmt.Sprintf(`,{"role":"assistant","content":null,"tool_calls":[{"id":"a%d","type":"function","function":{"name":"t","arguments":"{\"n\":\"<%d>\"}"}}]},{"role":"tool","tool_call_id":"a%d","content":"x"}`, i, i, i)
	}
	return &runs(t, text+"]}")[0]
}

// ofProgram is the result of a program for the tool t in a run with two calls.
func ofProgram(t *testing.T, p rerun.Program) ([]string, error) {
	t.Helper()
	if runtime.GOOS == "windows" {
		t.Skip("there is no sh")
	}
	ps := rerun.Programs{Tools: map[string]rerun.Program{"t": p}}
	out, err := ps.Rerun(t.Context(), calls(t, 2), nil)
	if out == nil {
		return nil, err
	}
	return describe(out.Calls), err
}

func TestProgram(t *testing.T) {
	for name, c := range map[string]struct {
		command string
		want    []string
		err     string
	}{
		"results":      {`read a; echo '{"result":"x"}'; read b; echo '{"result":{"n":1.0}}'`, []string{"0.0 a0 t same", `1.0 a1 t differs was "x", is "{"n":1.0}"`}, ""},
		"state":        {`n=0; while read a; do n=$((n+1)); echo "{\"result\":$n}"; done`, []string{`0.0 a0 t differs was "x", is "1"`, `1.0 a1 t differs was "x", is "2"`}, ""},
		"an error":     {`read a; echo '{"error":"x"}'; read b; echo '{"result":null}'`, []string{"0.0 a0 t same", `1.0 a1 t differs was "x", is "null"`}, ""},
		"as recorded":  {`while read a; do echo '{"recorded":true}'; done`, []string{"0.0 a0 t recorded", "1.0 a1 t recorded"}, ""},
		"no line end":  {`read a; printf '{"result":"x"}'`, []string{"0.0 a0 t same", "1.0 a1 t failed"}, ""},
		"no command":   {`no-such-command`, []string{`0.0 a0 t failed the program of the tool "t": the program gave no answer: exit status 127; its standard error: `}, ""},
		"no answer":    {`read a; exit 0`, []string{`0.0 a0 t failed the program of the tool "t": the program ended without an answer`}, ""},
		"an exit":      {`read a; echo why >&2; exit 3`, []string{`0.0 a0 t failed the program of the tool "t": the program gave no answer: exit status 3; its standard error: why`}, ""},
		"a signal":     {`read a; kill -9 $$`, []string{`0.0 a0 t failed the program of the tool "t": the program gave no answer: signal: killed`}, ""},
		"garbage":      {`read a; echo hello; read b`, []string{`0.0 a0 t failed the program of the tool "t": invalid reply of the program (invalid character 'h' looking for beginning of value): want a JSON object with a result: "hello\n"`}, ""},
		"no member":    {`read a; echo '{"answer":1}'; read b`, []string{`0.0 a0 t failed the program of the tool "t": invalid reply of the program: 0 of the members result, error and recorded: true: want one: "{\"answer\":1}\n"`}, ""},
		"two members":  {`read a; echo '{"result":1,"error":"x"}'; read b`, []string{`0.0 a0 t failed the program of the tool "t": invalid reply of the program: 2 of`}, ""},
		"long garbage": {`read a; head -c 300 /dev/zero | tr '\0' x; echo; read b`, []string{`0.0 a0 t failed the program of the tool "t": invalid reply of the program (invalid character 'x' looking for beginning of value): want a JSON object with a result: "` + strings.Repeat("x", 200) + `"`}, ""},
		"endless":      {`read a; cat /dev/zero`, []string{`0.0 a0 t failed the program of the tool "t": the program wrote a line of more than 16777216 bytes to its standard output`}, ""},
		"too many":     {`while read a; do echo '{"result":"x"}'; done; echo '{"result":"y"}'`, []string{"0.0 a0 t same", "1.0 a1 t same"}, `the program wrote more lines than it was asked: "{\"result\":\"y\"}\n"`},
		"a late exit":  {`while read a; do echo '{"result":"x"}'; done; echo no >&2; exit 4`, []string{"0.0 a0 t same", "1.0 a1 t same"}, `the program answered all lines and then failed: exit status 4; its standard error: no`},
		"a child left": {`sleep 100 & while read a; do echo '{"result":"x"}'; done`, []string{"0.0 a0 t same", "1.0 a1 t same"}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := ofProgram(t, rerun.Program{Command: c.command, Timeout: time.Minute})
			for i := range min(len(got), len(c.want)) {
				got[i] = got[i][:min(len(got[i]), len(c.want[i]))]
			}
			want := c.want
			if len(want) == 1 && len(got) == 2 { // a failed program gets no further calls
				if !strings.Contains(got[1], "failed") {
					t.Errorf("after a failure: %s", got[1])
				}
				got = got[:1]
			}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("calls (-want +got):\n%s", diff)
			}
			if text := fmt.Sprint(err); (err != nil) != (c.err != "") || !strings.HasSuffix(text, c.err) && err != nil {
				t.Errorf("got the error %v, want the suffix %q", err, c.err)
			}
		})
	}
}

// TestProgramTimeout checks that a program without a reply in time fails, even if it ignores signals.
func TestProgramTimeout(t *testing.T) {
	for command, want := range map[string]string{
		`sleep 100`:                          `0.0 a0 t failed the program of the tool "t": the program sent no reply within 1ms`,
		`trap "" TERM INT; sleep 100 & wait`: `0.0 a0 t failed the program of the tool "t": the program sent no reply within 1ms`,
	} {
		got, err := ofProgram(t, rerun.Program{Command: command, Timeout: time.Millisecond})
		if err != nil || len(got) == 0 || got[0] != want {
			t.Errorf("got %q and %v, want %q first", got, err, want)
		}
	}
}

// What a program gets is one line a call, and a process is for one run.
func TestProgramCalls(t *testing.T) {
	dir := t.TempDir()
	p := rerun.Program{Command: `echo new >> got; while read -r a; do echo "$a" >> got; echo "{\"result\":\"$X\"}"; done`, Dir: dir, Env: append(os.Environ(), "X=x")}
	for range 2 {
		if got, err := ofProgram(t, p); err != nil || got[0] != "0.0 a0 t same" {
			t.Fatalf("got %v, %v", got, err)
		}
	}
	got, err := os.ReadFile(dir + "/got")
	if err != nil {
		t.Fatal(err)
	}
	const one = `new
{"run":"run-1","case":"c","epoch":-1,"step":0,"index":0,"tool":"t","arguments":{"n":"<0>"}}
{"run":"run-1","case":"c","epoch":-1,"step":1,"index":0,"tool":"t","arguments":{"n":"<1>"}}
`
	if diff := cmp.Diff(one+one, string(got)); diff != "" {
		t.Errorf("input of the program (-want +got):\n%s", diff)
	}
}

// Tools of one command are one process; one that is named goes before All.
func TestPrograms(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("there is no sh")
	}
	counts := rerun.Program{Command: `n=0; while read a; do n=$((n+1)); echo "{\"result\":\"$n\"}"; done`}
	other := rerun.Program{Command: `while read a; do echo '{"result":"other"}'; done`}
	run := runs(t, oneLine(chat))[0]
	for name, c := range map[string]struct {
		programs rerun.Programs
		want     string
	}{
		"one of two": {rerun.Programs{Tools: map[string]rerun.Program{"find": counts, "bye": counts}}, "1 noon 2 3"},
		"all":        {rerun.Programs{All: &other}, "other other other other"},
		"both":       {rerun.Programs{Tools: map[string]rerun.Program{"now": counts}, All: &other}, "other 1 other other"},
		"none":       {rerun.Programs{}, `{"state":"sent","at":1} noon Error: no order the recording has no result of this call`},
	} {
		out, err := c.programs.Rerun(t.Context(), &run, nil)
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		for _, call := range out.Calls {
			got = append(got, call.Now)
		}
		if diff := cmp.Diff(c.want, strings.Join(got, " ")); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
}

// TestProgramCanceled checks that a canceled context ends the programs.
func TestProgramCanceled(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("there is no sh")
	}
	ctx, stop := context.WithCancel(t.Context())
	p := rerun.Program{Command: "echo up >&2; sleep 100", Stderr: stopper(stop)}
	ps := rerun.Programs{All: &p}
	if _, err := ps.Rerun(ctx, calls(t, 1), nil); !errors.Is(err, context.Canceled) {
		t.Errorf("got the error %v", err)
	}
}

// stopper stops when something is written to it.
type stopper context.CancelFunc

func (s stopper) Write(p []byte) (int, error) {
	s()
	return len(p), nil
}
