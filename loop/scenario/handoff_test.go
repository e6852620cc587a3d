package scenario_test

import (
	"strings"
	"testing"

	"github.com/looptape/looptape/loop/scenario"
)

func TestAgentMiddlewareErrors(t *testing.T) {
	for option, want := range map[string]string{
		`policies: [repair: {by: main}]`:                 `f:2:28: policies: item 1: unknown key "by": want one of model`,
		`policies: [repair: {model: maim}]`:              `f:2:35: policies: item 1: model: unknown model "maim": did you mean "main"?`,
		`policies: [repair: small]`:                      `f:2:27: policies: item 1: expected a map, got a string`,
		`policies: [variables: [a]]`:                     `f:2:30: policies: item 1: expected a map, got a list`,
		`policies: [variables: {a: 1}]`:                  `f:2:34: policies: item 1: a: expected a string, got a number`,
		`policies: [handoff: [a]]`:                       `f:2:28: policies: item 1: expected a map, got a list`,
		`policies: [handoff: {}]`:                        `f:2:28: policies: item 1: missing agents: name at least the first agent`,
		`policies: [handoff: {a: {too: b}}]`:             `f:2:33: policies: item 1: a: unknown key "too": want one of description, instructions, model, to, tools`,
		`policies: [handoff: {a: {to: b}}]`:              `f:2:37: policies: item 1: a: to: expected a list, got a string`,
		`policies: [handoff: {a: {to: [b]}}]`:            `f:2:38: policies: item 1: a: to: unknown agent "b"`,
		`policies: [handoff: {a: {tools: [t, u]}}]`:      `f:2:44: policies: item 1: a: tools: unknown tool "u"`,
		`policies: [handoff: {a: {model: x}}]`:           `f:2:40: policies: item 1: a: model: unknown model "x"`,
		`policies: [handoff: {a: {instructions: 1}}]`:    `f:2:47: policies: item 1: a: instructions: expected a string, got a number`,
		`policies: [handoff: {a: {description: 1}}]`:     `f:2:46: policies: item 1: a: description: expected a string, got a number`,
		`policies: [handoff: {a b: {}}]`:                 `f:2:28: policies: item 1: invalid agent name "a b": use at most 52 letters`,
		`policies: [prepare_end: [x]]`:                   `f:2:32: policies: item 1: missing agents: put handoff before prepare_end`,
		`policies: [handoff: {a: {}}, prepare_end: []]`:  `f:2:50: policies: item 2: missing text: add one for each time that the root continues`,
		`policies: [handoff: {a: {}}, prepare_end: x]`:   `f:2:50: policies: item 2: expected a list, got a string`,
		`policies: [handoff: {a: {}}, prepare_end: [1]]`: `f:2:51: policies: item 2: expected a string, got a number`,
	} {
		_, err := scenario.Parse("f", []byte("version: 1\nloop: {"+option+"}\ntools: {t: {}}\nmodels: {main: [{text: hi}]}\ninput: go\n"))
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: got error %v, want one with %q", option, err, want)
		}
	}
}

// Each agent has its instructions with variables, its tools and the tools of no agent. The
// root continues once for each text. The model that made a call repairs it.
func TestAgentMiddleware(t *testing.T) {
	const script = `version: 1
loop:
  policies:
    - repair
    - variables: {who: Ada, x: her}
    - handoff:
        root: {instructions: 'Help {who}, ask {x}{nobody}.', tools: [mine], to: [b]}
        b: {instructions: 'Not {who else}, {}.', to: [root]}
    - prepare_end: [on]
tools: {mine: {text: M}, ours: {text: O}}
models:
  main:
    - expect: {system: ['Help Ada, ask her.'], tools: [mine, ours, transfer_to_b]}
      calls: [{id: c1, name: transfer_to_b, args: {}}]
    - expect: {system: ['Not {who else}, {}.'], tools: [ours, transfer_to_root]}
      text: b
    - expect: {text: [on], tools: [mine, ours, transfer_to_b]}
      calls: [{id: c2, name: transfer_to_b, args: {}}]
    - text: b again
input: go
`
	f, err := scenario.Parse("f", []byte(script))
	if err != nil {
		t.Fatal(err)
	}
	for range 2 { // each run is one of its own
		o, err := scenario.Run(t.Context(), f.Script, nil)
		if err != nil || o.Err != nil || o.Run.Text != "b again" || len(o.Unused) > 0 {
			t.Errorf("got %+v, %v", o, err)
		}
	}
}

// Middleware of the script replaces the same middleware of the preset.
func TestPresetMiddlewareReplaced(t *testing.T) {
	for policies, want := range map[string]int{"[]": 1, "[repair: {model: main}]": 1, "[leaked_calls, leaked_calls]": 3} {
		f, err := scenario.Parse("f", []byte("version: 1\nloop: {preset: deepagents, policies: "+policies+"}\nmodels: {main: [{text: hi}]}\ninput: go\n"))
		if err != nil {
			t.Fatal(err)
		}
		if cfg, err := scenario.Config(f.Script); err != nil || len(cfg.Middleware) != want {
			t.Errorf("%s: got %d policies, %v", policies, len(cfg.Middleware), err)
		}
	}
}
