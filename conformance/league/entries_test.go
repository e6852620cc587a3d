package league

import (
	"testing"

	"github.com/looptape/looptape/fake"
	"github.com/looptape/looptape/llm"
	"github.com/looptape/looptape/loop"
	"github.com/looptape/looptape/loop/explore"
	"github.com/looptape/looptape/loop/looptest"
	"github.com/looptape/looptape/loop/preset"
	"github.com/looptape/looptape/loop/scenario"
)

// entry is a loop with its settings.
type entry struct {
	name     string
	family   string // of the findings
	module   string // empty for this module
	client   string // of the model
	settings string
	explore  func(t *testing.T, s *fake.Script) *explore.Result
	unstable instability
	program  bool // from npm; explored with the flag -programs
}

// instability is why runs of a loop with these faults differ when they are repeated; empty if they must not.
type instability struct{ faults, text string }

func exploreLoop(l looptest.Loop) func(t *testing.T, s *fake.Script) *explore.Result {
	return func(t *testing.T, s *fake.Script) *explore.Result {
		t.Helper()
		return looptest.Explored(t, l, &looptest.ExploreOptions{Script: s})
	}
}

// exploreTrace explores a preset as looptape explore does.
func exploreTrace(name string) func(t *testing.T, s *fake.Script) *explore.Result {
	return func(t *testing.T, s *fake.Script) *explore.Result {
		t.Helper()
		start, err := scenario.Program(s, func(c *loop.Config) {
			c.MaxSteps = maxSteps
			*c, _ = preset.Apply(name, *c)
		})
		if err != nil {
			t.Fatal(err)
		}
		return explore.Exhaust(start, explore.Bounds{Faults: 1})
	}
}

// entries returns the loops in the order of the page.
func entries() []entry {
	list := []entry{}
	for _, name := range preset.Names() {
		list = append(list,
			entry{name: name, family: name, client: "`providers/openai/chat`", settings: "preset, 10 steps", explore: exploreLoop(presetLoop(name))},
			entry{name: name + ", trace", family: name + ", trace", client: "none", settings: "the same, as in `looptape explore`", explore: exploreTrace(name)})
	}
	const (
		fantasyClient = "`providers/openai` of fantasy"
		einoClient    = "`components/model/openai` of eino-ext"
		adkClient     = "`model/gemini` of ADK"
		errorResults  = "the failure of a tool is a `NewTextErrorResponse`"
		einoErrors    = "ReAct agent, `WrapToolWithErrorHandler`, `UnknownToolsHandler`, `StreamToolCallChecker` that reads the whole stream, `MaxStep` 40"
	)
	adkUnstable := instability{"unknown tool, empty name", "The error result for an unknown tool lists the tools in the order of a Go map (`handleFunctionCalls` in `internal/llminternal/base_flow.go`)."}
	fantasyUnstable := instability{"shows QO-14:scalar", "The result of a `Parallel` tool is appended when the tool ends, so the order of calls that end without a wait, here because of their arguments, depends on the scheduler. It was seen in one of 20 explorations (`.ci/soak league`)."}
	list = append(list,
		entry{"fantasy, Generate", "fantasy", fantasyModule, fantasyClient, errorResults, exploreLoop(fantasyLoop(false, false)), instability{}, false},
		entry{"fantasy, Stream", "fantasy", fantasyModule, fantasyClient, errorResults, exploreLoop(fantasyLoop(true, false)), instability{}, false},
		entry{"fantasy, Stream, parallel", "fantasy", fantasyModule, fantasyClient, errorResults + "; the tools are `Parallel`", exploreLoop(fantasyLoop(true, true)), fantasyUnstable, false},
		entry{"eino, Generate", "eino", einoModule, einoClient, einoErrors, exploreLoop(einoLoop(false)), instability{}, false},
		entry{"eino, Stream", "eino", einoModule, einoClient, einoErrors, exploreLoop(einoLoop(true)), instability{}, false},
		entry{"ADK", "ADK", adkModule, adkClient, "`llmagent`, sessions in memory", exploreLoop(adkLoop(false)), adkUnstable, false},
		entry{"ADK, SSE", "ADK", adkModule, adkClient, "the same with `StreamingModeSSE`", exploreLoop(adkLoop(true)), adkUnstable, false},
	)
	return append(list, programs()...)
}

// The modules of the loops.
const (
	fantasyModule = "charm.land/fantasy"
	einoModule    = "github.com/cloudwego/eino"
	adkModule     = "google.golang.org/adk/v2"
)

// script is a script that each loop is explored with.
type script struct {
	name string
	fake *fake.Script
}

// scripts returns the scripts. go test explores the first one.
func scripts() []script {
	return []script{
		{"two steps of two calls", newScript([]fake.Call{{ID: "c1", Name: "a", Arguments: `{"n":1}`}, {ID: "c2", Name: "b", Arguments: `{"n":2}`}},
			[]fake.Call{{ID: "c3", Name: "a", Arguments: `{"n":3}`}, {ID: "c4", Name: "a", Arguments: `{"n":4}`}})},
		{"one step of three calls", newScript([]fake.Call{{ID: "c1", Name: "a", Arguments: `{"n":1}`}, {ID: "c2", Name: "b", Arguments: `{"n":2}`}, {ID: "c3", Name: "a", Arguments: `{"n":3}`}})},
	}
}

// newScript returns a script with these calls by step.
func newScript(steps ...[]fake.Call) *fake.Script {
	var responses []fake.Response
	for _, calls := range steps {
		responses = append(responses, fake.Response{Calls: calls})
	}
	return &fake.Script{
		Models: []fake.ModelScript{{Name: "main", Responses: append(responses, fake.Response{Text: "done"})}},
		Tools:  []fake.Tool{{Name: "a"}, {Name: "b"}}, Input: []llm.Message{llm.User("go")},
	}
}
