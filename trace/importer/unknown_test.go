package importer_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/looptape/looptape/trace/importer"
)

func TestUnknownFormatNamesNearest(t *testing.T) {
	for name, c := range map[string]struct{ in, want string }{
		"members of a format": {`{"eval":{},"x":1}`, `the first object has the members "eval", "x"; the nearest format is inspect, which also has "samples" or "plan" or "status"; `},
		"a nearest format":    {`{"trajectory":[],"a":1,"b":2,"c":3,"d":4,"e":5,"f":6,"g":7,"h":8}`, `"f", "g", …; the nearest format is swe-agent, which also has "history" or "info"; `},
		"other members":       {`{"foo":1}`, `unknown format: the first object has the members "foo"; map the members`},
		"a user":              {`{"role":"admin","name":"x"}`, `"role", "name"; the role "admin" is not one of a message (system, developer, user, assistant, model, tool, function); the nearest format is messages`},
		"users":               {`[{"role":"user","name":"x"},{"role":"admin","name":"y"}]`, `"role", "name"; the nearest format is messages, which also has "messages" or "content"; `},
		"a message of a role": {`{"role":"critic","content":"Why?"}`, `the role "critic" is not one of a message`},
		"MLflow":              {`{"info":{"trace_id":"t"},"data":{"spans":[]}}`, `unknown format: the first object has the members "info", "data"; `},
		"no members":          {`{}`, `unknown format: the first object has no members; `},
		"translations":        {`{"messages":{"hello":"Hallo"}}`, `the nearest format is messages, in which messages is a list`},
		"a resource":          {`{"contents":[{"uri":"file:///a","mimeType":"text/plain","text":"a"}]}`, `the nearest format is bodies, which also has "choices" or "candidates" or "stop_reason"; `},
		"settings":            {`{"log":{"level":"info"},"port":8080}`, `the nearest format is har, in which log has entries`},
		"a switch":            {`{"version":2,"log":true}`, `the nearest format is har, in which log has entries`},
		"a number":            {`{"interactions":3}`, `the nearest format is vcrpy, in which interactions is a list`},
		"a number in YAML":    {"interactions: 3\nname: x\n", "unknown format"},
		"pydantic-ai":         {`[{"parts":[{"content":"hi","part_kind":"user-prompt"}],"kind":"request"}]`, `it has messages of pydantic-ai: convert them with jq`},
		"ChatGPT":             {`[{"title":"t","mapping":{"a":{"message":{"author":{"role":"user"}}}}}]`, `it is an export of ChatGPT`},
		"conversations":       {`{"conversations":[[{"role":"user","content":"hi"}]]}`, `jq -c .conversations[]`},
		"a list of the API":   {`{"object":"list","data":[{"type":"message","role":"user","content":"x"}]}`, `jq -c .data`},
		"Python's OTLP":       {`{"resource_spans":[]}`, `the nearest format is otel`},
		"Cohere 1":            {`{"message":"hi","chat_history":[{"role":"USER","message":"a"}],"model":"m"}`, `version 1 of the API of Cohere`},
		"a pair":              {`{"request":{"messages":[{"role":"user","content":"q"}]},"response":{"choices":[{"message":{"role":"assistant","content":"a"}}]}}`, `jq -c .request,.response`},
		"a role of null":      {`[{"role":null,"content":"x"}]`, `the role is not a string: give each message its role (system, developer, user, assistant, model, tool, function); map the members`},
		"ShareGPT":            {`[{"conversations":[{"from":"human","value":"hi"}]}]`, `it has conversations of ShareGPT`},
		"Claude":              {`[{"uuid":"u","chat_messages":[{"sender":"human","text":"hi"}]}]`, `it is an export of Claude`},
		"nock":                {`[{"scope":"https://api.openai.com:443","method":"POST","path":"/v1/chat/completions","body":{},"status":200,"response":{}}]`, `recorded by nock`},
		"Ruby VCR in JSON":    {`{"http_interactions":[],"recorded_with":"VCR 6"}`, `VCR for Ruby`},
		"steps":               {`[{"step":1,"input":"q","tool_calls":[{"name":"f"}]}]`, `it has steps with calls, and no messages`},
		"a number of calls":   {`{"steps":3,"tool_calls":5}`, `the nearest format is atif`},
		"speakers":            {`[{"speaker":"a","text":"hi"}]`, `which has role and content`},
		"columns":             {"foo,bar\n1,2\n", `the first line has the columns "foo", "bar"; `},
		"no format":           {"\x00\x01\n\"", "the file is neither JSON nor YAML, CSV or server-sent events"},
	} {
		_, err := importer.Open("x", strings.NewReader(c.in))
		if !errors.Is(err, importer.ErrFormat) || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: error %v, want %s", name, err, c.want)
		}
		if err != nil && !strings.Contains(err.Error(), "--score of looptape eval") {
			t.Errorf("%s: error %v does not say how to convert the file", name, err)
		}
	}
}

// The error for a file in YAML does not say that the file is not YAML.
func TestUnknownYAML(t *testing.T) {
	_, err := importer.Open("x", strings.NewReader("---\nhttp_interactions:\n- request:\n    method: post\n"))
	if !errors.Is(err, importer.ErrFormat) || !strings.Contains(err.Error(), "VCR for Ruby") || strings.Contains(err.Error(), "neither") {
		t.Errorf("error %v, want the name of the tool", err)
	}
}
