package fake

import (
	"encoding/json"
	"fmt"
	"slices"
	"time"

	"go.yaml.in/yaml/v3"

	"github.com/looptape/looptape/fake/internal/yamlfile"
	"github.com/looptape/looptape/internal/suggest"
	"github.com/looptape/looptape/llm"
)

func scriptCodec() yamlfile.Codec[Script] {
	fields := []yamlfile.Field[Script]{
		versionField(),
		yamlfile.Member("name", "The name of the scenario.", yamlfile.TextCodec, func(s *Script) *string { return &s.Name }),
		yamlfile.Member("doc", "The purpose of the scenario.", yamlfile.TextCodec, func(s *Script) *string { return &s.Doc }),
		yamlfile.Member("loop", "The options of the loop, by name.", optionsCodec, func(s *Script) *[]Option { return &s.Loop }),
		yamlfile.Member("tools", "The tools, by name.", yamlfile.ByName("tools by name", toolCodec(), func(t *Tool) (*string, *int, *int) { return &t.Name, &t.Pos.Line, &t.Pos.Col }),
			func(s *Script) *[]Tool { return &s.Tools }),
		yamlfile.Member("models", "The responses of each model, by the name of its session.", yamlfile.ByName("models by name", modelCodec(), func(l *ModelScript) (*string, *int, *int) { return &l.Name, &l.Pos.Line, &l.Pos.Col }),
			func(s *Script) *[]ModelScript { return &s.Models }),
		yamlfile.Member("gates", "The order in which gates open: whenever all tasks wait, the first of these gates that a task waits for.",
			yamlfile.ListOf("gates", yamlfile.TextCodec), func(s *Script) *[]string { return &s.Gates }),
		yamlfile.Member("system", "The system prompt.", yamlfile.TextCodec, func(s *Script) *string { return &s.System }),
		yamlfile.Member("history", "The messages before the input.", yamlfile.ListOf("messages", messageCodec()), func(s *Script) *[]llm.Message { return &s.History }),
		yamlfile.Member("input", "The user message, or a list of messages.", inputCodec(), func(s *Script) *[]llm.Message { return &s.Input }),
		yamlfile.Member("cancel", "When the run is canceled.", yamlfile.PointerTo(cancelCodec()), func(s *Script) **Cancel { return &s.Cancel }),
		yamlfile.Member("consumer", "How the consumer reads the events.", consumerCodec(), func(s *Script) *int { return &s.StopAfter }),
	}
	return yamlfile.Object("scenario", "the scenario", fields, checkScript)
}

// versionField is the only required key.
func versionField() yamlfile.Field[Script] {
	return yamlfile.Field[Script]{
		Key: "version",
		Read: func(r *yamlfile.Reader, n *yaml.Node, s *Script) {
			if s.Version = versionOf(n); s.Version == 0 {
				r.Errorf(n, "unknown version: want 1 or 2, found %s", yamlfile.DescribeNode(n))
			}
			if s.Version == 1 {
				r.Rename(n, "2")
			}
		},
		Write: func(*Script) *yaml.Node { return yamlfile.PlainNode("!!int", "2") },
		Schema: func(yamlfile.Defs) yamlfile.Schema {
			return yamlfile.Schema{"description": "The version of the format.", "const": 2}
		},
	}
}

func checkScript(r *yamlfile.Reader, n *yaml.Node, s *Script) {
	if n.Kind == yaml.MappingNode && yamlfile.Child(n, "version") == nil {
		r.Errorf(n, "missing key version: begin with version: 2")
	}
	checkGates(r, n, s)
	if c := s.Cancel; c != nil && c.InTool != "" {
		var names []string
		for _, t := range s.Tools {
			names = append(names, t.Name)
		}
		if !slices.Contains(names, c.InTool) {
			r.Errorf(yamlfile.Child(yamlfile.Child(n, "cancel"), "in_tool"), "unknown tool %q: want one of %q", c.InTool, names)
		}
	}
}

// checkGates reports gates that no task waits for.
func checkGates(r *yamlfile.Reader, n *yaml.Node, s *Script) {
	if len(r.Errs) > 0 || s.Gates == nil {
		return
	}
	used := gatesOf(s)
	for i, item := range yamlfile.Child(n, "gates").Content {
		if name := s.Gates[i]; !slices.Contains(used, name) {
			r.Errorf(item, "no tool and no response waits for the gate %q: %s", name, suggestion("gate", name, used))
		}
	}
}

// gatesOf returns the gates that tools and responses wait for.
func gatesOf(s *Script) (names []string) {
	for _, t := range s.Tools {
		names = append(names, t.Gate)
		for _, b := range t.Calls {
			names = append(names, b.Gate)
		}
		for _, c := range t.ByArguments {
			names = append(names, c.Gate)
		}
	}
	for _, l := range s.Models {
		for _, t := range l.Responses {
			names = append(names, t.Gate)
			for _, a := range t.Attempts {
				names = append(names, a.Gate)
			}
		}
	}
	slices.Sort(names)
	return slices.DeleteFunc(slices.Compact(names), func(name string) bool { return name == "" })
}

// suggestion returns the known names, and the most similar one.
func suggestion(what, name string, known []string) string {
	if len(known) == 0 {
		return "the scenario uses no " + what
	}
	return fmt.Sprintf("%swant one of %q", suggest.Hint(name, known), known)
}

func modelCodec() yamlfile.Codec[ModelScript] {
	responses := yamlfile.ListOf("responses", responseCodec())
	return yamlfile.Codec[ModelScript]{
		Read: func(r *yamlfile.Reader, n *yaml.Node) ModelScript {
			return ModelScript{Responses: responses.Read(r, n)}
		},
		Write:  func(l ModelScript) *yaml.Node { return responses.Write(l.Responses) },
		Schema: responses.Schema,
	}
}

func cancelCodec() yamlfile.Codec[Cancel] {
	out := yamlfile.Object("cancel", "cancel", []yamlfile.Field[Cancel]{
		yamlfile.Member("before", "Before the run starts.", yamlfile.BoolCodec, func(c *Cancel) *bool { return &c.Before }),
		yamlfile.Member("at", "The virtual time after the start.", yamlfile.DurationCodec, func(c *Cancel) *time.Duration { return &c.At }),
		yamlfile.Member("in_tool", "At the first call of this tool.", yamlfile.TextCodec, func(c *Cancel) *string { return &c.InTool }),
		yamlfile.Member("after_events", "After this number of events.", yamlfile.CountCodec, func(c *Cancel) *int { return &c.AfterEvents }),
	}, func(r *yamlfile.Reader, n *yaml.Node, _ *Cancel) {
		if len(n.Content) != 2 {
			r.Errorf(n, "cancel needs exactly one of before, at, in_tool, after_events")
		}
	})
	read := out.Read
	out.Read = func(r *yamlfile.Reader, n *yaml.Node) Cancel {
		before := len(r.Errs)
		c := read(r, n)
		if c == (Cancel{}) && len(r.Errs) == before {
			r.Errorf(n.Content[1], "cancel without a time: remove cancel, or set a time")
		}
		return c
	}
	return out
}

func consumerCodec() yamlfile.Codec[int] {
	return yamlfile.Object("consumer", "consumer", []yamlfile.Field[int]{
		yamlfile.Member("stop_after", "Stops the iteration after this number of events.", yamlfile.CountCodec, func(n *int) *int { return n }),
	}, nil)
}

// toolCodec is a tool with the fields of its behavior.
func toolCodec() yamlfile.Codec[Tool] {
	return yamlfile.Object("tool", "a tool", slices.Concat([]yamlfile.Field[Tool]{
		yamlfile.Member("description", "The description for the model.", yamlfile.TextCodec, func(t *Tool) *string { return &t.Description }),
		parametersField(),
		yamlfile.Member("client", "Whether the tool is client-side: the caller of the loop returns its results.", yamlfile.BoolCodec, func(t *Tool) *bool { return &t.Client }),
	}, behaviorFields(func(t *Tool) *Behavior { return &t.Behavior }), []yamlfile.Field[Tool]{
		yamlfile.Member("calls", "The behavior of the first, second … call.", yamlfile.ListOf("behaviors", yamlfile.Object("behavior", "a behavior",
			behaviorFields(func(b *Behavior) *Behavior { return b }), checkBehavior)), func(t *Tool) *[]Behavior { return &t.Calls }),
		yamlfile.Member("by_arguments", "The behavior of calls with certain arguments.", yamlfile.ListOf("cases", argumentsCaseCodec()), func(t *Tool) *[]Behavior { return &t.ByArguments }),
	}), func(r *yamlfile.Reader, n *yaml.Node, t *Tool) {
		checkBehavior(r, n, t)
		if t.Client {
			yamlfile.Exclude(r, n, "client", append(yamlfile.KeysOf(behaviorFields(func(b *Behavior) *Behavior { return b })), "calls", "by_arguments"))
		}
		if t.Calls != nil {
			yamlfile.Exclude(r, n, "calls", []string{"by_arguments"})
		}
	})
}

// parametersField is the schema of the arguments with its position.
func parametersField() yamlfile.Field[Tool] {
	schemaCodec := yamlfile.Codec[json.RawMessage]{
		Read: func(r *yamlfile.Reader, n *yaml.Node) json.RawMessage {
			if n.Kind != yaml.MappingNode {
				r.Errorf(n, "expected a JSON Schema (a map), found %s", yamlfile.DescribeNode(n))
				return nil
			}
			return r.JSON(nil, n)
		},
		Write:  yamlfile.JSONCodec.Write,
		Schema: func(yamlfile.Defs) yamlfile.Schema { return yamlfile.Schema{"type": "object"} },
	}
	f := yamlfile.Member("parameters", "The JSON Schema of the arguments.", schemaCodec, func(t *Tool) *json.RawMessage { return &t.Parameters })
	read := f.Read
	f.Read = func(r *yamlfile.Reader, n *yaml.Node, to *Tool) {
		to.ParametersPos = pos(n)
		read(r, n, to)
	}
	return f
}

// ends are the keys that end a behavior.
var ends = []string{"returns", "text", "text_b64", "error", "error_b64", "panic", "exit", "stall"}

// checkBehavior reports a behavior with several ends.
func checkBehavior[T any](r *yamlfile.Reader, n *yaml.Node, _ *T) {
	if n.Kind != yaml.MappingNode {
		return
	}
	for i := 0; i < len(n.Content); i += 2 {
		if key := n.Content[i].Value; slices.Contains(ends, key) {
			yamlfile.Exclude(r, n, key, slices.DeleteFunc(slices.Clone(ends), func(other string) bool { return other == key }))
			return
		}
	}
}

func argumentsCaseCodec() yamlfile.Codec[Behavior] {
	return yamlfile.Object("arguments_case", "a case", slices.Concat(
		yamlfile.BytesFields("arguments", "The arguments: a string, or a map.", yamlfile.ArgumentsCodec, func(b *Behavior) *string { return &b.Arguments }),
		behaviorFields(func(b *Behavior) *Behavior { return b }),
	), checkBehavior)
}

func behaviorFields[T any](in func(*T) *Behavior) []yamlfile.Field[T] {
	return slices.Concat(
		[]yamlfile.Field[T]{yamlfile.Member("returns", "A value; the text of the result is its JSON.", yamlfile.JSONCodec, func(v *T) *json.RawMessage { return &in(v).Returns })},
		yamlfile.BytesFields("text", "The text of the result.", yamlfile.TextCodec, func(v *T) *string { return &in(v).Text }),
		yamlfile.BytesFields("error", "The error that the tool returns.", yamlfile.TextCodec, func(v *T) *string { return &in(v).Error }),
		[]yamlfile.Field[T]{
			yamlfile.Member("panic", "The value of the panic.", yamlfile.TextCodec, func(v *T) *string { return &in(v).Panic }),
			yamlfile.Member("exit", "Ends the goroutine of the tool without returning.", yamlfile.BoolCodec, func(v *T) *bool { return &in(v).Exit }),
			yamlfile.Member("delay", "The virtual time before the end.", yamlfile.DurationCodec, func(v *T) *time.Duration { return &in(v).Delay }),
			yamlfile.Member("gate", "The gate before the end, after the delay.", yamlfile.TextCodec, func(v *T) *string { return &in(v).Gate }),
			yamlfile.Member("stall", "Blocks until the context ends.", yamlfile.BoolCodec, func(v *T) *bool { return &in(v).Stall }),
			yamlfile.Member("ignores_cancel", "Continues to wait when the context ends.", yamlfile.BoolCodec, func(v *T) *bool { return &in(v).IgnoresCancel }),
		},
	)
}
