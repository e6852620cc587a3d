package fake

import (
	"encoding/json"
	"fmt"
	"slices"
	"time"

	"go.yaml.in/yaml/v3"

	"github.com/looptape/looptape/llm"
)

// The tables of the scenario format: every key, what it holds and where.

func scriptCodec() codec[Script] {
	fields := []field[Script]{
		versionField(),
		member("name", "What the scenario is called.", textCodec, func(s *Script) *string { return &s.Name }),
		member("doc", "What it shows.", textCodec, func(s *Script) *string { return &s.Doc }),
		member("loop", "The options of the loop, by name.", optionsCodec, func(s *Script) *[]Option { return &s.Loop }),
		member("tools", "The tools, by name.", byName("tools by name", toolCodec(), func(t *Tool) (*string, *Pos) { return &t.Name, &t.Pos }),
			func(s *Script) *[]Tool { return &s.Tools }),
		member("models", "The turns of each model, by the name of its lane.", byName("models by name", laneCodec(), func(l *ModelScript) (*string, *Pos) { return &l.Name, &l.Pos }),
			func(s *Script) *[]ModelScript { return &s.Models }),
		member("gates", "The order in which gates open by themselves: whenever all wait, the first of these that somebody waits for.",
			listOf("gates", textCodec), func(s *Script) *[]string { return &s.Gates }),
		member("system", "The system prompt.", textCodec, func(s *Script) *string { return &s.System }),
		member("history", "The messages before the input.", listOf("messages", messageCodec()), func(s *Script) *[]llm.Message { return &s.History }),
		member("input", "What the user says, or a list of messages.", inputCodec(), func(s *Script) *[]llm.Message { return &s.Input }),
		member("cancel", "How the run is cancelled.", pointerTo(cancelCodec()), func(s *Script) **Cancel { return &s.Cancel }),
		member("consumer", "How the run is listened to.", pointerTo(consumerCodec()), func(s *Script) **Consumer { return &s.Consumer }),
	}
	return object("scenario", "the scenario", fields, checkScript)
}

// versionField is the key that has to be there; a Script does not hold it.
func versionField() field[Script] {
	return field[Script]{
		key: "version",
		read: func(r *reader, n *yaml.Node, _ *Script) {
			if n.ShortTag() != "!!int" || n.Value != "1" {
				r.errorf(n, "this reads version %d of the format, found %s", Version, what(n))
			}
		},
		write: func(*Script) *yaml.Node { return plainNode("!!int", "1") },
		schema: func(defs) schema {
			return schema{"description": "The version of the format.", "const": Version}
		},
	}
}

func checkScript(r *reader, n *yaml.Node, s *Script) {
	if n.Kind == yaml.MappingNode && child(n, "version") == nil {
		r.errorf(n, "the key version is missing; begin with version: %d", Version)
	}
	checkGates(r, n, s)
	if c := s.Cancel; c != nil && c.InTool != "" {
		var names []string
		for _, t := range s.Tools {
			names = append(names, t.Name)
		}
		if !slices.Contains(names, c.InTool) {
			r.errorf(child(child(n, "cancel"), "in_tool"), "there is no tool %q; did you mean one of %q?", c.InTool, names)
		}
	}
}

// checkGates reports gates that nobody waits for.
func checkGates(r *reader, n *yaml.Node, s *Script) {
	if len(r.errs) > 0 || s.Gates == nil {
		return
	}
	used := gatesOf(s)
	for i, item := range child(n, "gates").Content {
		if name := s.Gates[i]; !slices.Contains(used, name) {
			r.errorf(item, "no tool and no turn waits for the gate %q; %s", name, oneOfThese("gate", name, used))
		}
	}
}

// gatesOf lists the gates that tools and turns wait for.
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

// oneOfThese tells what a name may be, and which of them was perhaps meant.
func oneOfThese(what, name string, known []string) string {
	if len(known) == 0 {
		return "there is no " + what
	}
	hint := ""
	if near := Suggest(name, known); near != "" {
		hint = fmt.Sprintf("did you mean %q? ", near)
	}
	return fmt.Sprintf("%sthere are %q", hint, known)
}

// child returns the value of a key that a map has, or nil.
func child(n *yaml.Node, key string) *yaml.Node {
	for i := 0; i < len(n.Content); i += 2 {
		if n.Content[i].Value == key {
			return n.Content[i+1]
		}
	}
	return nil
}

func laneCodec() codec[ModelScript] {
	turns := listOf("turns", turnCodec())
	return codec[ModelScript]{
		read:   func(r *reader, n *yaml.Node) ModelScript { return ModelScript{Responses: turns.read(r, n)} },
		write:  func(l ModelScript) *yaml.Node { return turns.write(l.Responses) },
		schema: turns.schema,
	}
}

func cancelCodec() codec[Cancel] {
	out := object("cancel", "cancel", []field[Cancel]{
		member("before", "Before the run starts.", boolCodec, func(c *Cancel) *bool { return &c.Before }),
		member("at", "At this virtual time after the start.", durationCodec, func(c *Cancel) *time.Duration { return &c.At }),
		member("in_tool", "When this tool is entered first.", textCodec, func(c *Cancel) *string { return &c.InTool }),
		member("after_events", "When so many events of the run have come.", countCodec, func(c *Cancel) *int { return &c.AfterEvents }),
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
			r.errorf(n.Content[1], "this cancels nothing; leave cancel out, or say when")
		}
		return c
	}
	return out
}

func consumerCodec() codec[Consumer] {
	return object("consumer", "consumer", []field[Consumer]{
		member("leave_after", "Leaves after so many events.", countCodec, func(c *Consumer) *int { return &c.StopAfter }),
	}, nil)
}

// toolCodec is a tool: its fields and those of its behaviour side by side.
func toolCodec() codec[Tool] {
	return object("tool", "a tool", slices.Concat([]field[Tool]{
		member("description", "What the model is told of it.", textCodec, func(t *Tool) *string { return &t.Description }),
		parametersField(),
		member("client", "The caller answers its calls, not the loop.", boolCodec, func(t *Tool) *bool { return &t.Client }),
	}, behaviourFields(func(t *Tool) *Behavior { return &t.Behavior }), []field[Tool]{
		member("calls", "What the first, the second … call does.", listOf("behaviours", object("behaviour", "a behaviour",
			behaviourFields(func(b *Behavior) *Behavior { return b }), checkBehaviour)), func(t *Tool) *[]Behavior { return &t.Calls }),
		member("by_args", "What calls with certain arguments do.", listOf("cases", argsCaseCodec()), func(t *Tool) *[]ArgumentsCase { return &t.ByArguments }),
	}), func(r *reader, n *yaml.Node, t *Tool) {
		checkBehaviour(r, n, t)
		if t.Client {
			exclude(r, n, "client", append(keysOf(behaviourFields(func(b *Behavior) *Behavior { return b })), "calls", "by_args"))
		}
		if t.Calls != nil {
			exclude(r, n, "calls", []string{"by_args"})
		}
	})
}

// parametersField is the schema of a tool's arguments, and where it stands.
func parametersField() field[Tool] {
	schemaCodec := codec[json.RawMessage]{
		read: func(r *reader, n *yaml.Node) json.RawMessage {
			if n.Kind != yaml.MappingNode {
				r.errorf(n, "expected a JSON Schema, which is a map, found %s", what(n))
				return nil
			}
			return r.json(nil, n)
		},
		write:  jsonCodec.write,
		schema: func(defs) schema { return schema{"type": "object"} },
	}
	f := member("parameters", "The JSON Schema of its arguments.", schemaCodec, func(t *Tool) *json.RawMessage { return &t.Parameters })
	read := f.read
	f.read = func(r *reader, n *yaml.Node, to *Tool) {
		to.ParametersPos = r.pos(n)
		read(r, n, to)
	}
	return f
}

// ends are the keys of the ways in which a behaviour ends.
var ends = []string{"returns", "text", "text_b64", "error", "error_b64", "panic", "exit", "stall"}

// checkBehaviour reports a behaviour that ends in several ways.
func checkBehaviour[T any](r *reader, n *yaml.Node, _ *T) {
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

func argsCaseCodec() codec[ArgumentsCase] {
	return object("args_case", "a case", slices.Concat(
		raw("args", "The arguments, as text or as a map.", argsCodec, func(c *ArgumentsCase) *string { return &c.Arguments }),
		behaviourFields(func(c *ArgumentsCase) *Behavior { return &c.Behavior }),
	), checkBehaviour)
}

func behaviourFields[T any](in func(*T) *Behavior) []field[T] {
	return slices.Concat(
		[]field[T]{member("returns", "A value; the result is its JSON.", jsonCodec, func(v *T) *json.RawMessage { return &in(v).Returns })},
		raw("text", "The result's text.", textCodec, func(v *T) *string { return &in(v).Text }),
		raw("error", "The error that is returned.", textCodec, func(v *T) *string { return &in(v).Error }),
		[]field[T]{
			member("panic", "What it panics with.", textCodec, func(v *T) *string { return &in(v).Panic }),
			member("exit", "Ends its goroutine without returning.", boolCodec, func(v *T) *bool { return &in(v).Exit }),
			member("delay", "How long it works, on the virtual clock.", durationCodec, func(v *T) *time.Duration { return &in(v).Delay }),
			member("gate", "The gate that it waits for.", textCodec, func(v *T) *string { return &in(v).Gate }),
			member("stall", "Waits until it is cancelled.", boolCodec, func(v *T) *bool { return &in(v).Stall }),
			member("ignores_cancel", "Waits on when it is cancelled.", boolCodec, func(v *T) *bool { return &in(v).IgnoresCancel }),
		},
	)
}
