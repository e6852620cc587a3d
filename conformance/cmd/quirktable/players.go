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

// player is a client: a loop that plays against a server.
type player struct {
	name      string
	says      string
	versions  [][2]string // what does the work, and its version
	protocols []string
	// start readies it for games, which come one after the other, until stop.
	start func() (play, stop)
}

// play plays a game with a server at a URL. An error of the loop is in the end; any
// other, that of ctx among them, is returned.
type play func(ctx context.Context, g game, url string) (end, error)

type stop func() error

// game is a scenario in a protocol.
type game struct {
	row
	protocol string
	streamed bool
}

// end is how a loop ends: with a last text, or with an error.
type end struct {
	text   string
	failed string
}

// The limits that all loops get, as far as they have such. They are those of
// clients/case.mjs in conformance/npm.
const (
	patience = 2 * time.Second // without a word of an answer
	retries  = 1
	maxSteps = 8
)

const question = "How is the weather in Bern and in Rome?"

// tool is what all loops have, as clients/case.mjs has it.
type tool struct {
	name, description string
	property          string // its only one, a text that is required; empty if there is none
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

// schema is the JSON Schema of the arguments.
func (t tool) schema() map[string]any {
	properties, required := map[string]any{}, []string{}
	if t.property != "" {
		properties[t.property] = map[string]any{"type": "string"}
		required = append(required, t.property)
	}
	return map[string]any{"type": "object", "properties": properties, "required": required, "additionalProperties": false}
}

// players are the clients, the project's own loop first: how that one ends is how a
// game should end.
func players(root string) ([]player, error) {
	list := []player{ours}
	pins, err := npmVersions(root)
	if err != nil {
		return nil, err
	}
	for _, c := range node.Clients() {
		p := player{name: c.Name, says: c.Says, protocols: c.Protocols, start: func() (play, stop) { return fromNPM(root, c) }}
		for _, name := range c.Packages {
			p.versions = append(p.versions, [2]string{name, pins[name]})
		}
		list = append(list, p)
	}
	more, err := goPlayers(root)
	return append(list, more...), err
}

func fromNPM(root string, c node.Client) (play, stop) {
	w := &node.Worker{Dir: filepath.Join(root, "conformance", "npm"), Client: c}
	n := 0
	return func(ctx context.Context, g game, url string) (end, error) {
		n++
		out, err := w.Play(ctx, node.Case{ID: strconv.Itoa(n), Protocol: g.protocol, Streamed: g.streamed, Env: environment(url)})
		return end{out.Text, out.Error}, err
	}, w.Close
}

// key is the credential of all loops.
const key = "looptape"

// environment is what tells a program where its provider is.
func environment(url string) map[string]string {
	env := map[string]string{}
	for _, v := range (wire.ServerInfo{URL: url}).Env("", key) {
		name, value, _ := strings.Cut(v, "=")
		env[name] = value
	}
	return env
}
