package fake

import (
	"encoding/json"
	"fmt"
	"slices"
	"time"

	"go.yaml.in/yaml/v3"

	"github.com/looptape/looptape/internal/suggest"
	"github.com/looptape/looptape/llm"
)

func scriptCodec() codec[Script] {
	fields := []field[Script]{
		versionField(),
		member("name", "The name of the scenario.", textCodec, func(s *Script) *string { return &s.Name }),
		member("doc", "The purpose of the scenario.", textCodec, func(s *Script) *string { return &s.Doc }),
		member("loop", "The options of the loop, by name.", optionsCodec, func(s *Script) *[]Option { return &s.Loop }),
		member("tools", "The tools, by name.", byName("tools by name", toolCodec(), func(t *Tool) (*string, *Pos) { return &t.Name, &t.Pos }),
			func(s *Script) *[]Tool { return &s.Tools }),
		member("models", "The responses of each model, by the name of its session.", byName("models by name", modelCodec(), func(l *ModelScript) (*string, *Pos) { return &l.Name, &l.Pos }),
			func(s *Script) *[]ModelScript { return &s.Models }),
		member("gates", "The order in which gates open: whenever all tasks wait, the first of these gates that a task waits for.",
			listOf("gates", textCodec), func(s *Script) *[]string { return &s.Gates }),
		member("system", "The system prompt.", textCodec, func(s *Script) *string { return &s.System }),
		member("history", "The messages before the input.", listOf("messages", messageCodec()), func(s *Script) *[]llm.Message { return &s.History }),
		member("input", "The user message, or a list of messages.", inputCodec(), func(s *Script) *[]llm.Message { return &s.Input }),
		member("cancel", "When the run is canceled.", pointerTo(cancelCodec()), func(s *Script) **Cancel { return &s.Cancel }),
		member("consumer", "How the consumer reads the events.", consumerCodec(), func(s *Script) *int { return &s.StopAfter }),
	}
	return object("scenario", "the scenario", fields, checkScript)
}

// versionField is the only required key.
func versionField() field[Script] {
	return field[Script]{
		key: "version",
		read: func(r *reader, n *yaml.Node, s *Script) {
			if s.Version = r.version; r.version == 0 {
				r.errorf(n, "unknown version: want 1 or 2, found %s", describeNode(n))
			}
			if r.version == 1 {
				r.renames[r.pos(n)] = [2]string{"1", "2"}
			}
		},
		write: func(*Script) *yaml.Node { return plainNode("!!int", "2") },
		schema: func(defs) schema {
			return schema{"description": "The version of the format.", "const": 2}
		},
	}
}

func checkScript(r *reader, n *yaml.Node, s *Script) {
	if n.Kind == yaml.MappingNode && child(n, "version") == nil {
		r.errorf(n, "missing key version: begin with version: 2")
	}
	checkGates(r, n, s)
	if c := s.Cancel; c != nil && c.InTool != "" {
		var names []string
		for _, t := range s.Tools {
			names = append(names, t.Name)
		}
		if !slices.Contains(names, c.InTool) {
			r.errorf(child(child(n, "cancel"), "in_tool"), "unknown tool %q: want one of %q", c.InTool, names)
		}
	}
}

// checkGates reports gates that no task waits for.
func checkGates(r *reader, n *yaml.Node, s *Script) {
	if len(r.errs) > 0 || s.Gates == nil {
		return
	}
	used := gatesOf(s)
	for i, item := range child(n, "gates").Content {
		if name := s.Gates[i]; !slices.Contains(used, name) {
			r.errorf(item, "no tool and no response waits for the gate %q: %s", name, suggestion("gate", name, used))
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

// child returns the value of a key of a map, or nil.
func child(n *yaml.Node, key string) *yaml.Node {
	for i := 0; i+1 < len(n.Content); i += 2 {
		if n.Content[i].Value == key && n.Kind == yaml.MappingNode {
			return n.Content[i+1]
		}
	}
	return nil
}

func modelCodec() codec[ModelScript] {
	responses := listOf("responses", responseCodec())
	return codec[ModelScript]{
		read:   func(r *reader, n *yaml.Node) ModelScript { return ModelScript{Responses: responses.read(r, n)} },
		write:  func(l ModelScript) *yaml.Node { return responses.write(l.Responses) },
		schema: responses.schema,
	}
}

func cancelCodec() codec[Cancel] {
	out := object("cancel", "cancel", []field[Cancel]{
		member("before", "Before the run starts.", boolCodec, func(c *Cancel) *bool { return &c.Before }),
		member("at", "The virtual time after the start.", durationCodec, func(c *Cancel) *time.Duration { return &c.At }),
		member("in_tool", "At the first call of this tool.", textCodec, func(c *Cancel) *string { return &c.InTool }),
		member("after_events", "After this number of events.", countCodec, func(c *Cancel) *int { return &c.AfterEvents }),
	}, func(r *reader, n *yaml.Node, _ *Cancel) {
		if len(n.Content) != 2 {
			r.errorf(n, "cancel needs exactly one of before, at, in_tool, after_events")
		}
	})
	read := out.read
	out.read = func(r *reader, n *yaml.Node) Cancel {
		before := len(r.errs)
		c := read(r, n)
		if c == (Cancel{}) && len(r.errs) == before {
			r.errorf(n.Content[1], "cancel without a time: remove cancel, or set a time")
		}
		return c
	}
	return out
}

func consumerCodec() codec[int] {
	return object("consumer", "consumer", []field[int]{
		member("stop_after", "Stops the iteration after this number of events.", countCodec, func(n *int) *int { return n }),
	}, nil)
}

// toolCodec is a tool with the fields of its behavior.
func toolCodec() codec[Tool] {
	return object("tool", "a tool", slices.Concat([]field[Tool]{
		member("description", "The description for the model.", textCodec, func(t *Tool) *string { return &t.Description }),
		parametersField(),
		member("client", "Whether the tool is client-side: the caller of the loop returns its results.", boolCodec, func(t *Tool) *bool { return &t.Client }),
	}, behaviorFields(func(t *Tool) *Behavior { return &t.Behavior }), []field[Tool]{
		member("calls", "The behavior of the first, second … call.", listOf("behaviors", object("behavior", "a behavior",
			behaviorFields(func(b *Behavior) *Behavior { return b }), checkBehavior)), func(t *Tool) *[]Behavior { return &t.Calls }),
		member("by_arguments", "The behavior of calls with certain arguments.", listOf("cases", argumentsCaseCodec()), func(t *Tool) *[]Behavior { return &t.ByArguments }),
	}), func(r *reader, n *yaml.Node, t *Tool) {
		checkBehavior(r, n, t)
		if t.Client {
			exclude(r, n, "client", append(keysOf(behaviorFields(func(b *Behavior) *Behavior { return b })), "calls", "by_arguments"))
		}
		if t.Calls != nil {
			exclude(r, n, "calls", []string{"by_arguments"})
		}
	})
}

// parametersField is the schema of the arguments with its position.
func parametersField() field[Tool] {
	schemaCodec := codec[json.RawMessage]{
		read: func(r *reader, n *yaml.Node) json.RawMessage {
			if n.Kind != yaml.MappingNode {
				r.errorf(n, "expected a JSON Schema (a map), found %s", describeNode(n))
				return nil
			}
			return r.json(nil, n)
		},
		write:  jsonCodec.write,
		schema: func(defs) schema { return schema{"type": "object"} },
	}
	f := member("parameters", "The JSON Schema of the arguments.", schemaCodec, func(t *Tool) *json.RawMessage { return &t.Parameters })
	read := f.read
	f.read = func(r *reader, n *yaml.Node, to *Tool) {
		to.ParametersPos = r.pos(n)
		read(r, n, to)
	}
	return f
}

// ends are the keys that end a behavior.
var ends = []string{"returns", "text", "text_b64", "error", "error_b64", "panic", "exit", "stall"}

// checkBehavior reports a behavior with several ends.
func checkBehavior[T any](r *reader, n *yaml.Node, _ *T) {
	if n.Kind != yaml.MappingNode {
		return
	}
	for i := 0; i < len(n.Content); i += 2 {
		if key := n.Content[i].Value; slices.Contains(ends, key) {
			exclude(r, n, key, slices.DeleteFunc(slices.Clone(ends), func(other string) bool { return other == key }))
			return
		}
	}
}

func argumentsCaseCodec() codec[Behavior] {
	return object("arguments_case", "a case", slices.Concat(
		bytesFields("arguments", "The arguments: a string, or a map.", argumentsCodec, func(b *Behavior) *string { return &b.Arguments }),
		behaviorFields(func(b *Behavior) *Behavior { return b }),
	), checkBehavior)
}

func behaviorFields[T any](in func(*T) *Behavior) []field[T] {
	return slices.Concat(
		[]field[T]{member("returns", "A value; the text of the result is its JSON.", jsonCodec, func(v *T) *json.RawMessage { return &in(v).Returns })},
		bytesFields("text", "The text of the result.", textCodec, func(v *T) *string { return &in(v).Text }),
		bytesFields("error", "The error that the tool returns.", textCodec, func(v *T) *string { return &in(v).Error }),
		[]field[T]{
			member("panic", "The value of the panic.", textCodec, func(v *T) *string { return &in(v).Panic }),
			member("exit", "Ends the goroutine of the tool without returning.", boolCodec, func(v *T) *bool { return &in(v).Exit }),
			member("delay", "The virtual time before the end.", durationCodec, func(v *T) *time.Duration { return &in(v).Delay }),
			member("gate", "The gate before the end, after the delay.", textCodec, func(v *T) *string { return &in(v).Gate }),
			member("stall", "Blocks until the context ends.", boolCodec, func(v *T) *bool { return &in(v).Stall }),
			member("ignores_cancel", "Continues to wait when the context ends.", boolCodec, func(v *T) *bool { return &in(v).IgnoresCancel }),
		},
	)
}
