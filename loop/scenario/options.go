package scenario

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/looptape/looptape/fake"
	"github.com/looptape/looptape/internal/suggest"
	"github.com/looptape/looptape/llm"
	"github.com/looptape/looptape/loop"
	"github.com/looptape/looptape/loop/preset"
)

type reader struct {
	cfg     loop.Config
	version int      // of the names in the script
	tools   []string // the names of the script's tools
	models  []string // the names of the script's models
	agents  agents
	explore *exploration           // makes the choices of people, if not nil
	renames map[fake.Pos][2]string // see fake.Script.Renames
}

// version1 maps names within middleware and stop_when to those of version 1.
var version1 = map[string]string{"truncate_results": "cut_results", "max_retries": "re_asks", "handoffs": "to", "keep_messages": "keep"}

// name returns a name in the version of the script.
func (r *reader) name(name string) string {
	if old, ok := version1[name]; ok && r.version == 1 {
		return old
	}
	return name
}

// rename records that a name has another one in version 2.
func (r *reader) rename(pos fake.Pos, was, is string) {
	if was != is {
		r.renames[pos] = [2]string{was, is}
	}
}

// optionName returns the key of an option. It is the same for all options of [loop.Retry].
func (r *reader) optionName(o *loop.Option) string {
	name, _, _ := strings.Cut(o.Name, ".")
	if r.version == 1 && name != "retry" {
		return o.Declared
	}
	return name
}

// Config returns the configuration for a script's loop options. It returns all invalid
// options, joined, each a [*fake.SyntaxError].
func Config(s *fake.Script) (cfg loop.Config, err error) {
	r, err := readOptions(s, nil)
	if err == nil {
		cfg = r.cfg
	}
	return cfg, err
}

func readOptions(s *fake.Script, x *exploration) (*reader, error) {
	r := &reader{explore: x, version: s.Version, renames: map[fake.Pos][2]string{}}
	for _, t := range s.Tools {
		r.tools = append(r.tools, t.Name)
	}
	for _, l := range s.Models {
		r.models = append(r.models, l.Name)
	}
	for _, o := range s.Loop {
		if p, err := preset.Lookup(o.Value.Text); o.Name == "preset" && err == nil {
			r.cfg = p.Fill(r.cfg) // first, wherever it is: the other options override it
		}
	}
	table := loop.Options()
	names := make([]string, len(table))
	for i := range table {
		names[i] = r.optionName(&table[i])
	}
	var errs []error
	for _, o := range s.Loop {
		i := slices.Index(names, o.Name)
		if i < 0 {
			known := slices.Compact(slices.Clone(names)) // the options of retry are neighbors
			errs = append(errs, s.Errorf(o.Pos, "unknown loop option %q: %swant one of %s", o.Name, suggest.Hint(o.Name, known), strings.Join(known, ", ")))
			continue
		}
		name, _, _ := strings.Cut(table[i].Name, ".")
		r.rename(o.Pos, o.Name, name)
		if err := at(o.Value.Pos, r.set(&table[i], o.Value)); err != nil {
			e, _ := errors.AsType[*positioned](err)
			errs = append(errs, s.Errorf(e.pos, "%s: %v", o.Name, err))
		}
	}
	r.cfg.System = s.System
	return r, errors.Join(errs...)
}

func (r *reader) set(o *loop.Option, v fake.Value) error {
	switch o.Name {
	case "preset":
		return oneOf(v, preset.Names()...)
	case "stop_when":
		return r.stopWhen(v)
	case "middleware":
		return setMiddleware(r, v)
	case "retry.max":
		return r.retry(v)
	}
	if err := r.setScalar(o, v); err != nil {
		return err
	}
	switch {
	case o.Name == "model":
		return checkName("model", v, v.Text, r.models)
	case o.Name == "tool_choice" && r.cfg.ToolChoice.Mode == llm.ChooseTool:
		return checkName("tool", v, r.cfg.ToolChoice.Name, r.tools)
	}
	return nil
}

func (r *reader) setScalar(o *loop.Option, v fake.Value) (err error) {
	column, wordKind := 0, fake.Text
	if r.version == 1 {
		column = 1
	} else if o.Type == "bool" {
		wordKind = fake.Bool
	}
	words := make([]string, len(o.Values))
	for i, w := range o.Values {
		words[i] = w[column]
	}
	if i := slices.Index(words, v.Text); i >= 0 && v.Kind == wordKind {
		r.rename(v.Pos, v.Text, o.Values[i][0])
		v.Text = o.Values[i][0]
		if o.Set(&r.cfg, v.Text) == nil {
			return nil
		}
		return oneOf(fake.Value{}, words...)
	}
	switch o.Type {
	case "word":
		return oneOf(v, words...)
	case "bool":
		if err = kind(v, fake.Bool); r.version == 1 && len(words) > 0 {
			return oneOf(v, words...)
		}
	case "integer":
		_, err = integer(v, o.Min)
	case "number":
		_, err = number(v)
	case "duration":
		err = duration(v)
	case "string":
		err = kind(v, fake.Text)
	case "":
	}
	if err != nil {
		return err
	}
	isWord := slices.ContainsFunc(o.Values, func(w [2]string) bool { return w[0] == v.Text }) // of version 2
	if err = o.Set(&r.cfg, v.Text); len(words) > 0 && (err != nil || isWord) {
		return oneOf(fake.Value{}, words...)
	}
	return err
}

func (r *reader) retry(v fake.Value) error {
	set := map[string]func(fake.Value) error{}
	for _, o := range loop.Options() {
		if name, ok := strings.CutPrefix(o.Name, "retry."); ok {
			set[name] = func(v fake.Value) error { return r.setScalar(&o, v) }
		}
	}
	return r.fields(v, set)
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

// integer returns a whole number that is not below the minimum.
func integer(v fake.Value, minimum int) (int, error) {
	if err := kind(v, fake.Number); err != nil {
		return 0, err
	}
	n, err := strconv.Atoi(v.Text)
	switch {
	case err != nil:
		return 0, fmt.Errorf("expected a whole number, got %s", v.Text)
	case n < minimum:
		return 0, fmt.Errorf("expected a whole number, %d or above, got %d", minimum, n)
	}
	return n, nil
}

func duration(v fake.Value) error {
	if d, err := time.ParseDuration(v.Text); err != nil || v.Kind != fake.Text || d <= 0 {
		return errors.New("expected a duration above 0, such as 1.5s")
	}
	return nil
}

// number returns a number that is not below 0.
func number(v fake.Value) (float64, error) {
	if err := kind(v, fake.Number); err != nil {
		return 0, err
	}
	f, err := strconv.ParseFloat(v.Text, 64)
	if err == nil && f < 0 {
		err = fmt.Errorf("expected a number, 0 or above, got %s", v.Text)
	}
	return f, err
}

// fields reads a map with the given members.
func (r *reader) fields(v fake.Value, set map[string]func(fake.Value) error) error {
	if err := kind(v, fake.Map); err != nil {
		return err
	}
	current := map[string]string{} // by the name in the script
	var known []string
	for name := range set {
		current[r.name(name)] = name
		known = append(known, r.name(name))
	}
	slices.Sort(known)
	for _, f := range v.Fields {
		name, ok := current[f.Name]
		if !ok {
			return at(f.Pos, fmt.Errorf("unknown key %q: want one of %s", f.Name, strings.Join(known, ", ")))
		}
		r.rename(f.Pos, f.Name, name)
		if err := at(f.Value.Pos, set[name](f.Value)); err != nil {
			return fmt.Errorf("%s: %w", f.Name, err)
		}
	}
	return nil
}

// single returns the name and the value of an item: a word, or a map with one member.
func single(v fake.Value) (name string, arg fake.Value, err error) {
	switch {
	case v.Kind == fake.Text:
		return v.Text, fake.Value{Pos: v.Pos}, nil
	case v.Kind == fake.Map && len(v.Fields) == 1:
		return v.Fields[0].Name, v.Fields[0].Value, nil
	}
	return "", arg, fmt.Errorf("expected a name, or a map of one name to its value")
}

// set* functions return a setter for a member of a map.
func setText(to *string) func(fake.Value) error {
	return func(v fake.Value) error {
		*to = v.Text
		return kind(v, fake.Text)
	}
}

func setInteger(to *int, minimum int) func(fake.Value) error {
	return func(v fake.Value) (err error) {
		*to, err = integer(v, minimum)
		return err
	}
}

func (r *reader) stopWhen(v fake.Value) error {
	return items(v, func(item fake.Value) error {
		c, err := r.condition(item)
		r.cfg.StopWhen = append(r.cfg.StopWhen, c)
		return err
	})
}

// items calls f for each item of a list.
func items(v fake.Value, f func(item fake.Value) error) error {
	if err := kind(v, fake.List); err != nil {
		return err
	}
	for i, item := range v.Items {
		if err := at(item.Pos, f(item)); err != nil {
			return fmt.Errorf("item %d: %w", i+1, err)
		}
	}
	return nil
}

func (r *reader) condition(item fake.Value) (c loop.StopCondition, err error) {
	name, arg, err := single(item)
	if err != nil {
		return c, err
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
		set := func(to *float64) func(fake.Value) error {
			return func(v fake.Value) (err error) { *to, err = number(v); return err }
		}
		err := r.fields(arg, map[string]func(fake.Value) error{"limit": set(&limit), "input": set(&in), "output": set(&out)})
		return loop.CostExceeds(limit, func(u llm.Usage) (float64, bool) {
			return float64(u.InputTokens)*in + float64(u.OutputTokens)*out, true
		}), err
	}
	return c, fmt.Errorf("unknown stop condition %q: want one of never, step_count, has_tool_call, total_tokens, cost", name)
}
