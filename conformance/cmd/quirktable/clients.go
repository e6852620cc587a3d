package main

import (
	"context"
	"encoding/json"
	"net/http"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/looptape/looptape/conformance/node"
	"github.com/looptape/looptape/fake/wire"
	"github.com/looptape/looptape/llm"
	"github.com/looptape/looptape/loop"
	"github.com/looptape/looptape/loop/scenario"
	"github.com/looptape/looptape/providers/anthropic"
	"github.com/looptape/looptape/providers/gemini"
	"github.com/looptape/looptape/providers/openai"
	"github.com/looptape/looptape/providers/openai/chat"
	"github.com/looptape/looptape/providers/openai/responses"
	"github.com/looptape/looptape/providers/protocol"
)

// client is a loop that runs against a server.
type client struct {
	name, description string
	versions          [][2]string // packages and their versions
	protocols         []string
	// start prepares the client for test cases, which run one at a time until stop.
	start func() (run runFunc, stop func() error)
}

// runFunc runs a test case with the server at a URL. The result has an error of the loop. Other
// errors, such as that of ctx, are returned.
type runFunc func(ctx context.Context, c testCase, url string) (result, error)

// testCase is a quirk with its scenario in a protocol.
type testCase struct {
	row
	protocol  string
	streaming bool
}

// result is the result of a loop: the final text or an error.
type result struct{ text, failed string }

// Limits of all loops that have such options, as in clients/case.mjs of conformance/npm.
const (
	responseTimeout = 2 * time.Second // without an event of a response
	retries         = 1
	maxSteps        = 8
)

const prompt = "How is the weather in Bern and in Rome?"

// tool is a tool of all loops, as in clients/case.mjs.
type tool struct {
	name, description string
	property          string // the only one, a required string; empty if there is none
	run               func(text string) string
}

var tools = []tool{
	{"weather", "The weather of a city.", "city", func(city string) string {
		if sky, ok := map[string]string{"Bern": "rain", "Rome": "sun", "Oslo": "snow"}[city]; ok {
			return sky
		}
		return "fog"
	}},
	{"note", "Notes a text.", "text", func(string) string { return "noted" }},
	{"now", "The time.", "", func(string) string { return "noon" }},
}

// schema returns the JSON Schema of the arguments.
func (t tool) schema() map[string]any {
	properties, required := map[string]any{}, []string{}
	if t.property != "" {
		properties[t.property] = map[string]any{"type": "string"}
		required = append(required, t.property)
	}
	return map[string]any{"type": "object", "properties": properties, "required": required, "additionalProperties": false}
}

// newClients returns the clients. The first one is looptape's loop, whose results are the
// expected ones.
func newClients(root string) ([]client, error) {
	list := []client{looptape}
	pins, err := npmVersions(root)
	if err != nil {
		return nil, err
	}
	for _, c := range node.Clients() {
		list = append(list, client{c.Name, c.Description, versionsOf(c.Packages, pins), c.Protocols, func() (runFunc, func() error) { return startNPM(root, c) }})
	}
	more, err := newGoClients(root)
	return append(list, more...), err
}

func versionsOf(names []string, pins map[string]string) (versions [][2]string) {
	for _, name := range names {
		versions = append(versions, [2]string{name, pins[name]})
	}
	return versions
}

func startNPM(root string, c node.Client) (runFunc, func() error) {
	w := &node.Worker{Dir: filepath.Join(root, "conformance", "npm"), Client: c}
	n := 0
	return func(ctx context.Context, c testCase, url string) (result, error) {
		n++
		out, err := w.Run(ctx, node.Case{ID: strconv.Itoa(n), Protocol: c.protocol, Streaming: c.streaming, Env: environment(url)})
		return result{out.Text, out.Error}, err
	}, w.Close
}

// key is the credential of all loops.
const key = "looptape"

func baseURL(url, provider string) string { return wire.ServerInfo{URL: url}.BaseURL(provider, "") }

// environment returns the variables with the URLs of the providers.
func environment(url string) map[string]string {
	env := map[string]string{}
	for _, v := range (wire.ServerInfo{URL: url}).Env("", key) {
		name, value, _ := strings.Cut(v, "=")
		env[name] = value
	}
	return env
}

// looptape is the client with the loop of this project.
var looptape = client{
	name: "looptape", description: "the loop of this project",
	protocols: []string{"openai-chat", "openai-responses", "anthropic-messages", "gemini"},
	start:     func() (runFunc, func() error) { return runLooptape, func() error { return nil } },
}

// adapters are its clients of the providers. below is appended to the base URL.
var adapters = map[string]struct {
	provider  string
	protocol  protocol.Protocol
	authorize func(*http.Request) error
	below     string
	model     string
}{
	"openai-chat":        {wire.OpenAI, chat.Protocol{}, openai.Key(key), "", "gpt-4.1"},
	"openai-responses":   {wire.OpenAI, responses.Protocol{}, openai.Key(key), "", "gpt-4.1"},
	"anthropic-messages": {wire.Anthropic, anthropic.Messages{}, anthropic.Key(key), "", "claude-opus-4-5"},
	"gemini":             {wire.Gemini, gemini.GenerateContent{}, gemini.Key(key), "/v1beta", "gemini-3-pro-preview"},
}

// runLooptape runs a test case with the middleware of the scenario.
func runLooptape(ctx context.Context, c testCase, url string) (result, error) {
	cfg, err := scenario.Config(c.script)
	if err != nil {
		return result{}, err
	}
	a := adapters[c.protocol]
	cfg.Model, cfg.MaxSteps, cfg.StallTimeout = a.model, maxSteps, responseTimeout
	cfg.Retry = loop.Retry{Max: retries, Base: time.Millisecond}
	if !c.streaming {
		cfg.ResponseMode = llm.NonStreaming
	}
	for _, t := range tools {
		own, err := loopTool(t)
		if err != nil {
			return result{}, err
		}
		cfg.Tools = append(cfg.Tools, own)
	}
	transport := &http.Transport{}
	defer transport.CloseIdleConnections()
	agent, err := loop.New(&protocol.Client{
		Protocol: a.protocol, BaseURL: baseURL(url, a.provider) + a.below, Authorize: a.authorize, HTTP: &http.Client{Transport: transport},
	}, &cfg)
	if err != nil {
		return result{}, err
	}
	res, err := agent.Run(ctx, loop.Prompt(prompt))
	switch {
	case ctx.Err() != nil:
		return result{}, context.Cause(ctx)
	case err != nil:
		return result{failed: err.Error()}, nil
	}
	return result{text: lastText(res.Messages)}, nil
}

// lastText returns the text of the final response; empty if it has none.
func lastText(messages []llm.Message) string {
	if n := len(messages); n > 0 && messages[n-1].Role == llm.RoleAssistant {
		return messages[n-1].Text()
	}
	return ""
}

func loopTool(t tool) (loop.Tool, error) {
	schema, err := json.Marshal(t.schema())
	if err != nil {
		return loop.Tool{}, err
	}
	return loop.RawTool(t.name, t.description, schema, func(_ context.Context, call loop.Call) (loop.Output, error) {
		var arguments map[string]string
		if err := json.Unmarshal([]byte(call.Arguments), &arguments); err != nil {
			return loop.Output{}, err
		}
		return loop.TextOutput(t.run(arguments[t.property])), nil
	})
}
