package wire_test

import (
	"cmp"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	gocmp "github.com/google/go-cmp/cmp"
	"github.com/sebdah/goldie/v2"

	"github.com/looptape/looptape/fake"
	"github.com/looptape/looptape/fake/wire"
	"github.com/looptape/looptape/fake/wire/internal/strict"
)

// strictRow is a rejected request with the most similar accepted one.
type strictRow struct {
	id     string
	name   string // what reports it from the other rows of the id
	path   string // if it is not the usual one
	wrong  string
	right  string
	param  string // as it is; where it is empty, the rule's is
	code   string // if it is not the rule's
	said   string // the message, where it is known to be the provider's
	key    string // of the wrong request, if it is not the right one
	script []fake.Response
}

// strictPaths are the usual paths, by the beginning of an id.
var strictPaths = map[string]string{
	"SO": "/openai/v1/chat/completions", "SR": "/openai/v1/responses",
	"SA": "/anthropic/v1/messages", "SG": "/gemini/v1beta/models/some-model:generateContent",
}

func strictRows() []strictRow {
	return slices.Concat(chatRows(), responsesRows(), responsesPastRows(), messagesRows(), thinkingRows(), generateRows())
}

// strictModels are the known models.
var strictModels = []string{
	"some-model", "o4-mini", "gpt-5", "gpt-5-chat-latest", "o1-mini", "gpt-4o", "deepseek-reasoner", "mistral/small", "mistral-large", "z-ai/glm-4.6",
	"claude-sonnet-4-5", "claude-opus-4-6", "gemini-3-pro", "gemini-2.5-pro", "gemini-flash-latest", "gemini-3-pro-image",
}

const strictKey = "the-right-key"

// asked posts a body with a key.
func asked(t *testing.T, s *wire.Server, path, key, body string) *httptest.ResponseRecorder {
	t.Helper()
	r := httptest.NewRequestWithContext(t.Context(), http.MethodPost, path, strings.NewReader(body))
	if strings.TrimSpace(key) != "" {
		r.Header.Set("Authorization", "Bearer "+key)
	}
	r.Header.Set("Anthropic-Version", "2023-06-01")
	w := httptest.NewRecorder()
	s.ServeHTTP(w, r)
	return w
}

// errorBody is an error in the form of any provider.
type errorBody struct {
	Type      string
	RequestID string `json:"request_id"`
	Error     struct {
		Message, Status string
		Type            string
		Param           *string
		Code            any
		Details         []struct {
			Type            string `json:"@type"`
			Reason          string
			FieldViolations []struct{ Field, Description string }
		}
	}
}

var digits = regexp.MustCompile(`\d+`)

// A request that breaks a rule gets the provider's error and does not advance the scenario.
// The most similar valid request is accepted.
func TestStrict(t *testing.T) {
	rules := map[string]strict.Rule{}
	for _, r := range strict.Rules() {
		rules[r.ID] = r
	}
	for _, row := range strictRows() {
		t.Run(row.id+strings.TrimSuffix("/"+row.name, "/"), func(t *testing.T) {
			rule, ok := rules[row.id]
			if !ok {
				t.Fatalf("unknown rule %s", row.id)
			}
			script := row.script
			if script == nil {
				script = []fake.Response{{Text: "the first turn"}, {Text: "the second turn"}}
			}
			s := wire.New(wire.Config{Model: fake.NewModel(script...), Key: strictKey, Models: strictModels})
			path := "/lane/main" + cmp.Or(row.path, strictPaths[row.id[:2]])
			wrongPath, wrong, _ := strings.Cut(strings.TrimPrefix(row.wrong, "@"), " ") // @PATH BODY
			if !strings.HasPrefix(row.wrong, "@") {
				wrongPath, wrong = path, row.wrong
			}
			w := asked(t, s, wrongPath, cmp.Or(row.key, strictKey), wrong)
			var got errorBody
			if err := json.Unmarshal(w.Body.Bytes(), &got); err != nil {
				t.Fatalf("%v: %s", err, w.Body)
			}
			if w.Code != rule.Status {
				t.Errorf("status %d, want %d: %s", w.Code, rule.Status, w.Body)
			}
			if w.Header().Get("Content-Type") != "application/json" {
				t.Errorf("the header is %v", w.Header())
			}
			row.envelope(t, rule, got, w)
			if row.said != "" && got.Error.Message != row.said {
				t.Errorf("the message is\n%q, want\n%q", got.Error.Message, row.said)
			}
			report := s.Report().RejectedRequests
			if len(report) != 1 || report[0].ID != row.id {
				t.Fatalf("the report is %+v", report)
			}
			want := wire.RejectedRequest{
				Request: 1, Protocol: report[0].Protocol, Session: "main", ID: row.id, Status: rule.Status,
				Type: rule.Type, Param: row.wantParam(rule, report[0].Param), Code: cmp.Or(row.code, rule.Code), Message: strings.TrimSuffix(got.Error.Message, "\n"),
			}
			if diff := gocmp.Diff(want, report[0]); diff != "" {
				t.Errorf("the report (-want +got):\n%s", diff)
			}
			if w := asked(t, s, path, strictKey, row.right); w.Code != http.StatusOK || !strings.Contains(w.Body.String(), "the first turn") {
				t.Errorf("the right request got %d %s", w.Code, w.Body)
			}
		})
	}
}

// wantParam is the param as it has to be, where the rule leaves indexes open.
func (row strictRow) wantParam(rule strict.Rule, got string) string {
	switch {
	case row.param != "":
		return row.param
	case digits.ReplaceAllString(got, "n") == rule.Param:
		return got
	}
	return rule.Param
}

// envelope checks the body of an error against the provider's form.
func (row strictRow) envelope(t *testing.T, rule strict.Rule, got errorBody, w *httptest.ResponseRecorder) {
	t.Helper()
	e := got.Error
	switch row.id[:2] {
	case "SO", "SR":
		code, _ := e.Code.(string)
		param := ""
		if e.Param != nil {
			param = *e.Param
		}
		if e.Type != rule.Type || code != cmp.Or(row.code, rule.Code) || param != row.wantParam(rule, param) || (code == "") != (e.Code == nil) || (param == "") != (e.Param == nil) {
			t.Errorf("got %s", w.Body)
		}
		if w.Header().Get("X-Request-Id") == "" {
			t.Errorf("the header is %v", w.Header())
		}
	case "SA":
		if got.Type != "error" || e.Type != rule.Type || got.RequestID == "" || got.RequestID != w.Header().Get("Request-Id") {
			t.Errorf("got %s, and the header %v", w.Body, w.Header())
		}
	case "SG":
		code, _ := e.Code.(float64)
		reason := ""
		for _, d := range e.Details {
			if d.Type == "type.googleapis.com/google.rpc.ErrorInfo" {
				reason = d.Reason
			}
		}
		if int(code) != rule.Status || e.Status != rule.Type || reason != rule.Code {
			t.Errorf("got %s", w.Body)
		}
		if strings.HasPrefix(e.Message, "* ") != strings.HasSuffix(e.Message, "\n") {
			t.Errorf("the end of the line in %q", e.Message)
		}
	}
}

// The table has a row for each rule, and the rules are those of the golden and of the shared
// document.
func TestStrictRows(t *testing.T) {
	var want, rules []string
	for _, p := range []struct {
		id string
		n  int
	}{{"SO", 20}, {"SR", 17}, {"SA", 21}, {"SG", 17}} {
		for i := range p.n {
			want = append(want, fmt.Sprintf("%s-%02d", p.id, i+1))
		}
	}
	have := map[string]bool{}
	for _, row := range strictRows() {
		have[row.id] = true
	}
	for _, r := range strict.Rules() {
		rules = append(rules, r.ID)
		if !have[r.ID] {
			t.Errorf("no request shows %s", r.ID)
		}
	}
	if diff := gocmp.Diff(want, rules); diff != "" {
		t.Errorf("the rules (-want +got):\n%s", diff)
	}
	goldie.New(t, goldie.WithFixtureDir("testdata"), goldie.WithNameSuffix(".tsv"), goldie.WithDiffEngine(goldie.ColoredDiff)).Assert(t, "rules", ruleLines())
	src, err := os.ReadFile(filepath.Join(shared(), "quirks.md"))
	if err != nil {
		t.Skip("no list of rejected requests: no folder shared above this package, and LOOPTAPE_SHARED is not set")
	}
	for _, m := range regexp.MustCompile(`(?m)^\| (S[ORAG]-\d\d) \|`).FindAllStringSubmatch(string(src), -1) {
		if !slices.Contains(rules, m[1]) {
			t.Errorf("unknown rule %s", m[1])
		}
	}
}

// ruleLines returns one line per rule, with its fields separated by tabs.
// docs/strict-server.md shows them.
func ruleLines() []byte {
	var out strings.Builder
	for _, r := range strict.Rules() {
		_, _ = fmt.Fprintf(&out, "%s\t%s\t%d\t%s\t%s\t%s\n", r.ID, r.Description, r.Status, r.Type, r.Param, r.Code)
	}
	return []byte(out.String())
}
