package wire_test

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"hash/fnv"
	"net/http"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/tidwall/gjson"

	"github.com/looptape/looptape/fake"
	"github.com/looptape/looptape/fake/wire"
)

// Values that the server generated in the session main: the ids of its first response, of
// the repeated first response, of one in another session, and of the third one.
const (
	thirdAnswer = "00020001a82cfc9b00000000"
	firstAnswer = "00000001855b969100000000"
	secondTry   = "00000002825b91d800000000"
	otherAnswer = "00000001cbeff0d200000000"
)

// thoughtful is a script whose first response has reasoning and a call.
func thoughtful() []fake.Response {
	return []fake.Response{
		{Reasoning: "Hm.", Text: "the first turn", Calls: []fake.Call{{ID: "call_1", Name: "f", Arguments: "{}"}, {ID: "call_2", Name: "f", Arguments: "{}"}}},
		{Text: "the second turn"},
	}
}

// opaque is the same script with its own ids and encrypted content.
func opaque() []fake.Response {
	t := thoughtful()
	t[0].ResponseID = "resp_mine"
	t[0].ReasoningOpaque = json.RawMessage(`{"id":"rs_mine","encrypted_content":"gAAAAABmine"}`)
	t[0].Calls[0].Opaque = json.RawMessage(`{"id":"fc_mine"}`)
	return t
}

func responsesPastRows() []strictRow {
	talk := func(items ...string) string { return responsesBody(strings.Join(items, ",")) }
	call := func(id, callID string) string {
		return `{"type":"function_call","id":"` + id + `","call_id":"` + callID + `","name":"f","arguments":"{}"}`
	}
	think := func(id, encrypted string) string {
		return `{"type":"reasoning","id":"` + id + `","summary":[],"encrypted_content":"` + encrypted + `"}`
	}
	reference := func(id string) string { return `{"type":"item_reference","id":"` + id + `"}` }
	previous := func(id string) string { return `"previous_response_id":"` + id + `"` }
	two := strings.Replace(itemOutput, "_1", "_2", 1)
	rs, fc, fc2 := "rs_"+firstAnswer+"_0", "fc_"+firstAnswer+"_2", "fc_"+firstAnswer+"_3"
	made := madeContent(rs)
	right := talk(itemUser, think(rs, made), call(fc, "call_1"), call(fc2, "call_2"), itemOutput, two)
	mine := talk(itemUser, think("rs_mine", "gAAAAABmine"), call("fc_mine", "call_1"), itemOutput)
	gone := " Items are not persisted when `store` is set to false. Try again with `store` set to true, or remove this item from your input."
	return []strictRow{
		{id: "SR-01", name: "of the previous response", script: thoughtful(), wrong: responsesBody(itemOutput, previous("resp_"+firstAnswer)), right: responsesBody(itemOutput+","+two, previous("resp_"+firstAnswer)), said: "No tool output found for function call call_2."},
		{id: "SR-02", name: "with the previous response", script: opaque(), wrong: responsesBody(itemOutput+","+two+","+strings.Replace(itemOutput, "_1", "_3", 1), previous("resp_mine")), right: responsesBody(itemOutput+","+two, previous("resp_mine"))},
		{id: "SR-04", name: "of the previous response", script: thoughtful(), wrong: responsesBody(think(rs, made)+","+itemSaid+","+itemOutput+","+two, previous("resp_"+firstAnswer)), right: responsesBody(itemOutput+","+two, previous("resp_"+firstAnswer)), said: "Duplicate item found with id " + rs + ". Remove duplicate items from your input and try again."},
		{id: "SR-08", script: thoughtful(), wrong: talk(itemUser, call(fc, "call_1"), itemOutput), right: right, said: "Item '" + fc + "' of type 'function_call' was provided without its required 'reasoning' item: '" + rs + "'."},
		{id: "SR-08", name: "after it", script: thoughtful(), wrong: talk(itemUser, call(fc, "call_1"), think(rs, made), call(fc2, "call_2"), itemOutput, two), right: right},
		{id: "SR-08", name: "of a script", script: opaque(), wrong: talk(itemUser, call("fc_mine", "call_1"), itemOutput), right: mine, said: "Item 'fc_mine' of type 'function_call' was provided without its required 'reasoning' item: 'rs_mine'."},
		{id: "SR-08", name: "without ids", script: thoughtful(), wrong: talk(itemUser, call(fc, "call_1"), itemOutput), right: talk(itemUser, itemCall, itemOutput)},
		{id: "SR-09", script: thoughtful(), wrong: talk(itemUser, think(rs, made[:len(made)-1]), call(fc, "call_1"), call(fc2, "call_2"), itemOutput, two), right: right, said: "The encrypted content gAAA..." + made[len(made)-5:len(made)-1] + " could not be verified."},
		{id: "SR-09", name: "of another id", script: thoughtful(), wrong: talk(itemUser, think(rs, madeContent("rs_"+firstAnswer+"_1")), call(fc, "call_1"), itemOutput), right: right},
		{id: "SR-09", name: "of another session", script: thoughtful(), wrong: talk(itemUser, think("rs_1", madeContent("rs_"+otherAnswer+"_0")), itemSaid), right: talk(itemUser, think("rs_1", made), itemSaid)},
		{id: "SR-09", name: "altered without id", script: thoughtful(), wrong: talk(itemUser, strings.Replace(think("", made[:30]), `"id":"",`, "", 1), itemSaid), right: talk(itemUser, strings.Replace(think("", made), `"id":"",`, "", 1), itemSaid)},
		{id: "SR-09", name: "of a script", script: opaque(), wrong: talk(itemUser, think("rs_mine", "gAAAAABm"), call("fc_mine", "call_1"), itemOutput), right: mine, said: "The encrypted content gAAAAABm could not be verified."},
		{id: "SR-10", wrong: responsesBody(itemUser+","+reference("rs_1")+","+itemSaid, `"store":false`), right: talk(itemUser, itemSaid), said: "Item with id 'rs_1' not found." + gone},
		{id: "SR-10", name: "reasoning", wrong: responsesBody(itemUser+`,{"type":"reasoning","id":"rs_1","summary":[]},`+itemSaid, `"store":false`), right: responsesBody(itemUser+`,{"type":"reasoning","id":"rs_1","summary":[]},`+itemSaid, `"store":true`), said: "Item with id 'rs_1' not found." + gone},
		{id: "SR-10", name: "reasoning with its content", wrong: responsesBody(itemUser+`,{"type":"reasoning","id":"rs_1","summary":[]},`+itemSaid, `"store":false`), right: responsesBody(itemUser+","+itemThink+`,{"type":"reasoning","summary":[]},`+itemSaid, `"store":false`)},
		{id: "SR-10", name: "an unknown one", script: thoughtful(), wrong: talk(itemUser, reference("rs_1"), itemSaid), right: talk(itemUser, reference(rs), reference(fc), itemOutput)},
		{id: "SR-10", name: "of a missing response", script: thoughtful(), wrong: talk(itemUser, reference("msg_"+firstAnswer+"_9"), itemSaid), right: talk(itemUser, reference("msg_"+firstAnswer+"_1"))},
		{id: "SR-11", script: thoughtful(), wrong: responsesBody(itemUser, previous("resp_1")), right: responsesBody(itemOutput+","+two, previous("resp_"+firstAnswer)), said: "Previous response with id 'resp_1' not found."},
		{id: "SR-11", name: "after the script", script: thoughtful(), wrong: responsesBody(itemUser, previous("resp_"+thirdAnswer)), right: responsesBody(itemOutput+","+two, previous("resp_"+firstAnswer))},
		{id: "SR-11", name: "of an attempt that is not there", script: []fake.Response{{Attempts: []fake.Response{{Text: "the first turn"}}}}, wrong: responsesBody(itemUser, previous("resp_"+secondTry)), right: responsesBody(itemUser, previous("resp_"+firstAnswer))},
		{id: "SR-11", name: "without its conversation", script: thoughtful(), wrong: responsesBody(itemUser, previous("resp_"+firstAnswer[:16])), right: responsesBody(itemOutput+","+two, previous("resp_"+firstAnswer))},
		{id: "SR-11", name: "of a conversation that cannot be", script: thoughtful(), wrong: responsesBody(itemUser, previous("resp_"+firstAnswer[:23]+"x")), right: responsesBody(itemOutput+","+two, previous("resp_"+firstAnswer))},
		{id: "SR-11", name: "of another session", script: thoughtful(), wrong: responsesBody(itemUser, previous("resp_"+otherAnswer)), right: responsesBody(itemUser, `"previous_response_id":null`)},
	}
}

// madeContent is the encrypted content that the server generates for an item.
func madeContent(id string) string {
	return "gAAAAAB" + base64.RawURLEncoding.EncodeToString([]byte(id))
}

// A client may leave the history to the server: it sends the id of the previous response and
// the new items.
func TestPreviousResponse(t *testing.T) {
	m := fake.NewModel(thoughtful()...)
	s := wire.New(wire.Config{Model: m})
	const path = "/lane/main/openai/v1/responses"
	w := post(t, s, path, `{"model":"some-model","input":"hi"}`)
	if !strings.Contains(w.Body.String(), "the first turn") {
		t.Fatalf("got %s", w.Body)
	}
	two := strings.Replace(itemOutput, "_1", "_2", 1)
	w = post(t, s, path, responsesBody(itemOutput+","+two, `"previous_response_id":`+gjson.Get(w.Body.String(), "id").Raw))
	if !strings.Contains(w.Body.String(), "the second turn") {
		t.Errorf("got %s", w.Body)
	}
	if r := s.Report(); len(r.RejectedRequests)+len(r.Violations) > 0 {
		t.Errorf("the report is %+v", r)
	}
	var heard []string
	for _, message := range m.Requests()[1].Messages {
		heard = append(heard, string(message.Role))
	}
	if diff := cmp.Diff([]string{"user", "assistant", "tool"}, heard); diff != "" {
		t.Errorf("the second request has messages of (-want +got):\n%s", diff)
	}
	w = post(t, s, "/lane/other/openai/v1/responses", `{"model":"some-model","input":"well?","previous_response_id":"resp_`+otherAnswer+`"}`)
	if !strings.Contains(w.Body.String(), "No tool output found for function call call_1.") {
		t.Errorf("got %s", w.Body)
	}
}

// A loop continues by response ids. So does a second loop after it, and one with another
// prompt.
func TestPreviousResponses(t *testing.T) {
	turns := []fake.Response{
		{Calls: []fake.Call{{ID: "call_1", Name: "f", Arguments: "{}"}}}, {Calls: []fake.Call{{ID: "call_2", Name: "f", Arguments: "{}"}}}, {Text: "done"}, {Text: "bye"},
	}
	model := fake.NewModel(turns...)
	model.IsolateConversations = true
	s := wire.New(wire.Config{Model: model})
	for _, prompt := range []string{"one", "one", "another"} {
		input, before := `"`+prompt+`"`, ""
		for step, want := range []string{"call_1", "call_2", "done", "bye"} {
			w := post(t, s, "/openai/v1/responses", `{"model":"m","input":`+input+before+`}`)
			var answer struct{ ID string }
			if err := json.Unmarshal(w.Body.Bytes(), &answer); err != nil || !strings.Contains(w.Body.String(), want) {
				t.Fatalf("%s, step %d: %s", prompt, step, w.Body)
			}
			before = `,"previous_response_id":"` + answer.ID + `"`
			input = `[{"type":"function_call_output","call_id":"` + want + `","output":"x"}]`
			if step > 1 {
				input = `"go on"`
			}
		}
	}
	if r := s.Done(); !r.OK() {
		t.Errorf("the report is %+v", r)
	}
}

// A conversation may continue with another model if the URL has no session.
func TestPreviousResponseOfAnotherModel(t *testing.T) {
	for name, c := range map[string]struct {
		session string
		script  []fake.Response
		before  string
		want    int
	}{
		"no session":  {"", thoughtful(), "resp_" + placeName("gpt-a", 0, 1), http.StatusOK},
		"no calls":    {"", thoughtful(), "resp_" + placeName("gpt-b", 0, 1), http.StatusBadRequest},
		"ids of ours": {"", opaque(), "resp_mine", http.StatusOK},
		"a session":   {"/lane/main", thoughtful(), "resp_" + placeName("gpt-a", 0, 1), http.StatusBadRequest},
	} {
		t.Run(name, func(t *testing.T) {
			m := &fake.Model{Sessions: map[string][]fake.Response{"gpt-a": c.script, "gpt-b": {{Text: "as asked"}}, "main": c.script}}
			s := wire.New(wire.Config{Model: m})
			post(t, s, c.session+"/openai/v1/responses", `{"model":"gpt-a","input":"hi"}`)
			two := strings.Replace(itemOutput, "_1", "_2", 1)
			w := post(t, s, c.session+"/openai/v1/responses", `{"model":"gpt-b","previous_response_id":"`+c.before+`","input":[`+itemOutput+`,`+two+`]}`)
			if w.Code != c.want || c.want == http.StatusOK && !strings.Contains(w.Body.String(), "as asked") {
				t.Errorf("%d %s", w.Code, w.Body)
			}
			if r := s.Report(); c.want == http.StatusOK && !r.OK() {
				t.Errorf("the report is %+v", r)
			}
		})
	}
}

// placeName returns the id of a response in some conversation.
func placeName(session string, turn, attempt int) string {
	h := fnv.New32a()
	_, _ = fmt.Fprintf(h, "%q %d %d", session, turn, attempt)
	return fmt.Sprintf("%04x%04x%08x00000000", turn, attempt, h.Sum32())
}

// Impossible ids of responses are unknown ids.
func TestStrictUnknownKeys(t *testing.T) {
	for _, at := range [][2]int{{-1, 1}, {0, 0}, {0, -1}, {-5, -5}, {0, 3}, {1, 1}} {
		s := wire.New(wire.Config{Model: fake.NewModel(fake.Response{Attempts: []fake.Response{{Text: "one"}, {Text: "two"}}})})
		name := placeName("main", at[0], at[1])
		w := post(t, s, "/lane/main/openai/v1/responses", responsesBody(itemUser, `"previous_response_id":"resp_`+name+`"`))
		if w.Code != http.StatusBadRequest {
			t.Errorf("%v as the previous response: %d %s", at, w.Code, w.Body)
		}
		w = post(t, s, "/lane/main/openai/v1/responses", responsesBody(itemUser+`,{"type":"item_reference","id":"rs_`+name+`_0"}`))
		if w.Code != http.StatusNotFound {
			t.Errorf("%v as an item: %d %s", at, w.Code, w.Body)
		}
	}
}

// A client cannot refer to items of a failed response.
func TestStrictFailedResponse(t *testing.T) {
	s := wire.New(wire.Config{Model: fake.NewModel(fake.Response{Text: "hm", Error: &fake.Failure{Status: 500}})})
	w := post(t, s, "/lane/main/openai/v1/responses", responsesBody(itemUser+`,{"type":"item_reference","id":"msg_`+firstAnswer+`_0"}`))
	if w.Code != http.StatusNotFound || s.Report().RejectedRequests[0].ID != "SR-10" {
		t.Errorf("%d %s", w.Code, w.Body)
	}
}
