package wire_test

import (
	"bytes"
	"cmp"
	"encoding/json"
	"strings"
	"testing"

	"github.com/sebdah/goldie/v2"
	"github.com/tidwall/gjson"

	"github.com/looptape/looptape/fake"
	"github.com/looptape/looptape/fake/wire"
)

// exchange is a request to the strict server with its response.
type exchange struct {
	URL      string `json:"url"`
	Request  string `json:"request"`
	Status   int    `json:"status"`
	Response string `json:"response"`
}

// exchanges are those of a row.
type exchanges struct {
	Rule     string     `json:"rule"`
	Name     string     `json:"name,omitempty"`
	Rejected []exchange `json:"rejected"` // the last; one before it gets the response that it repeats
	Accepted exchange   `json:"accepted"`
}

// TestStrictExchanges writes the requests of the rows with their responses to testdata. The command
// check is tested with them.
func TestStrictExchanges(t *testing.T) {
	var out bytes.Buffer
	lines := json.NewEncoder(&out)
	lines.SetEscapeHTML(false)
	for _, row := range strictRows() {
		usual := "/lane/main" + cmp.Or(row.path, strictPaths[row.id[:2]])
		path, body := usual, row.wrong
		if rest, ok := strings.CutPrefix(row.wrong, "@"); ok { // @PATH BODY
			path, body, _ = strings.Cut(rest, " ")
		}
		bodies := []string{body}
		if row.script != nil {
			bodies = []string{beginning(t, body), body}
		}
		x := exchanges{row.id, row.name, row.exchanges(t, path, cmp.Or(row.key, strictKey), bodies...), row.exchanges(t, usual, strictKey, row.right)[0]}
		if err := lines.Encode(x); err != nil {
			t.Fatal(err)
		}
	}
	goldie.New(t, goldie.WithFixtureDir("testdata"), goldie.WithNameSuffix(".jsonl"), goldie.WithDiffEngine(goldie.ClassicDiff)).Assert(t, "exchanges", out.Bytes())
}

// exchanges sends the bodies to a new server. Of the ids and the encrypted content that the server
// generates, each has those of the response before it.
func (row strictRow) exchanges(t *testing.T, path, key string, bodies ...string) (list []exchange) {
	t.Helper()
	script := append(row.script[:len(row.script):len(row.script)], fake.Response{Text: "the last turn"})
	s := wire.New(wire.Config{Model: fake.NewModel(script...), Key: strictKey, Models: strictModels})
	for _, body := range bodies {
		if list != nil {
			id := strings.TrimPrefix(gjson.Get(list[0].Response, "id").Str, "resp_")
			body = strings.NewReplacer(
				madeContent("rs_"+firstAnswer+"_0"), madeContent("rs_"+id+"_0"),
				madeContent("rs_"+firstAnswer+"_1"), madeContent("rs_"+id+"_1"),
				firstAnswer, id,
			).Replace(body)
		}
		w := asked(t, s, path, key, body)
		list = append(list, exchange{"https://api.example.com" + strings.TrimPrefix(path, "/lane/main"), body, w.Code, w.Body.String()})
	}
	return list
}

// beginning returns the request with nothing but the first message of the user.
func beginning(t *testing.T, body string) string {
	t.Helper()
	var members map[string]json.RawMessage
	if err := json.Unmarshal([]byte(body), &members); err != nil {
		t.Fatal(err)
	}
	delete(members, "previous_response_id")
	for name, user := range map[string]string{"input": itemUser, "messages": claudeUser} {
		if members[name] != nil {
			members[name] = json.RawMessage("[" + user + "]")
		}
	}
	text, err := json.Marshal(members)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}
