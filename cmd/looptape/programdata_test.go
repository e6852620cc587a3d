package main

import (
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"golang.org/x/tools/txtar"

	"github.com/looptape/looptape/cmd/looptape/internal/cli/clitest"
)

// programFiles are the files of programCommands.
const programFiles = `
-- hello.yaml --
version: 2
models: {main: [{text: Hello.}]}
input: Hello.
-- vcr.yaml --
version: 1
interactions:
- request:
    body: '{"model":"m"}'
    form: {}
    headers: {}
    url: https://api.openai.com/v1/chat/completions
    method: POST
  response:
    body: "{}"
    headers: {}
    status: 200 OK
    code: 200
    duration: 1ms
-- runs.jsonl --
{"id":"a","case":"a","messages":[{"role":"user","content":"Where?"},{"role":"assistant","content":null,"tool_calls":[{"id":"c1","type":"function","function":{"name":"find","arguments":"{}"}}]},{"role":"tool","tool_call_id":"c1","content":"here"},{"role":"assistant","content":"Here."}]}
-- judge.yaml --
suite: 1
runs: [runs.jsonl]
scorers:
  - kind: program
    settings: {command: [sh, -c, 'exit 4', MARKER]}
-- good.yaml --
suite: 1
runs: [runs.jsonl]
scorers:
  - kind: program
    settings: {command: [sh, -c, 'echo "{\"score\":1}"', MARKER]}
-- none.yaml --
suite: 1
runs: [runs.jsonl]
scorers:
  - kind: program
    settings: {command: [./none, MARKER]}
-- late.yaml --
suite: 1
runs: [runs.jsonl]
scorers:
  - kind: program
    settings: {command: [sh, -c, 'sleep 100', MARKER], timeout: 0.01}
`

// programCommands are command lines with programs whose arguments, environment and headers have MARKER.
const programCommands = `
serve hello.yaml -- sender /chat/completions MARKER
serve --format json --report out hello.yaml -- sender /chat/completions MARKER
serve --key k hello.yaml -- sender /chat/completions MARKER
serve hello.yaml -- sender /none MARKER
serve hello.yaml -- sh -c false MARKER
serve --timeout 1ms hello.yaml -- sender /none MARKER
serve --quirk all hello.yaml -- sender /chat/completions MARKER
serve --quirk all --format json --report out hello.yaml -- sender /chat/completions MARKER
serve hello.yaml -- ./none MARKER
replay vcr.yaml -- sender /chat/completions MARKER
replay vcr.yaml -- sender /none MARKER
replay --report out vcr.yaml -- sender /chat/completions MARKER
replay vcr.yaml -- sh -c false MARKER
replay vcr.yaml -- sh -c 'kill $$' MARKER
replay vcr.yaml -- ./none MARKER
record -o out --upstream openai=http://127.0.0.1:1 -- sender /x MARKER
record -o out --upstream openai=SERVER/redirect -- sender /x MARKER
record -o out --upstream openai=SERVER/broken -- sender /x MARKER
record -o out --upstream openai=SERVER/upgrade -- sender /x MARKER
record -o out --upstream openai=SERVER -- sh -c false MARKER
record -o out --upstream openai=SERVER -- ./none MARKER
eval rerun --tool find=true;#MARKER runs.jsonl
eval rerun --tool find=true;#MARKER --format json runs.jsonl
eval rerun --tool find=true;#MARKER --format jsonl runs.jsonl
eval rerun --tools-cmd TOKEN=MARKER;false runs.jsonl
eval rerun --tools-cmd read;echo;exit>&2;#MARKER runs.jsonl
eval rerun --tools-cmd read;echo${IFS}'{"result":"x"}';false;#MARKER runs.jsonl
eval rerun --timeout 1ms --tools-cmd sleep${IFS}100;#MARKER runs.jsonl
eval score judge.yaml
eval score --allow-programs judge.yaml
eval score --allow-programs --format json judge.yaml
eval score --allow-programs --format jsonl judge.yaml
eval score --allow-programs -o out judge.yaml
eval score --allow-programs none.yaml
eval score --allow-programs late.yaml
eval report --allow-programs judge.yaml
eval report --allow-programs --format markdown judge.yaml
eval report --allow-programs --format json judge.yaml
eval report --allow-programs --format jsonl judge.yaml
eval report --allow-programs --format csv judge.yaml
eval report --allow-programs --format html judge.yaml
eval gate --allow-programs --baseline base.json --update good.yaml
eval gate --allow-programs --baseline base.json good.yaml
eval gate --allow-programs --baseline base.json judge.yaml
eval compare --allow-programs good.yaml judge.yaml
eval score --allow-programs -o scores good.yaml
eval merge scores
eval gate --baseline base.json --format json scores
eval gate --baseline base.json --format junit scores
eval gate --baseline base.json --format markdown scores
eval gate --baseline base.json --format github scores
`

// No command prints arguments, variables or headers of a program, in any format or file.
func TestProgramDataIsNotPrinted(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("there is no sh")
	}
	const marker = "Marker7Zq2pLw9"
	t.Chdir(t.TempDir())
	for _, f := range txtar.Parse([]byte(programFiles)).Files {
		if err := os.WriteFile(f.Name, []byte(strings.ReplaceAll(string(f.Data), "MARKER", marker)), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	kept, err := filepath.Glob("*")
	if err != nil {
		t.Fatal(err)
	}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch {
		case strings.HasPrefix(r.URL.Path, "/redirect"):
			http.Redirect(w, r, "https://other.example/"+r.Header.Get("X-Custom"), http.StatusFound)
		case strings.HasPrefix(r.URL.Path, "/broken"):
			panic(http.ErrAbortHandler)
		case strings.HasPrefix(r.URL.Path, "/upgrade"):
			w.Header().Set("Upgrade", "websocket")
			w.WriteHeader(http.StatusSwitchingProtocols)
		}
	}))
	defer server.Close()
	for line := range strings.Lines(strings.TrimSpace(programCommands)) {
		line = strings.TrimSpace(line)
		t.Run(line, func(t *testing.T) {
			args := strings.Fields(strings.NewReplacer("MARKER", marker, "SERVER", server.URL).Replace(line))
			w, out, errs := clitest.Terminal(map[string]string{"MY_TOKEN": marker, "OPENAI_API_KEY": marker})
			w.Environ = func() []string { return append(os.Environ(), "MY_TOKEN="+marker, "OPENAI_API_KEY="+marker) }
			_ = execute(args, w) // the status is that of the program
			text := out.String() + errs.String()
			names, err := filepath.Glob("*")
			if err != nil {
				t.Fatal(err)
			}
			for _, name := range names {
				if content, err := os.ReadFile(name); err == nil && !strings.Contains(strings.Join(kept, " "), name) && !strings.HasPrefix(name, "out.journal") {
					text += string(content)
				}
			}
			if strings.Contains(text, marker) || text == "" {
				t.Errorf("the output is %s", text)
			}
			_ = os.Remove("out")
			_ = os.Remove("out.journal")
		})
	}
}
