package middleware_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/looptape/looptape/fake"
	"github.com/looptape/looptape/llm"
	"github.com/looptape/looptape/loop"
	"github.com/looptape/looptape/loop/middleware"
	"github.com/looptape/looptape/trace"
)

type count struct {
	N int `json:"n"`
}

func outputOf[T any](t *testing.T) *middleware.Output {
	t.Helper()
	o, err := middleware.OutputOf[T]()
	if err != nil {
		t.Fatal(err)
	}
	return o
}

func TestOutputRead(t *testing.T) {
	o := outputOf[count](t)
	for text, want := range map[string]int{
		`{"n":1}`:                 1,
		" \n{\"n\":2}\n":          2,
		"```json\n{\"n\":3}\n```": 3,
		"```\n{\"n\":4}```":       4,
		"Here it is:\n```json\n{\"n\":5}\n```\nGood luck.": 5,
	} {
		var got count
		if _, err := o.Read(text, &got); got.N != want || err != nil {
			t.Errorf("%q: got %+v, %v", text, got, err)
		}
	}
	for _, text := range []string{" {\"n\":1}\n", "```\n {\"n\":1}\n```"} {
		if raw, err := o.Read(text, nil); string(raw) != `{"n":1}` || err != nil {
			t.Errorf("%q: got %q, %v", text, raw, err)
		}
	}
	const prefix = "the answer does not match the required output: "
	for text, want := range map[string]string{
		`nope`:                              "invalid character",
		``:                                  "unexpected end of JSON input",
		`{"n":"x"}`:                         "validating",
		`{}`:                                "missing properties",
		"```json\n{\"n\":3}":                "invalid character",
		"```\n{\"n\":1}\n```\n```\n{}\n```": "invalid character",
		`{"n":99999999999999999999}`:        "cannot unmarshal",
	} {
		_, err := o.Read(text, new(count))
		bad, ok := errors.AsType[*middleware.OutputError](err)
		if !ok || bad.Text != text || !strings.HasPrefix(err.Error(), prefix) || !strings.Contains(err.Error(), want) || errors.Unwrap(err) != bad.Err {
			t.Errorf("%q: got error %v, want one with %q", text, err, want)
		}
	}
	const big = `{"n":99999999999999999999}` // an integer that overflows the Go type
	if _, err := outputOf[count](t).Read(big, nil); err == nil {
		t.Error("Read accepts a value that does not fit the Go type")
	}
	o, err := middleware.NewOutput([]byte(`{"properties":{"n":{"type":"integer"}}}`))
	if raw, err2 := o.Read(big, nil); err != nil || err2 != nil || string(raw) != big {
		t.Errorf("without a Go type: got %s, %v, %v", raw, err, err2)
	}
	if _, err := o.Read(big, new(count)); err == nil || !strings.HasPrefix(err.Error(), prefix) {
		t.Errorf("into a value: got error %v", err)
	}
	fenced := "{\"n\":1,\"s\":\"```\\n{}\\n```\"}" // a fence within a JSON string does not count
	var got map[string]any
	if _, err := outputOf[map[string]any](t).Read(fenced, &got); got["n"] != 1.0 || err != nil {
		t.Errorf("got %v, %v", got, err)
	}
}

func TestNewOutput(t *testing.T) {
	for schema, want := range map[string]string{
		``:                     "middleware: the output schema is not a JSON object",
		`true`:                 "middleware: the output schema is not a JSON object",
		`{"type":1}`:           "middleware: the output schema: ",
		`{"$ref":"#/$defs/x"}`: "middleware: the output schema: ",
	} {
		if _, err := middleware.NewOutput([]byte(schema)); err == nil || !strings.HasPrefix(err.Error(), want) {
			t.Errorf("%s: got error %v", schema, err)
		}
	}
	if _, err := middleware.OutputOf[chan int](); err == nil || !strings.HasPrefix(err.Error(), "middleware: the output schema: ") {
		t.Errorf("a type without a schema: got error %v", err)
	}
	if _, err := middleware.NewOutput([]byte(`{"type":"array","items":{"type":"integer"}}`)); err != nil {
		t.Errorf("a final answer need not be an object: %v", err)
	}
}

// ends runs an agent whose final answers must be counts, and returns how the run ended.
func ends(t *testing.T, cfg loop.Config, maxRetries int, turns ...fake.Response) (*loop.Result, *fake.Model, error) {
	t.Helper()
	m := fake.NewModel(turns...)
	cfg.Tools, cfg.Middleware = []loop.Tool{tool}, []loop.Middleware{outputOf[count](t).Middleware(maxRetries)}
	agent, err := loop.New(m, &cfg)
	if err != nil {
		t.Fatal(err)
	}
	res, err := agent.Run(t.Context(), loop.Prompt("go"))
	return res, m, err
}

func TestOutputMiddleware(t *testing.T) {
	good, bad := fake.Response{Text: `{"n":1}`}, fake.Response{Text: "nope"}
	talk := call("1")
	talk.Text = "nope, not yet"
	paused := fake.Response{Text: "nope", FinishReason: llm.FinishPause}
	for name, c := range map[string]struct {
		cfg        loop.Config
		maxRetries int
		turns      []fake.Response
		stop       trace.Reason
		fails      string // the text in the error
		calls      int
	}{
		"immediately":                        {turns: []fake.Response{good}, stop: trace.ReasonEndTurn, calls: 1},
		"after tools":                        {turns: []fake.Response{talk, good}, stop: trace.ReasonEndTurn, calls: 2},
		"after a paused response":            {turns: []fake.Response{paused, good}, stop: trace.ReasonEndTurn, calls: 2},
		"not retried":                        {turns: []fake.Response{bad}, stop: middleware.ReasonOutput, fails: "nope", calls: 1},
		"retried":                            {maxRetries: 1, turns: []fake.Response{bad, good}, stop: trace.ReasonEndTurn, calls: 2},
		"retried without success":            {maxRetries: 2, turns: []fake.Response{bad, bad, {Text: "never"}}, stop: middleware.ReasonOutput, fails: "never", calls: 3},
		"retried, with tools between":        {maxRetries: 1, turns: []fake.Response{bad, call("1"), {Text: "again"}}, stop: middleware.ReasonOutput, fails: "again", calls: 3},
		"the limit comes first":              {cfg: loop.Config{MaxSteps: 1}, maxRetries: 1, turns: []fake.Response{bad}, stop: trace.ReasonMaxSteps, calls: 1},
		"a forced response":                  {cfg: loop.Config{MaxSteps: 1, OnStepLimit: loop.StepLimitForceFinal}, maxRetries: 1, turns: []fake.Response{talk, good}, stop: trace.ReasonForced, calls: 2},
		"a bad forced response":              {cfg: loop.Config{MaxSteps: 1, OnStepLimit: loop.StepLimitForceFinal}, maxRetries: 1, turns: []fake.Response{talk, bad}, stop: trace.ReasonForced, fails: "nope", calls: 2},
		"a bad forced response, not retried": {cfg: loop.Config{MaxSteps: 1, OnStepLimit: loop.StepLimitForceFinal}, turns: []fake.Response{talk, bad}, stop: middleware.ReasonOutput, fails: "nope", calls: 2},
	} {
		res, m, err := ends(t, c.cfg, c.maxRetries, c.turns...)
		text := ""
		if e, ok := errors.AsType[*middleware.OutputError](err); ok {
			text = e.Text
		}
		if res.StopReason != c.stop || text != c.fails || (err == nil) != (c.fails == "") || len(m.RecordedRequests()) != c.calls {
			t.Errorf("%s: got stop %q, error %v, %d calls", name, res.StopReason, err, len(m.RecordedRequests()))
		}
	}
}

// Each request contains the schema, and the retry contains the error.
func TestOutputRequests(t *testing.T) {
	_, m, err := ends(t, loop.Config{System: "Count."}, 1, call("1"), fake.Response{Text: "nope"}, fake.Response{Text: `{"n":1}`})
	if err != nil {
		t.Fatal(err)
	}
	const schema = `{"type":"object","properties":{"n":{"type":"integer"}},"required":["n"],"additionalProperties":false}`
	for i, r := range m.RecordedRequests() {
		if diff := cmp.Diff(schema, string(r.Request.Settings.OutputSchema)); diff != "" || r.Request.System.Text() != "Count." {
			t.Errorf("request %d, its schema (-want +got):\n%s", i, diff)
		}
	}
	last := m.RecordedRequests()[2].Request.Messages
	want := "Your last answer cannot be taken: invalid character 'o' in literal null (expecting 'u'). " +
		"Answer again, with JSON alone that follows this schema: " + schema
	if diff := cmp.Diff(want, last[len(last)-1].Text()); diff != "" || last[len(last)-1].Role != llm.RoleUser || last[len(last)-2].Text() != "nope" {
		t.Errorf("the retry request (-want +got):\n%s", diff)
	}
}
