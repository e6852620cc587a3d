package scenario_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"golang.org/x/tools/txtar"

	"github.com/looptape/looptape/fake"
	"github.com/looptape/looptape/llm"
	"github.com/looptape/looptape/loop"
	"github.com/looptape/looptape/loop/scenario"
	"github.com/looptape/looptape/trace"
)

const small = "version: 1\nmodels: {main: [{text: hi}]}\ninput: go\n"

func TestParseErrors(t *testing.T) {
	for _, c := range []struct{ name, src, want string }{
		{"no script", "about\n-- trace --\n", `f: missing section "scenario.yaml"`},
		{"unknown section", "a\n-- scenario.yaml --\n" + small + "-- golden --\n", `f:6: unknown section "golden"`},
		{"script twice", "-- scenario.yaml --\n" + small + "-- scenario.yaml --\n" + small, "f:5: duplicate section scenario.yaml"},
		{"trace twice", "-- scenario.yaml --\n" + small + "-- trace --\n-- trace --\n", "f:6: duplicate section trace"},
		{"an error in the script", "one\ntwo\n-- scenario.yaml --\nversion: 1\nmodles: {}\n", "f:5:1: "},
		{"an error in plain YAML", "version: 1\nmodles: {}\n", `f:2:1: unknown key in the scenario "modles": did you mean "models"?`},
	} {
		_, err := scenario.Parse("f", []byte(c.src))
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: got error %v, want one with %q", c.name, err, c.want)
		}
	}
}

func TestOptionErrors(t *testing.T) {
	for option, want := range map[string]string{
		`max_stps: 3`:                                   `f:2:8: unknown loop option "max_stps": did you mean "max_steps"? want one of preset, delivery, max_steps`,
		`max_steps: many`:                               `f:2:19: max_steps: expected a number, got a string`,
		`max_steps: 1.5`:                                `max_steps: expected a whole number, got 1.5`,
		`cap_at: side`:                                  `cap_at: expected one of bottom, top`,
		`on_cap: 3`:                                     `on_cap: expected one of return, force_final, error`,
		`preset: duez`:                                  `preset: expected one of deuz`,
		`concurrency: 0`:                                `f:2:21: concurrency: expected a whole number, 1 or above, got 0`,
		`deadline: 3`:                                   `deadline: expected a duration above 0, such as 1.5s`,
		`stall_timeout: 0s`:                             `stall_timeout: expected a duration above 0`,
		`tool_timeout: -1s`:                             `tool_timeout: expected a duration above 0`,
		`deadline_mode: maybe`:                          `deadline_mode: expected one of error, return`,
		`tool_message: one`:                             `tool_message: expected one of one_per_step, one_per_call`,
		`error_text: 3`:                                 `error_text: expected a string, got a number`,
		`bad_args: fail`:                                `bad_args: expected one of error_result, empty_object, pass`,
		`client_tools: off`:                             `client_tools: expected one of break_batch, run_rest_then_break`,
		`no_tools: off`:                                 `no_tools: expected one of error_result, one_turn`,
		`unknown_tool: run`:                             `unknown_tool: expected one of error_result, break`,
		`error_flag: no`:                                `error_flag: expected one of on, off`,
		`assistant_append: later`:                       `assistant_append: expected one of before_hooks, after_hooks`,
		`reset: never`:                                  `reset: expected one of success, absence`,
		`duplicate_round: run`:                          `duplicate_round: expected one of off, skip, force_final_after N`,
		`duplicate_round: force_final_after 0`:          `duplicate_round: expected one of off, skip, force_final_after N`,
		`duplicate_round: off 2`:                        `duplicate_round: expected one of off, skip, force_final_after N`,
		`duplicate_round: skip_after 2`:                 `duplicate_round: expected one of off, skip, force_final_after N`,
		`retry: 3`:                                      `retry: expected a map, got a number`,
		`retry: {times: 3}`:                             `f:2:16: retry: unknown key "times": want one of base, factor, max, max_wait`,
		`retry: {factor: fast}`:                         `f:2:24: retry: factor: expected a number, got a string`,
		`delivery: slow`:                                `delivery: expected one of streamed, buffered`,
		`tool_choice: some`:                             `tool_choice: expected one of auto, required, none, tool:NAME`,
		`parallel_calls: 1`:                             `parallel_calls: expected true or false, got a number`,
		`stop_when: never`:                              `stop_when: expected a list, got a string`,
		`stop_when: [never, soon]`:                      `f:2:27: stop_when: item 2: unknown stop condition "soon"`,
		`stop_when: [{a: 1, b: 2}]`:                     `f:2:20: stop_when: item 1: expected a name, or a map of one name to its value`,
		`stop_when: [{step_count: x}]`:                  `f:2:33: stop_when: item 1: expected a number, got a string`,
		`stop_when: [{has_tool_call: 1}]`:               `f:2:36: stop_when: item 1: expected a string, got a number`,
		`stop_when: [{cost: {limit: x}}]`:               `f:2:35: stop_when: item 1: limit: expected a number`,
		`policies: {}`:                                  `policies: expected a list, got a map`,
		`policies: [todo]`:                              `f:2:19: policies: item 1: unknown middleware "todo": want one of leaked_calls, keep_last`,
		`policies: [ask_user: 7]`:                       `f:2:29: policies: item 1: expected a string, got a number`,
		`policies: [human_in_the_loop: yes]`:            `f:2:38: policies: item 1: expected a list, got a string`,
		`policies: [human_in_the_loop: [maybe]]`:        `f:2:39: policies: item 1: decision 1: unknown decision "maybe": want one of approve, edit, reject, respond`,
		`policies: [human_in_the_loop: [7]]`:            `f:2:39: policies: item 1: decision 1: expected a name`,
		`policies: [summarize: {window: 7}]`:            `f:2:39: policies: item 1: window: expected a whole number, 8 or above, got 7`,
		`policies: [cut_results: 0]`:                    `f:2:32: policies: item 1: expected a whole number, 1 or above, got 0`,
		`policies: [{keep_last: {keep: 0}}]`:            `f:2:38: policies: item 1: keep: expected a whole number, 1 or above, got 0`,
		`policies: [{answer_tool: 1}]`:                  `f:2:33: policies: item 1: expected a string, got a number`,
		`policies: [{answer_tool: "a b"}]`:              `f:2:33: policies: item 1: the tool name "a b" is not one that providers take`,
		`model: 1`:                                      `model: expected a string, got a number`,
		`model: maim`:                                   `f:2:15: model: unknown model "maim": did you mean "main"?`,
		`model: other`:                                  "f:2:15: model: unknown model \"other\"\n",
		`tool_choice: "tool:zz"`:                        "f:2:21: tool_choice: unknown tool \"zz\"\n",
		`token_budget: -1`:                              `f:2:22: token_budget: expected a whole number, 0 or above, got -1`,
		`same_tool_error_stop: -1`:                      `same_tool_error_stop: expected a whole number, 0 or above, got -1`,
		`continuations: -1`:                             `continuations: expected a whole number, 0 or above, got -1`,
		`concurrency: -1`:                               `concurrency: expected a whole number, 1 or above, got -1`,
		`retry: {max: 1, max_wait: 0s}`:                 `f:2:34: retry: max_wait: expected a duration above 0`,
		`retry: {max: -1}`:                              `f:2:21: retry: max: expected a whole number, 0 or above, got -1`,
		`retry: {factor: -0.5}`:                         `f:2:24: retry: factor: expected a number, 0 or above, got -0.5`,
		`stop_when: [{step_count: -1}]`:                 `f:2:33: stop_when: item 1: expected a whole number, 0 or above, got -1`,
		`stop_when: [{total_tokens: -1}]`:               `f:2:35: stop_when: item 1: expected a whole number, 0 or above, got -1`,
		`stop_when: [step_count]`:                       `f:2:20: stop_when: item 1: expected a number, got null`,
		`policies: [keep_last]`:                         `f:2:19: policies: item 1: expected a map, got null`,
		`policies: [{keep_last: {limit: 3}}]`:           `f:2:31: policies: item 1: missing key keep: set the number of messages to keep`,
		`policies: [{keep_last: {limit: 3, keep: 10}}]`: `f:2:39: policies: item 1: limit: expected more than keep (10), got 3`,
		`policies: [{keep_last: {limit: 3, keep: 3}}]`:  `f:2:39: policies: item 1: limit: expected more than keep (3), got 3`,
		`policies: [{keep_last: {keep: 3, limit: 0}}]`:  `f:2:48: policies: item 1: limit: expected a whole number, 1 or above, got 0`,
		`policies: [{output: x}]`:                       `f:2:28: policies: item 1: expected a map, got a string`,
		`policies: [{output: {re_asks: 1}}]`:            `f:2:28: policies: item 1: missing key schema: set the JSON Schema of the answer, as a string`,
		`policies: [{output: {schema: "{"}}]`:           `f:2:37: policies: item 1: schema: the output schema is not a JSON object`,
		`policies: [{output: {re_asks: -1}}]`:           `f:2:38: policies: item 1: re_asks: expected a whole number, 0 or above, got -1`,
		`policies: [permissions]`:                       `f:2:19: policies: item 1: expected a map, got null`,
		`policies: [{permissions: {t: allow}}]`:         `f:2:37: policies: item 1: t: expected deny, or ask: with a decision`,
		`policies: [{permissions: {t: {deny: x}}}]`:     `f:2:37: policies: item 1: t: expected deny, or ask: with a decision`,
		`policies: [{permissions: {t: [x]}}]`:           `f:2:37: policies: item 1: t: expected a name, or a map of one name to its value`,
		`policies: [{permissions: {t: {ask: maybe}}}]`:  `f:2:37: policies: item 1: t: expected one of approve, skip, deny, suspend`,
		`policies: [{guardrail: {kind: both}}]`:         `f:2:38: policies: item 1: kind: expected one of input, output`,
		`policies: [{guardrail: {match: 1}}]`:           `f:2:39: policies: item 1: match: expected a string, got a number`,
		`policies: [{guardrail: {tripwire: 1}}]`:        `f:2:42: policies: item 1: tripwire: expected true or false, got a number`,
		`policies: [{guardrail: {kind: input}}]`:        `f:2:31: policies: item 1: missing key match: set the string that the guardrail searches for`,
		`policies: [{answer_tool: t}]`:                  `f:2:33: policies: item 1: duplicate tool "t": choose another name for the answer tool`,
	} {
		src := []byte("version: 1\nloop: {" + option + "}\ntools: {t: {}}\nmodels: {main: [{text: hi}]}\ninput: go\n")
		_, err := scenario.Parse("f", src)
		if syntax := (*fake.SyntaxError)(nil); !errors.As(err, &syntax) || !strings.Contains(err.Error()+"\n", want) {
			t.Errorf("%s: got error %v, want one with %q", option, err, want)
		}
		s, parsed := fake.ParseScript("f", src)
		if parsed != nil {
			t.Errorf("%s: %v", option, parsed)
			continue
		}
		if _, again := scenario.Run(t.Context(), s, nil); again == nil || again.Error() != err.Error() {
			t.Errorf("%s: to parse it fails with %v, to run it with %v", option, err, again)
		}
	}
}

// Parse reports all errors, each with its position.
func TestInvalidScripts(t *testing.T) {
	const loopTool = "is not one that providers take: letters, digits, _ and -, 64 characters at most"
	for _, c := range []struct{ name, src, want string }{
		{"no models", "input: go", "f:1:1: missing models: add one, such as models: {main: [{text: hello}]}"},
		{"empty models", "models: {}", "f:1:1: missing models: add one, such as models: {main: [{text: hello}]}"},
		{"a schema of no object", "tools: {a: {parameters: {type: strng}}}", `f:2:25: the tool "a": its parameters must have "type": "object"`},
		{"a schema that is a list", "tools: {a: {parameters: [1]}}", "f:2:25: expected a JSON Schema (a map), found a list"},
		{"a list in a schema", "tools: {a: {parameters: {type: object, properties: [1]}}}",
			`f:2:25: the tool "a": its parameters are not a JSON Schema: the array at "properties" does not belong there`},
		{"a number in a schema", "tools: {a: {parameters: {type: object, properties: {x: 5}}}}",
			`f:2:25: the tool "a": its parameters are not a JSON Schema: the number at "properties" does not belong there`},
		{"the name of a tool", "tools:\n  b: {}\n  a b: {}", `f:4:3: the tool name "a b" ` + loopTool},
		{"several", "loop: {max_stps: 1, token_budget: -4}\ntools: {é: {parameters: {type: x}}, b: {parameters: {}}}\nmodels: {}",
			"f:1:1: missing models: add one, such as models: {main: [{text: hello}]}\n" +
				`f:3:9: the tool name "é" ` + loopTool + "\n" +
				`f:3:53: the tool "b": its parameters must have "type": "object"` + "\n" +
				`f:2:8: unknown loop option "max_stps": ` + "\n" +
				"f:2:35: token_budget: expected a whole number, 0 or above, got -4"},
	} {
		src := "version: 1\n" + c.src + "\n"
		if !strings.Contains(src, "models:") && c.name != "no models" {
			src += "models: {main: [{text: hi}]}\n"
		}
		f, err := scenario.Parse("f", []byte(src))
		if f != nil || err == nil {
			t.Errorf("%s: got %v and %v", c.name, f, err)
			continue
		}
		got := regexp.MustCompile(`did you mean.*`).ReplaceAllString(err.Error(), "")
		if diff := cmp.Diff(c.want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", c.name, diff)
		}
	}
	_, err := scenario.Parse("f", []byte("about\n-- scenario.yaml --\nversion: 1\n"))
	if err == nil || !strings.HasPrefix(err.Error(), "f:3:1: missing models") {
		t.Errorf("in an archive: got %v", err)
	}
	_, err = scenario.Run(t.Context(), &fake.Script{File: "f"}, nil)
	if err == nil || !strings.HasPrefix(err.Error(), "f: missing models") {
		t.Errorf("made in Go: got %v", err)
	}
}

// The least that options take.
func TestOptionBounds(t *testing.T) {
	for _, option := range []string{
		"policies: [{keep_last: {keep: 1}}]", "policies: [{keep_last: {keep: 3, limit: 4}}]", "policies: [{answer_tool: other}]", `policies: [{output: {schema: "{}", re_asks: 0}}]`,
		"stop_when: [{step_count: 0}, {total_tokens: 0}, {cost: {limit: 0, input: 0, output: 0}}]",
	} {
		f, err := scenario.Parse("f", []byte("version: 1\nloop: {"+option+"}\ntools: {t: {}}\nmodels: {main: [{text: hi}]}\n"))
		if err != nil {
			t.Errorf("%s: %v", option, err)
			continue
		}
		if _, err := scenario.Parse("f", f.With(&scenario.Result{})); err != nil {
			t.Errorf("%s in version 2: %v", option, err)
		}
	}
}

// Each option sets its field of the configuration.
func TestOptions(t *testing.T) {
	yes := true
	for option, want := range map[string]loop.Config{
		`max_steps: 3`:                         {MaxSteps: 3},
		`max_steps: 0`:                         {MaxSteps: -1},
		`max_steps: -2`:                        {MaxSteps: -1},
		`cap_at: top`:                          {CheckLimitBeforeStep: true},
		`cap_at: bottom`:                       {},
		`on_cap: return`:                       {},
		`on_cap: error`:                        {OnStepLimit: loop.StepLimitError},
		`token_budget: 9`:                      {TokenBudget: 9},
		`deadline: 1s`:                         {Deadline: 1e9},
		`deadline_mode: return`:                {DeadlineReturns: true},
		`deadline_mode: error`:                 {},
		`stall_timeout: 1s`:                    {StallTimeout: 1e9},
		`tool_timeout: 1s`:                     {ToolTimeout: 1e9},
		`grace: 1s`:                            {Grace: 1e9},
		`concurrency: unbounded`:               {Concurrency: loop.Unlimited},
		`concurrency: 7`:                       {Concurrency: 7},
		`tool_message: one_per_step`:           {},
		`tool_message: one_per_call`:           {OneMessagePerResult: true},
		`bad_args: empty_object`:               {BadArguments: loop.BadArgumentsEmpty},
		`bad_args: error_result`:               {},
		`bad_args: pass`:                       {BadArguments: loop.BadArgumentsPass},
		`unknown_tool: break`:                  {BreakOnUnknownTool: true},
		`client_tools: run_rest_then_break`:    {ClientCalls: loop.ClientRest},
		`client_tools: break_batch`:            {},
		`unknown_tool: error_result`:           {},
		`no_tools: one_turn`:                   {BreakWithoutTools: true},
		`no_tools: error_result`:               {},
		`error_flag: off`:                      {OmitErrorFlag: true},
		`error_flag: on`:                       {},
		`assistant_append: after_hooks`:        {AppendAfterHooks: true},
		`assistant_append: before_hooks`:       {},
		`duplicate_round: force_final_after 2`: {DuplicateStep: loop.DuplicateSkip, MaxDuplicateSteps: 2},
		`same_tool_error_stop: 0`:              {MaxConsecutiveToolErrors: loop.Disabled},
		`same_tool_error_stop: 4`:              {MaxConsecutiveToolErrors: 4},
		`reset: absence`:                       {ResetByAbsence: true},
		`reset: success`:                       {},
		`duplicate_round: skip`:                {DuplicateStep: loop.DuplicateSkip},
		`duplicate_round: off`:                 {},
		`retry: {max: 2, base: 1s, factor: 1.5, max_wait: 9s}`: {Retry: loop.Retry{Max: 2, Base: 1e9, Factor: 1.5, MaxWait: 9e9}},
		`continuations: 0`:           {Continuations: loop.Disabled},
		`continuations: 2`:           {Continuations: 2},
		`delivery: buffered`:         {ResponseMode: llm.NonStreaming},
		`delivery: streamed`:         {},
		`tool_choice: none`:          {ToolChoice: llm.ToolChoice{Mode: llm.ChooseNone}},
		`parallel_calls: true`:       {Settings: llm.Settings{ParallelToolCalls: &yes}},
		`model: main`:                {Model: "main"},
		`tool_choice: "tool:t"`:      {ToolChoice: llm.ToolChoice{Mode: llm.ChooseTool, Name: "t"}},
		`token_budget: 0`:            {},
		`concurrency: 1`:             {Concurrency: 1},
		`retry: {max: 0, factor: 0}`: {},
		`preset: deuz`:               {Preset: "deuz", BreakWithoutTools: true, MaxSteps: 1},
		`max_steps: 7, preset: deuz`: {Preset: "deuz", BreakWithoutTools: true, MaxSteps: 7},
	} {
		f, err := scenario.Parse("f", []byte("version: 1\nloop: {"+option+"}\ntools: {t: {}}\nmodels: {main: [{text: hi}]}\ninput: go\n"))
		if err != nil {
			t.Errorf("%s: %v", option, err)
			continue
		}
		got, err := scenario.Config(f.Script)
		if diff := cmp.Diff(want, got); diff != "" || err != nil {
			t.Errorf("%s: %v (-want +got):\n%s", option, err, diff)
		}
		upgraded := f.With(&scenario.Result{})
		if f, err = scenario.Parse("f", upgraded); err != nil || f.Script.Version != 2 {
			t.Errorf("%s in version 2: %v\n%s", option, err, upgraded)
			continue
		}
		got, err = scenario.Config(f.Script)
		if diff := cmp.Diff(want, got); diff != "" || err != nil {
			t.Errorf("%s in version 2: %v (-want +got):\n%s\n%s", option, err, diff, upgraded)
		}
	}
}

func TestCompareAndWith(t *testing.T) {
	ctx := context.Background()
	plain, err := scenario.Parse("f", []byte(small))
	if err != nil {
		t.Fatal(err)
	}
	o, err := scenario.Run(ctx, plain.Script, nil)
	if err != nil {
		t.Fatal(err)
	}
	if got := plain.Compare(o); got != "" {
		t.Errorf("a file that expects nothing: %s", got)
	}
	text := plain.With(o)
	golden, err := scenario.Parse("f", text)
	if err != nil {
		t.Fatalf("%v\n%s", err, text)
	}
	if got := golden.Compare(o); got != "" || golden.Trace != o.Trace() || !golden.HasTrace || golden.HasParts {
		t.Errorf("what came out is not what is expected:\n%s", got)
	}
	if again := string(golden.With(o)); again != string(text) {
		t.Errorf("written again, the file differs:\n%s", again)
	}
}

// Output is written to its section, in any order of the sections.
func TestWithKeepsOrder(t *testing.T) {
	for _, c := range []struct {
		order string
		want  []string
	}{
		{"script", []string{"scenario.yaml", "trace"}},
		{"script trace", []string{"scenario.yaml", "trace"}},
		{"trace script", []string{"trace", "scenario.yaml"}},
		{"parts script", []string{"parts", "scenario.yaml", "trace"}},
		{"script parts trace", []string{"scenario.yaml", "parts", "trace"}},
	} {
		src := strings.NewReplacer(" ", "", "script", "-- scenario.yaml --\n"+small, "trace", "-- trace --\nold\n", "parts", "-- parts --\nold\n").Replace(c.order)
		f, err := scenario.Parse("f", []byte(src))
		if err != nil {
			t.Fatal(err)
		}
		o, err := scenario.Run(t.Context(), f.Script, nil)
		if err != nil {
			t.Fatal(err)
		}
		text := f.With(o)
		var got []string
		for _, section := range txtar.Parse(text).Files {
			got = append(got, section.Name)
		}
		if diff := cmp.Diff(c.want, got); diff != "" {
			t.Errorf("%s: sections (-want +got):\n%s", c.order, diff)
			continue
		}
		if f, err = scenario.Parse("f", text); err != nil || f.Compare(o) != "" {
			t.Errorf("%s: %v\n%s", c.order, err, text)
		}
	}
}

// The lines that differ are shown, with the two before them.
func TestCompare(t *testing.T) {
	o := record(t, "models: {main: [{text: hi, warnings: [{code: x, message: y}, {code: x, message: y}]}]}")
	const (
		setup   = "model.config    0\n"
		request = "model.request   0   prefix_messages=0 +user \"go\"\n"
		turn    = "model.response  0   text \"hi\"; finish_reason=stop\n"
		warning = "warning         0   x \"y\"\n"
		end     = "run.end         r1  end_turn finish_reason=stop steps=1 model_calls=1 +assistant \"hi\"\n"
	)
	for _, c := range []struct{ name, came, expected, want string }{
		{"nothing", end, end, ""},
		{"a line", turn, "other\n", "from line 5 (-want +got):\n  " + setup + "  " + request + "- other\n+ " + turn},
		{"the last line", end, "other\n", "from line 10 (-want +got):\n  decision        0   end: end_turn\n  step.end        0\n- other\n+ " + end},
		{"one that repeats", warning + warning, warning, "from line 7 (-want +got):\n  " + turn + "  " + warning + "+ " + warning},
		{"one that does not repeat", warning + warning, warning + warning + warning, "from line 8 (-want +got):\n  " + warning + "  " + warning + "- " + warning},
		{"an end", end, end + end, "from line 11 (-want +got):\n  step.end        0\n  " + end + "- " + end},
		{"all", o.Trace(), "", "from line 1 (-want +got):\n+ " + strings.ReplaceAll(strings.TrimSuffix(o.Trace(), "\n"), "\n", "\n+ ") + "\n"},
	} {
		f := scenario.File{Trace: strings.Replace(o.Trace(), c.came, c.expected, 1), HasTrace: true}
		if c.want != "" {
			c.want = "trace, " + c.want
		}
		if diff := cmp.Diff(c.want, f.Compare(o)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", c.name, diff)
		}
	}
}

// In the parts of version 1, an object that does not begin with its type is data of a tool: its
// members keep their names.
func TestCompareVersion1Data(t *testing.T) {
	const arguments = `{"n":1,"type":"tool_result","id":"x"}`
	o := record(t, "loop: {preset: deuz}\ntools: {f: {text: ok}}\nmodels: {main: [{calls: [{id: c, name: f, args: '"+arguments+"'}]}, {text: done}]}")
	parts := o.Parts()
	if !strings.Contains(parts, `"input":`+arguments) {
		t.Fatalf("no part has the arguments:\n%s", parts)
	}
	f := scenario.File{Trace: trace.FormatTextV1(trace.Canonical(o.Events)), HasTrace: true, Parts: parts, HasParts: true}
	if diff := f.Compare(o); diff != "" {
		t.Error(diff)
	}
}

// What the script did not foresee is an error of the scenario, not of the run.
func TestScriptErrors(t *testing.T) {
	for _, c := range []struct{ name, src, want string }{
		{"no call left", "tools: {a: {text: A}}\nmodels: {main: [{calls: [{id: c1, name: a, args: '{}'}]}]}", "no response left: the script has 1 response"},
		{"not expected", "models: {main: [{expect: {text: [hello]}, text: hi}]}", "hello"},
		{"a tool's script runs out", "tools: {a: {calls: [{text: A}]}}\nmodels: {main: [{calls: [{id: c1, name: a, args: '{}'}, {id: c2, name: a, args: '{}'}]}, {text: x}]}", "no call left"},
		{"stuck", "tools: {a: {gate: never}}\nmodels: {main: [{calls: [{id: c1, name: a, args: '{}'}, {id: c2, name: a, args: '{}'}]}, {text: x}]}", "deadlock"},
	} {
		f, err := scenario.Parse("f", []byte("version: 1\n"+c.src+"\ninput: go\n"))
		if err != nil {
			t.Errorf("%s: %v", c.name, err)
			continue
		}
		if _, err := scenario.Run(t.Context(), f.Script, nil); err == nil || !strings.Contains(err.Error(), c.want) || !strings.HasPrefix(err.Error(), "f: ") {
			t.Errorf("%s: got error %v, want one with %q", c.name, err, c.want)
		}
	}
}

func TestFromMessages(t *testing.T) {
	made, err := scenario.FromMessages("chat", []llm.Message{
		{Role: llm.RoleSystem, Parts: []llm.Part{llm.Text{Text: "Be kind."}}},
		llm.User("hello"), llm.Assistant(llm.Text{Text: "hi"}), llm.User("the weather?"),
		llm.Assistant(llm.ToolCall{ID: "c1", Name: "weather", Arguments: `{"city":"Rome"}`}),
		llm.ToolResults(llm.ToolResult{ID: "c1", Content: []llm.Part{llm.Text{Text: "sunny"}}}),
		llm.Assistant(llm.Text{Text: "Sunny."}),
	})
	if err != nil {
		t.Fatal(err)
	}
	f, err := scenario.Parse("made", made)
	if err != nil {
		t.Fatalf("%v\n%s", err, made)
	}
	o, err := scenario.Run(t.Context(), f.Script, nil)
	if err != nil {
		t.Fatalf("%v\n%s", err, made)
	}
	first := o.Requests[0].Request
	if o.Run.Text != "Sunny." || first.System.Text() != "Be kind." || len(first.Messages) != 3 || o.Run.Steps[0].Results[0].Text() != "sunny" {
		t.Errorf("got %+v\n%s", o.Run, made)
	}
	if _, err := scenario.FromMessages("empty", []llm.Message{llm.User("hello")}); err == nil {
		t.Error("no response to repeat: got no error")
	}
	if _, err := scenario.FromTrace(nil); err == nil {
		t.Error("an empty trace: got no error")
	}
}

// What keeps the script of a message list from playing is in the comment.
func TestFromMessagesUnplayable(t *testing.T) {
	call := func(id, name string) llm.ToolCall { return llm.ToolCall{ID: id, Name: name, Arguments: "{}"} }
	result := func(id string) llm.ToolResult {
		return llm.ToolResult{ID: id, Content: []llm.Part{llm.Text{Text: "ok"}}}
	}
	failed := func(id string) llm.ToolResult {
		r := result(id)
		r.IsError = true
		return r
	}
	done := llm.Assistant(llm.Text{Text: "done"})
	const none = "Made from a recorded run.\n\n"
	lacks := func(what string) string {
		return "Made from a recorded run.\nOmitted: " + what + ".\n\n"
	}
	for name, c := range map[string]struct {
		messages []llm.Message
		want     string
	}{
		"all is there": {[]llm.Message{llm.Assistant(call("c1", "a")), llm.ToolResults(result("c1")), done}, none},
		"a tool that fails on": {[]llm.Message{llm.Assistant(call("c1", "a")), llm.ToolResults(failed("c1")), llm.Assistant(call("c2", "a")), llm.ToolResults(failed("c2")),
			llm.Assistant(call("c3", "a")), llm.ToolResults(failed("c3")), done}, none},
		"an id twice": {[]llm.Message{llm.Assistant(call("c1", "a"), call("c1", "a")), llm.ToolResults(result("c1"), result("c1")), done}, none},
		"a result is missing": {[]llm.Message{llm.Assistant(call("c1", "a"), call("c2", "a")), llm.ToolResults(result("c1")), done},
			lacks("the result of the call c2 of the tool a, which the messages do not contain")},
		"one of two of an id": {[]llm.Message{llm.Assistant(call("c1", "a"), call("c1", "b")), llm.ToolResults(result("c1")), done},
			lacks("the result of the call c1 of the tool b, which the messages do not contain")},
		"the last": {[]llm.Message{llm.Assistant(call("c1", "a"))},
			lacks("the result of the call c1 of the tool a, which the messages do not contain")},
		"a tool without a name": {[]llm.Message{llm.Assistant(call("c1", "")), llm.ToolResults(result("c1")), done},
			lacks(`the cause of an error: the tool name "" is not one that providers take: letters, digits, _ and -, 64 characters at most`)},
		"a last user message": {[]llm.Message{done, llm.User("more")}, lacks("the last user message, to which the messages contain no response")},
		"a response after the last": {[]llm.Message{done, done},
			lacks(`the cause of unused responses: session "main": response 2`)},
	} {
		made, err := scenario.FromMessages(name, append([]llm.Message{llm.User("go")}, c.messages...))
		if err != nil {
			t.Fatal(err)
		}
		head, _, _ := strings.Cut(string(made), "-- scenario.yaml")
		if diff := cmp.Diff(c.want, head); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
}

// Responses are written in the short form of a script if possible, otherwise part by part.
func TestFromMessagesResponses(t *testing.T) {
	call, other := llm.ToolCall{ID: "c1", Name: "a", Arguments: "{}"}, llm.ToolCall{ID: "c2", Name: "a", Arguments: "{}"}
	for _, c := range []struct {
		name   string
		parts  []llm.Part
		finish llm.FinishReason // the expected one
		want   string
	}{
		{"nothing", nil, llm.FinishStop, "    - {}\n"},
		{"all in order", []llm.Part{llm.Reasoning{Text: "hm"}, llm.Text{Text: "hi"}, call, other}, llm.FinishToolCalls, `
    - reasoning: hm
      text: hi
      calls:
        - id: c1
          name: a
          arguments: '{}'
        - id: c2
          name: a
          arguments: '{}'
`},
		{"what only its provider reads", []llm.Part{llm.Reasoning{Opaque: []byte(`{"s":1}`)}, llm.Text{Text: "hi"}}, llm.FinishStop, `
    - reasoning_opaque: {s: 1}
      text: hi
`},
		{"empty reasoning", []llm.Part{llm.Reasoning{}, llm.Text{Text: "hi"}}, llm.FinishStop, `
    - events:
        - {type: part, part: {type: reasoning, text: ''}}
        - {type: part, part: {type: text, text: hi}}
`},
		{"an empty text", []llm.Part{llm.Text{}}, llm.FinishStop, `
    - events:
        - {type: part, part: {type: text, text: ''}}
`},
		{"reasoning twice", []llm.Part{llm.Reasoning{Text: "hm"}, llm.Reasoning{Text: "so"}}, llm.FinishStop, `
    - events:
        - {type: part, part: {type: reasoning, text: hm}}
        - {type: part, part: {type: reasoning, text: so}}
`},
		{"two texts", []llm.Part{llm.Text{Text: "hi"}, llm.Text{Text: "ho"}}, llm.FinishStop, `
    - events:
        - {type: part, part: {type: text, text: hi}}
        - {type: part, part: {type: text, text: ho}}
`},
		{"reasoning after a text", []llm.Part{llm.Text{Text: "hi"}, llm.Reasoning{Text: "hm"}}, llm.FinishStop, `
    - events:
        - {type: part, part: {type: text, text: hi}}
        - {type: part, part: {type: reasoning, text: hm}}
`},
		{"a text after a call", []llm.Part{call, llm.Text{Text: "hi"}}, llm.FinishToolCalls, `
    - events:
        - {type: part, part: {type: tool_call, id: c1, name: a, arguments: '{}'}}
        - {type: part, part: {type: text, text: hi}}
`},
	} {
		said := llm.Message{Role: llm.RoleAssistant, Parts: c.parts}
		made, err := scenario.FromMessages(c.name, []llm.Message{llm.User("go"), said})
		if err != nil {
			t.Fatal(err)
		}
		_, got, _ := strings.Cut(string(made), "  main:\n")
		got, _, _ = strings.Cut(got, "history:")
		if diff := cmp.Diff(strings.TrimPrefix(c.want, "\n"), got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", c.name, diff)
		}
		f, err := scenario.Parse("made", made)
		if err != nil {
			t.Errorf("%s: %v", c.name, err)
			continue
		}
		o, err := scenario.Run(t.Context(), f.Script, nil)
		if err != nil {
			t.Errorf("%s: %v", c.name, err)
			continue
		}
		for _, ev := range o.Events {
			if turn, ok := ev.Body.(trace.ModelResponse); ok && (!cmp.Equal(said, turn.Message, cmpopts.EquateEmpty()) || turn.FinishReason != c.finish) {
				t.Errorf("%s: written again as %+v", c.name, turn)
			}
		}
	}
}

func FuzzParse(f *testing.F) {
	files, err := filepath.Glob("../../testdata/*/*.txtar")
	if err != nil {
		f.Fatal(err)
	}
	for _, path := range files {
		src, err := os.ReadFile(path)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(src)
	}
	f.Fuzz(func(t *testing.T, src []byte) {
		file, err := scenario.Parse("f", src)
		if err != nil {
			return
		}
		if _, err := scenario.Config(file.Script); err != nil {
			return
		}
	})
}
