package serve

import (
	"flag"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"

	"github.com/looptape/looptape/fake"
	"github.com/looptape/looptape/fake/wire"

	"github.com/looptape/looptape/cmd/looptape/internal/cli"
	"github.com/looptape/looptape/cmd/looptape/internal/cli/clitest"
)

var update = flag.Bool("update", false, "rewrite the expected files")

// The report on clients with many kinds of errors, in one session and in two.
func TestServeReport(t *testing.T) {
	const (
		chat  = "/openai/v1/chat/completions"
		hi    = `{"role":"user","content":"hi"}`
		call  = `{"role":"assistant","content":null,"tool_calls":[{"id":"call_1","type":"function","function":{"name":"weather","arguments":"{}"}}]}`
		done  = `{"role":"tool","tool_call_id":"call_1","content":"rain"},{"role":"assistant","content":"It rains."}`
		more  = `{"role":"user","content":"Thank you very much for that, and how will it be in the next days?"}`
		again = call + "," + hi
	)
	for name, prefixes := range map[string][]string{"one_lane": {""}, "two_lanes": {"", "/lane/second"}} {
		t.Run(name, func(t *testing.T) {
			s := wire.New(wire.Config{
				Suppress: map[string]string{"INV-24": "it tries what is hot"},
				Script: &fake.Script{Models: []fake.ModelScript{
					{Name: "main", Responses: []fake.Response{{Calls: []fake.Call{{ID: "call_1", Name: "weather", Arguments: "{}"}}}, {Text: "It rains."}}},
					{Name: "helper", Responses: []fake.Response{{Text: "one"}}},
				}},
			})
			for _, prefix := range prefixes {
				for _, messages := range []string{hi, hi + "," + again, hi + "," + again, hi + "," + call + "," + done + "," + more, hi + "," + call + "," + done + "," + more} {
					send(t, s, prefix+chat, `{"model":"gpt-5","messages":[`+messages+`]}`)
				}
				send(t, s, prefix+chat, `{"model":"gpt-5","temperature":7,"messages":[`+hi+`]}`)
			}
			send(t, s, "/v1/chat/completions", hi)
			send(t, s, "/v1/chat/completions", hi)
			send(t, s, "/elsewhere", hi)
			w, out, _ := clitest.Terminal(nil)
			w.OutTerminal = false
			format := "table"
			r := s.Done()
			(&server{command: command{w: w, format: &format}}).printReport(&r, r.OK())
			if err := w.OutputError(); err != nil {
				t.Fatal(err)
			}
			for line := range strings.Lines(out.String()) {
				if utf8.RuneCountInString(line) > cli.Columns+1 {
					t.Errorf("a line is too long: %s", line)
				}
			}
			golden := filepath.Join("testdata", "report", name+".txt")
			if *update {
				if err := os.WriteFile(golden, out.Bytes(), 0o600); err != nil {
					t.Fatal(err)
				}
			}
			want, err := os.ReadFile(golden)
			if diff := cmp.Diff(string(want), out.String()); diff != "" || err != nil {
				t.Errorf("%v; the report (-want +got):\n%s", err, diff)
			}
		})
	}
}

func send(t *testing.T, s *wire.Server, path, body string) {
	t.Helper()
	r := httptest.NewRequestWithContext(t.Context(), http.MethodPost, path, strings.NewReader(body))
	r.Header.Set("Authorization", "Bearer some-key")
	s.ServeHTTP(httptest.NewRecorder(), r)
}
