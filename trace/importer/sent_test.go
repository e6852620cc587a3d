package importer_test

import "testing"

// The body of a request was sent. A list of messages, a record of a tool and an example to train a
// model were not.
func TestSent(t *testing.T) {
	const user = `{"role":"user","content":"q"}`
	const open = user + `,{"role":"assistant","content":null,"tool_calls":[{"id":"a","type":"function","function":{"name":"f","arguments":"{}"}}]}`
	const turn = `{"role":"user","parts":[{"text":"q"}]}`
	const openTurn = turn + `,{"role":"model","parts":[{"functionCall":{"name":"f","args":{}}}]}`
	for in, want := range map[string]bool{
		`{"model":"m","messages":[` + open + `]}`:                                            true,
		`{"max_tokens":9,"messages":[` + open + `]}`:                                         true,
		`{"tools":[],"messages":[` + user + `]}`:                                             true,
		`{"model":"m","input":[{"type":"message","role":"user","content":"q"}]}`:             true,
		`{"model":"m","max_tokens":9,"system":"s","messages":[` + user + `]}`:                true,
		`{"contents":[` + turn + `]}`:                                                        true,
		`{"contents":[` + openTurn + `],"generationConfig":{}}`:                              true,
		`{"messages":[{"role":"user","content":[{"text":"q"}]}],"inferenceConfig":{}}`:       true,
		`{"messages":[` + open + `]}`:                                                        false,
		`[` + open + `]`:                                                                     false,
		`{"tools":[],"messages":[` + open + `]}`:                                             false,
		`{"contents":[` + openTurn + `]}`:                                                    false,
		`{"id":"1","model":"m","messages":[` + open + `]}`:                                   false,
		`{"model":"m","messages":[` + user + `],"response":{"choices":[{"message":{}}]}}`:    false,
		`{"model":"m","messages":[` + user + `],"usage":{"input_tokens":1},"temperature":1}`: false,
		`{"choices":[{"index":0,"message":{"role":"assistant","content":"x"}}],"model":"m"}`: false,
	} {
		if run := onlyRun(t, in); run.Sent != want {
			t.Errorf("%s: sent %v, want %v", in, run.Sent, want)
		}
	}
}
