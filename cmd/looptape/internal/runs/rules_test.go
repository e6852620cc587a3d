package runs

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	gocmp "github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"github.com/sebdah/goldie/v2"

	"github.com/looptape/looptape/cmd/looptape/internal/cli/clitest"
	"github.com/looptape/looptape/fake/wire"
	"github.com/looptape/looptape/trace/importer"
)

// exchange is one of fake/wire/testdata/exchanges.jsonl: a request to the strict server with its
// response.
type exchange struct {
	URL, Request, Response string
	Status                 int
}

// har returns the exchanges as a HAR file.
func har(t *testing.T, list []exchange) []byte {
	t.Helper()
	type object = map[string]any
	entries := make([]object, 0, len(list))
	for _, x := range list {
		entries = append(entries, object{
			"request":  object{"method": "POST", "url": x.URL, "postData": object{"mimeType": "application/json", "text": x.Request}},
			"response": object{"status": x.Status, "content": object{"mimeType": "application/json", "text": x.Response}},
		})
	}
	text, err := json.Marshal(object{"log": object{"version": "1.2", "creator": object{"name": "x", "version": "1"}, "entries": entries}})
	if err != nil {
		t.Fatal(err)
	}
	return text
}

func checkHAR(t *testing.T, list []exchange) *report {
	t.Helper()
	src, err := importer.Open("x.har", bytes.NewReader(har(t, list)))
	if err != nil {
		t.Fatal(err)
	}
	r := newReport(false)
	r.http(src, "x.har", "")
	return r
}

// foundIn returns what check reports for a recording: invariants, "not read", or nothing.
func foundIn(t *testing.T, list []exchange) (found []string) {
	t.Helper()
	r := checkHAR(t, list)
	for _, v := range r.Violations {
		text := v.Invariant
		if v.Level == "note" {
			text += " (note)"
		}
		found = append(found, text)
	}
	if len(r.Unreadable) > 0 {
		found = append(found, "not read")
	}
	return found
}

// unseen are the rules, or a request of one by its name, that check does not report, with the reason.
var unseen = map[string]string{
	"SO-12": "a setting",
	"SO-13": "a setting",
	"SO-16": "the model",
	"SO-17": "the key",
	"SR-10": "skipped: the item is not in the recording",
	"SR-11": "skipped: the response is not in the recording",
	"SA-06": "a setting",
	"SA-21": "the key",

	"SA-16 not on":   "without `thinking` in the request",
	"SA-16 redacted": "without `thinking` in the request",
	"SG-16":          "the model",
	"SG-17":          "the key",
}

// TestRules writes what check reports for a recording of each request that the strict server
// rejects. The docs have it as a column of the rules. check reports no error for the most similar
// valid request, with its response and with that of the rejected one.
func TestRules(t *testing.T) {
	f, err := os.Open("../../../../fake/wire/testdata/exchanges.jsonl")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = f.Close() }() // nothing was written
	var ids []string
	byRule := map[string][]string{}
	for d := json.NewDecoder(f); d.More(); {
		var row struct {
			Rule, Name string
			Rejected   []exchange
			Accepted   exchange
		}
		if err := d.Decode(&row); err != nil {
			t.Fatal(err)
		}
		if !slices.Contains(ids, row.Rule) {
			ids = append(ids, row.Rule)
		}
		found := foundIn(t, row.Rejected)
		switch reason := unseen[row.Rule+" "+row.Name]; {
		case reason != "" && found == nil:
			found = []string{"no: " + reason}
		case reason != "", found == nil && unseen[row.Rule] == "":
			t.Errorf("%s %s: got %q, want either a violation or a reason", row.Rule, row.Name, found)
		}
		byRule[row.Rule] = append(byRule[row.Rule], found...)
		valid, refused := row.Accepted, row.Accepted
		refused.Status, refused.Response = http.StatusBadRequest, row.Rejected[len(row.Rejected)-1].Response
		for _, x := range []exchange{valid, refused} {
			isPart := strings.Contains(x.Request, `"previous_response_id"`) || strings.Contains(x.Request, `"item_reference"`) // the rest is not there
			if found := foundIn(t, []exchange{x}); slices.ContainsFunc(found, func(s string) bool { return !strings.HasSuffix(s, "(note)") && (s != "not read" || !isPart) }) {
				t.Errorf("%s %s: the valid request with status %d: got %v, want no error", row.Rule, row.Name, x.Status, found)
			}
		}
	}
	var out strings.Builder
	slices.SortFunc(ids, func(a, b string) int {
		return cmp.Or(cmp.Compare(strings.Index("ORAG", a[1:2]), strings.Index("ORAG", b[1:2])), strings.Compare(a, b))
	})
	for _, id := range ids {
		slices.Sort(byRule[id])
		text := strings.Join(slices.Compact(byRule[id]), ", ")
		if reason := unseen[id]; reason != "" {
			text = "no: " + reason
		}
		_, _ = fmt.Fprintf(&out, "%s\t%s\n", id, text)
	}
	goldie.New(t, goldie.WithFixtureDir("testdata"), goldie.WithNameSuffix(".tsv"), goldie.WithDiffEngine(goldie.ColoredDiff)).Assert(t, "rules", []byte(out.String()))
}

// TestRejections checks the level of a rule's violation. It depends on the response: nothing is
// reported if it accepts the request, an error if its status is that of an invalid request, and
// otherwise a note. A setting that the provider rejects as well does not matter.
func TestRejections(t *testing.T) {
	const (
		stream = "event: message_start\ndata: {\"type\":\"message_start\",\"message\":{\"id\":\"m\",\"role\":\"assistant\",\"content\":[],\"usage\":{\"input_tokens\":1,\"output_tokens\":1}}}\n\n"
		failed = "event: error\ndata: {\"type\":\"error\",\"error\":{\"type\":\"overloaded_error\",\"message\":\"later\"}}\n\n"
		wrong  = `{"type":"error","error":{"type":"invalid_request_error","message":"no"}}`
	)
	const message = "the provider rejects the request by rule SA-11: messages: text content blocks must be non-empty"
	for name, c := range map[string]struct {
		status   int
		response string
		want     string // the level
	}{
		"accepted":                      {200, `{"id":"m","role":"assistant","content":[{"type":"text","text":"ok"}],"stop_reason":"end_turn"}`, ""},
		"invalid":                       {400, wrong, "error"},
		"invalid, by another status":    {422, wrong, "error"},
		"too many requests":             {429, wrong, "note"},
		"an error of the server":        {500, wrong, "note"},
		"no response":                   {0, "", "note"},
		"an error instead of a message": {200, failed, "note"},
		"an error within a message":     {200, stream + failed, ""},
	} {
		t.Run(name, func(t *testing.T) {
			x := exchange{URL: "https://api.anthropic.com/v1/messages", Request: `{"model":"m","messages":[{"role":"user","content":[{"type":"text","text":"hi"},{"type":"text","text":""}]}]}`, Response: c.response, Status: c.status}
			r := checkHAR(t, []exchange{x})
			var want []violation
			if c.want != "" {
				want = []violation{{"INV-24", c.want, "interaction-1", -1, message, ""}}
			}
			if diff := gocmp.Diff(want, r.Violations, cmpopts.EquateEmpty()); diff != "" {
				t.Errorf("violations (-want +got):\n%s", diff)
			}
		})
	}
}

// TestEmptyTextOfSystemPrompt checks that an empty block of the system prompt is an error as one of a message is.
func TestEmptyTextOfSystemPrompt(t *testing.T) {
	const body = `{"model":"m","max_tokens":9,"system":[{"type":"text","text":"a"},{"type":"text","text":""}],"messages":[{"role":"user","content":"hi"}]}`
	x := exchange{URL: "https://api.anthropic.com/v1/messages", Request: body, Response: `{"type":"error","error":{"type":"invalid_request_error","message":"no"}}`, Status: http.StatusBadRequest}
	want := []violation{{"INV-24", "error", "interaction-1", -1, "the provider rejects the request by rule SA-11: system: text content blocks must be non-empty", ""}}
	if diff := gocmp.Diff(want, checkHAR(t, []exchange{x}).Violations); diff != "" {
		t.Errorf("violations (-want +got):\n%s", diff)
	}
	x.Status, x.Response = http.StatusOK, `{"id":"m","role":"assistant","content":[{"type":"text","text":"ok"}],"stop_reason":"end_turn"}`
	if got := checkHAR(t, []exchange{x}).Violations; len(got) > 0 {
		t.Errorf("accepted: violations %v", got)
	}
}

// TestEmptyTextOfBedrock checks that an empty text is an error unless the response shows that it was accepted. No rule
// of serve is of Bedrock.
func TestEmptyTextOfBedrock(t *testing.T) {
	const request = `{"messages":[{"role":"user","content":[{"text":"hi"},{"text":""}]}]}`
	for status, want := range map[int]int{200: 0, 400: 1, 0: 1} {
		x := exchange{URL: "https://bedrock-runtime.us-east-1.amazonaws.com/model/amazon.nova-lite-v1%3A0/converse", Request: request, Status: status, Response: `{"message":"no"}`}
		if status == http.StatusOK {
			x.Response = `{"output":{"message":{"role":"assistant","content":[{"text":"ok"}]}},"stopReason":"end_turn","usage":{"inputTokens":1,"outputTokens":1}}`
		}
		r := checkHAR(t, []exchange{x})
		if len(r.Violations) != want || want > 0 && (r.Violations[0].Invariant != "INV-24" || r.Violations[0].Level != "error") {
			t.Errorf("status %d: violations %v, want %d errors of INV-24", status, r.Violations, want)
		}
	}
}

// TestRulesAcceptRecorded checks the rules with the requests of all recordings of others that the
// provider accepted: no rule rejects one, except for servers that accept more than the provider
// whose protocol they have.
func TestRulesAcceptRecorded(t *testing.T) {
	want := map[string]string{
		// Mistral
		"test_synchronous_streaming_chat_completions_emits_expected_span_True_.yaml": "the provider rejects the request by rule SO-18",
		"test_mistral_model_thinking_part.yaml":                                      "the provider rejects the request by rule SO-05",
	}
	dir := filepath.Join(sharedDir(t), "data")
	w, _, _ := clitest.Terminal(nil)
	files, meter, err := w.Gather([]string{dir})
	if err != nil {
		t.Fatal(err)
	}
	requests, got := 0, map[string]string{}
	for _, file := range files {
		name, f, err := meter.OpenRecording(file.Name)
		if err != nil {
			t.Fatal(err)
		}
		src, err := importer.Open(name, f)
		if err == nil && src.Format.HTTP {
			for x, err := range src.Exchanges() {
				if err != nil || x.Protocol == nil || !x.Accepted || x.RequestBody == nil {
					continue
				}
				requests++
				for _, v := range wire.CheckConversation(x.Protocol, x.Request.Model, x.RequestBody) {
					got[filepath.Base(name)], _, _ = strings.Cut(v.Message, ":")
				}
			}
		}
		if err := f.Close(); err != nil {
			t.Fatal(err)
		}
	}
	t.Logf("%d accepted requests", requests)
	if diff := gocmp.Diff(want, got); diff != "" || requests == 0 {
		t.Errorf("rules that reject one of %d accepted requests (-want +got):\n%s", requests, diff)
	}
}
