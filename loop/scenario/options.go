package scenario

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/looptape/looptape/fake"
	"github.com/looptape/looptape/llm"
	"github.com/looptape/looptape/loop"
	"github.com/looptape/looptape/loop/preset"
)

// option is a name that may stand under `loop` in a scenario.
type option struct {
	name string
	doc  string
	set  func(o *reader, v fake.Value) error
}

// OptionNames lists the names of the loop options with what their values are, in
// the order of the option matrix.
func OptionNames() [][2]string {
	list := options()
	out := make([][2]string, len(list))
	for i, o := range list {
		out[i] = [2]string{o.name, o.doc}
	}
	return out
}

// reader fills a configuration from options.
type reader struct {
	cfg   loop.Config
	tools []string // the names of the script's tools
	lanes []string // and of its models
	team  team
}

func options() []option {
	return []option{
		{"preset", "one of " + strings.Join(preset.Names(), ", "), func(_ *reader, v fake.Value) error {
			return oneOf(v, preset.Names()...) // which was taken before: see fill
		}},
		{"max_steps", "a whole number; 0 and less are a cap of nought", func(r *reader, v fake.Value) (err error) {
			r.cfg.MaxSteps, err = integer(v, math.MinInt)
			if r.cfg.MaxSteps <= 0 {
				r.cfg.MaxSteps = -1
			}
			return err
		}},
		{"cap_at", "bottom or top", func(r *reader, v fake.Value) error {
			r.cfg.StepLimitCheck = loop.StepLimitCheck(unless(v.Text, "bottom"))
			return oneOf(v, "bottom", string(loop.CheckBeforeStep))
		}},
		{"on_cap", "return, force_final or error", func(r *reader, v fake.Value) error {
			r.cfg.OnStepLimit = loop.OnStepLimit(unless(v.Text, "return"))
			return oneOf(v, "return", string(loop.StepLimitForceFinal), string(loop.StepLimitError))
		}},
		{"stop_when", "a list of never, step_count: N, has_tool_call: NAME, total_tokens: N, cost: {limit, input, output}", stopWhen},
		{"token_budget", "a number of tokens", func(r *reader, v fake.Value) error {
			n, err := integer(v, 0)
			r.cfg.TokenBudget = int64(n)
			return err
		}},
		{"deadline", "a duration", func(r *reader, v fake.Value) (err error) { r.cfg.Deadline, err = duration(v); return err }},
		{"deadline_mode", "error or return", func(r *reader, v fake.Value) error {
			r.cfg.DeadlineReturns = v.Text == "return"
			return oneOf(v, "error", "return")
		}},
		{"stall_timeout", "a duration", func(r *reader, v fake.Value) (err error) { r.cfg.StallTimeout, err = duration(v); return err }},
		{"tool_timeout", "a duration", func(r *reader, v fake.Value) (err error) { r.cfg.ToolTimeout, err = duration(v); return err }},
		{"grace", "a duration", func(r *reader, v fake.Value) (err error) { r.cfg.Grace, err = duration(v); return err }},
		{"concurrency", "a number, or unbounded", func(r *reader, v fake.Value) (err error) {
			if v.Text == "unbounded" {
				r.cfg.Concurrency = loop.Unlimited
				return nil
			}
			r.cfg.Concurrency, err = integer(v, 1)
			return err
		}},
		{"tool_message", "one_per_step or one_per_call", func(r *reader, v fake.Value) error {
			r.cfg.ToolMessage = loop.ToolMessage(unless(v.Text, "one_per_step"))
			return oneOf(v, "one_per_step", string(loop.OnePerCall))
		}},
		{"error_text", "what goes before the text of each error result", func(r *reader, v fake.Value) error {
			r.cfg.ErrorText = func(_ string, err error) string { return v.Text + err.Error() }
			return kind(v, fake.Text)
		}},
		{"error_flag", "on or off", func(r *reader, v fake.Value) error {
			r.cfg.OmitErrorFlag = v.Text == "off"
			return oneOf(v, "on", "off")
		}},
		{"bad_args", "error_result, empty_object or pass", func(r *reader, v fake.Value) error {
			r.cfg.BadArguments = loop.BadArguments(unless(v.Text, "error_result"))
			return oneOf(v, "error_result", string(loop.BadArgumentsEmpty), string(loop.BadArgumentsPass))
		}},
		{"unknown_tool", "error_result or break", func(r *reader, v fake.Value) error {
			r.cfg.UnknownTool = loop.UnknownTool(unless(v.Text, "error_result"))
			return oneOf(v, "error_result", string(loop.UnknownBreak))
		}},
		{"no_tools", "error_result or one_turn", func(r *reader, v fake.Value) error {
			r.cfg.NoTools = loop.NoTools(unless(v.Text, "error_result"))
			return oneOf(v, "error_result", string(loop.NoToolsBreak))
		}},
		{"client_tools", "break_batch or run_rest_then_break", func(r *reader, v fake.Value) error {
			r.cfg.ClientCalls = loop.ClientCalls(unless(v.Text, "break_batch"))
			return oneOf(v, "break_batch", string(loop.ClientRest))
		}},
		{"assistant_append", "before_hooks or after_hooks", func(r *reader, v fake.Value) error {
			r.cfg.AppendResponse = loop.AppendResponse(unless(v.Text, "before_hooks"))
			return oneOf(v, "before_hooks", string(loop.AppendAfter))
		}},
		{"same_tool_error_stop", "a number of steps; 0 is no guard", func(r *reader, v fake.Value) (err error) {
			if r.cfg.MaxConsecutiveToolErrors, err = integer(v, 0); r.cfg.MaxConsecutiveToolErrors == 0 {
				r.cfg.MaxConsecutiveToolErrors = loop.Disabled
			}
			return err
		}},
		{"reset", "success or absence", func(r *reader, v fake.Value) error {
			r.cfg.ResetByAbsence = v.Text == "absence"
			return oneOf(v, "success", "absence")
		}},
		{"duplicate_round", "off, skip, or force_final_after N", duplicates},
		{"retry", "a map of max, base, factor, max_wait", retry},
		{"continuations", "how often a paused turn is continued; 0 is never", func(r *reader, v fake.Value) (err error) {
			if r.cfg.Continuations, err = integer(v, 0); r.cfg.Continuations == 0 {
				r.cfg.Continuations = loop.Disabled
			}
			return err
		}},
		{"delivery", "streamed or buffered", func(r *reader, v fake.Value) error {
			r.cfg.ResponseMode = llm.ResponseMode(unless(v.Text, "streamed"))
			return oneOf(v, "streamed", string(llm.NonStreaming))
		}},
		{"tool_choice", "auto, required, none or tool:NAME", func(r *reader, v fake.Value) error {
			c, ok := llm.ReadToolChoice(v.Text)
			r.cfg.ToolChoice = c
			if !ok {
				return oneOf(v, "auto", "required", "none", "tool:NAME")
			}
			if c.Mode != llm.ChooseTool {
				return nil
			}
			return refers("tool", v, c.Name, r.tools)
		}},
		{"parallel_calls", "true or false", func(r *reader, v fake.Value) error {
			on := v.Text == "true"
			r.cfg.Settings.ParallelToolCalls = &on
			return kind(v, fake.Bool)
		}},
		{"model", "the model's name, which is also its lane", func(r *reader, v fake.Value) error {
			r.cfg.Model = v.Text
			if err := kind(v, fake.Text); err != nil {
				return err
			}
			return refers("model", v, v.Text, r.lanes)
		}},
		{"policies", policiesDoc(), policies},
	}
}

// Config makes the configuration that a script's loop options say. All options
// that do not exist or do not fit are returned together, each a
// *fake.SyntaxError.
func Config(s *fake.Script) (loop.Config, error) {
	r := &reader{}
	for _, t := range s.Tools {
		r.tools = append(r.tools, t.Name)
	}
	for _, l := range s.Models {
		r.lanes = append(r.lanes, l.Name)
	}
	r.fill(s.Loop)
	list := options()
	var errs []error
	for _, o := range s.Loop {
		i := slices.IndexFunc(list, func(x option) bool { return x.name == o.Name })
		if i < 0 {
			names := make([]string, len(list))
			for j, x := range list {
				names[j] = x.name
			}
			hint := ""
			if near := fake.Suggest(o.Name, names); near != "" {
				hint = fmt.Sprintf(" (did you mean %q?)", near)
			}
			errs = append(errs, s.Errorf(o.Pos, "there is no loop option %q%s; the options are %s", o.Name, hint, strings.Join(names, ", ")))
			continue
		}
		if err := at(o.Value.Pos, list[i].set(r, o.Value)); err != nil {
			e, _ := errors.AsType[*placed](err)
			errs = append(errs, s.Errorf(e.pos, "%s: %v", o.Name, err))
		}
	}
	if errs != nil {
		return loop.Config{}, errors.Join(errs...)
	}
	r.cfg.System = s.System
	return r.cfg, nil
}

// fill takes what the preset says, wherever it stands among the options: what else
// stands there is said instead of that.
func (r *reader) fill(list []fake.Option) {
	for _, o := range list {
		if p, err := preset.Lookup(o.Value.Text); o.Name == "preset" && err == nil {
			r.cfg = p.Fill(r.cfg)
		}
	}
}

// unless returns an empty text for the word of a zero value.
func unless(text, zero string) string {
	if text == zero {
		return ""
	}
	return text
}

func kind(v fake.Value, want fake.ValueKind) error {
	if v.Kind != want {
		return fmt.Errorf("expected %v, got %v", want, v.Kind)
	}
	return nil
}

func oneOf(v fake.Value, words ...string) error {
	if v.Kind == fake.Text && slices.Contains(words, v.Text) {
		return nil
	}
	return fmt.Errorf("expected one of %s", strings.Join(words, ", "))
}

// integer is a whole number that is not below least.
func integer(v fake.Value, least int) (int, error) {
	if err := kind(v, fake.Number); err != nil {
		return 0, err
	}
	n, err := strconv.Atoi(v.Text)
	switch {
	case err != nil:
		return 0, fmt.Errorf("expected a whole number, got %s", v.Text)
	case n < least:
		return 0, fmt.Errorf("expected a whole number, %d or above, got %d", least, n)
	}
	return n, nil
}

func duration(v fake.Value) (time.Duration, error) {
	d, err := time.ParseDuration(v.Text)
	if err != nil || v.Kind != fake.Text || d <= 0 {
		return 0, fmt.Errorf("expected a duration above 0, such as 1.5s")
	}
	return d, nil
}

// number is a number that is not below 0.
func number(v fake.Value) (float64, error) {
	f, err := strconv.ParseFloat(v.Text, 64)
	switch {
	case err != nil || v.Kind != fake.Number:
		return 0, fmt.Errorf("expected a number, got %v", v.Kind)
	case f < 0:
		return 0, fmt.Errorf("expected a number, 0 or above, got %s", v.Text)
	}
	return f, nil
}

// fields reads a map with the given members.
func fields(v fake.Value, set map[string]func(fake.Value) error) error {
	if err := kind(v, fake.Map); err != nil {
		return err
	}
	for _, f := range v.Fields {
		put, ok := set[f.Name]
		if !ok {
			names := make([]string, 0, len(set))
			for n := range set {
				names = append(names, n)
			}
			slices.Sort(names)
			return at(f.Pos, fmt.Errorf("there is no %q; there are %s", f.Name, strings.Join(names, ", ")))
		}
		if err := at(f.Value.Pos, put(f.Value)); err != nil {
			return fmt.Errorf("%s: %w", f.Name, err)
		}
	}
	return nil
}

func retry(r *reader, v fake.Value) error {
	c := &r.cfg.Retry
	return fields(v, map[string]func(fake.Value) error{
		"max":      func(v fake.Value) (err error) { c.Max, err = integer(v, 0); return err },
		"base":     func(v fake.Value) (err error) { c.Base, err = duration(v); return err },
		"max_wait": func(v fake.Value) (err error) { c.MaxWait, err = duration(v); return err },
		"factor":   func(v fake.Value) (err error) { c.Factor, err = number(v); return err },
	})
}

// single returns the name and the value of a list's item: a word, or a map of
// one member.
func single(v fake.Value) (name string, arg fake.Value, err error) {
	switch {
	case v.Kind == fake.Text:
		return v.Text, fake.Value{Pos: v.Pos}, nil
	case v.Kind == fake.Map && len(v.Fields) == 1:
		return v.Fields[0].Name, v.Fields[0].Value, nil
	}
	return "", fake.Value{}, fmt.Errorf("expected a name, or a map of one name to its value")
}

func stopWhen(r *reader, v fake.Value) error {
	if err := kind(v, fake.List); err != nil {
		return err
	}
	for i, item := range v.Items {
		c, err := condition(item)
		if err := at(item.Pos, err); err != nil {
			return fmt.Errorf("item %d: %w", i+1, err)
		}
		r.cfg.StopWhen = append(r.cfg.StopWhen, c)
	}
	return nil
}

func condition(item fake.Value) (loop.StopCondition, error) {
	name, arg, err := single(item)
	if err != nil {
		return nil, err
	}
	switch name {
	case "never":
		return loop.CostExceeds(0, nil), nil
	case "step_count":
		n, err := integer(arg, 0)
		return loop.StepCountIs(n), at(arg.Pos, err)
	case "has_tool_call":
		return loop.HasToolCall(arg.Text), at(arg.Pos, kind(arg, fake.Text))
	case "total_tokens":
		n, err := integer(arg, 0)
		return loop.TotalTokensExceed(int64(n)), at(arg.Pos, err)
	case "cost":
		var limit, in, out float64
		err := fields(arg, map[string]func(fake.Value) error{
			"limit":  func(v fake.Value) (err error) { limit, err = number(v); return err },
			"input":  func(v fake.Value) (err error) { in, err = number(v); return err },
			"output": func(v fake.Value) (err error) { out, err = number(v); return err },
		})
		return loop.CostExceeds(limit, func(u llm.Usage) (float64, bool) {
			return float64(u.InputTokens)*in + float64(u.OutputTokens)*out, true
		}), err
	}
	return nil, fmt.Errorf("there is no stop condition %q; there are never, step_count, has_tool_call, total_tokens, cost", name)
}

// duplicates reads what becomes of duplicate rounds.
func duplicates(r *reader, v fake.Value) error {
	word, n, forced := strings.Cut(v.Text, " ")
	rounds, err := strconv.Atoi(n)
	switch r.cfg.DuplicateStep = loop.DuplicateSkip; {
	case v.Text == string(loop.DuplicateSkip):
		return nil
	case word == "force_final_after" && err == nil && rounds > 0:
		r.cfg.MaxDuplicateSteps = rounds
		return nil
	case word == "off" && !forced && v.Kind == fake.Text:
		r.cfg.DuplicateStep = loop.DuplicateRun
		return nil
	}
	return fmt.Errorf("expected off, skip, or force_final_after N, where N is 1 or more")
}
