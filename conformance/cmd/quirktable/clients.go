package main

import (
	"context"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/looptape/looptape/conformance/node"
	"github.com/looptape/looptape/fake/wire"
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

// environment returns the variables with the URLs of the providers.
func environment(url string) map[string]string {
	env := map[string]string{}
	for _, v := range (wire.ServerInfo{URL: url}).Env("", key) {
		name, value, _ := strings.Cut(v, "=")
		env[name] = value
	}
	return env
}
