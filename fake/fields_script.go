package fake

import (
	"encoding/json"
	"fmt"
	"slices"

	"go.yaml.in/yaml/v3"

	"github.com/looptape/looptape/fake/internal/yamlfile"
	"github.com/looptape/looptape/internal/suggest"
)

// scenario is the form of a [Script] in a file.
type scenario struct {
	Script
	Consumer consumer
}

type consumer struct{ StopAfter int }

func scriptCodec() yamlfile.Codec[scenario] {
	return yamlfile.Object("scenario", "the scenario", `
		version   The version of the format.
		name      The name of the scenario.
		doc       The purpose of the scenario.
		loop      The options of the loop, by name.
		tools     The tools, by name.
		models    The responses of each model, by the name of its session.
		gates     The order in which gates open: whenever all tasks wait, the first of these gates that a task waits for.
		system    The system prompt.
		history   The messages before the input.
		input     The user message, or a list of messages.
		cancel    When the run is canceled.
		consumer  How the consumer reads the events.`, yamlfile.Codecs{
		"version": versionCodec,
		"loop":    optionsCodec,
		"tools":   yamlfile.ByName("tools by name", toolCodec()),
		"models":  yamlfile.ByName("models by name", modelCodec()),
		"gates":   yamlfile.ListOf("gates", yamlfile.TextCodec),
		"history": yamlfile.ListOf("messages", messageCodec()),
		"input":   inputCodec(),
		"cancel":  yamlfile.PointerTo(cancelCodec()),
		"consumer": yamlfile.Object[consumer]("consumer", "consumer", `
			stop_after  Stops the iteration after this number of events.`, nil, nil),
	}, checkScript)
}

// versionCodec is for the only required key.
var versionCodec = yamlfile.Codec[int]{
	Read: func(r *yamlfile.Reader, n *yaml.Node) int {
		version := versionOf(n)
		switch version {
		case 0:
			r.Errorf(n, "unknown version: want 1 or 2, found %s", yamlfile.DescribeNode(n))
		case 1:
			r.Rename(n, "2")
		}
		return version
	},
	Write:  func(int) *yaml.Node { return yamlfile.PlainNode("!!int", "2") },
	Schema: func(yamlfile.Defs) yamlfile.Schema { return yamlfile.Schema{"const": 2} },
}

func checkScript(r *yamlfile.Reader, n *yaml.Node, s *scenario) {
	if n.Kind == yaml.MappingNode && yamlfile.Child(n, "version") == nil {
		r.Errorf(n, "missing key version: begin with version: 2")
	}
	checkGates(r, n, &s.Script)
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
	out := yamlfile.Object("cancel", "cancel", `
		before        Before the run starts.
		at            The virtual time after the start.
		in_tool       At the first call of this tool.
		after_events  After this number of events.`, nil, func(r *yamlfile.Reader, n *yaml.Node, _ *Cancel) {
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

func toolCodec() yamlfile.Codec[Tool] {
	behavior := yamlfile.Object("behavior", "a behavior", behaviorFields, nil, checkBehavior[Behavior])
	withArguments := yamlfile.Object("arguments_case", "a case", `
		arguments(_b64)  The arguments: a string, or a map.`+behaviorFields, argumentsCodecs, checkBehavior[Behavior])
	return yamlfile.Object("tool", "a tool", `
		description      The description for the model.
		parameters       The JSON Schema of the arguments.
		client           Whether the tool is client-side: the caller of the loop returns its results.`+behaviorFields+`
		calls            The behavior of the first, second … call.
		by_arguments     The behavior of calls with certain arguments.`, yamlfile.Codecs{
		"parameters":   parametersCodec,
		"calls":        yamlfile.ListOf("behaviors", behavior),
		"by_arguments": yamlfile.ListOf("cases", withArguments),
	}, func(r *yamlfile.Reader, n *yaml.Node, t *Tool) {
		if p := yamlfile.Child(n, "parameters"); p != nil {
			t.ParametersPos = pos(p)
		}
		checkBehavior(r, n, t)
		if t.Client {
			yamlfile.Exclude(r, n, "client", append(yamlfile.KeysOf[Behavior](behaviorFields), "calls", "by_arguments")...)
		}
		if t.Calls != nil {
			yamlfile.Exclude(r, n, "calls", "by_arguments")
		}
	})
}

var parametersCodec = yamlfile.Codec[json.RawMessage]{
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

const behaviorFields = `
		returns          A value; the text of the result is its JSON.
		text(_b64)       The text of the result.
		error(_b64)      The error that the tool returns.
		panic            The value of the panic.
		exit             Ends the goroutine of the tool without returning.
		delay            The virtual time before the end.
		gate             The gate before the end, after the delay.
		stall            Blocks until the context ends.
		ignores_cancel   Continues to wait when the context ends.`

// checkBehavior reports a behavior with several ends.
func checkBehavior[T any](r *yamlfile.Reader, n *yaml.Node, _ *T) {
	if n.Kind != yaml.MappingNode {
		return
	}
	ends := []string{"returns", "text", "text_b64", "error", "error_b64", "panic", "exit", "stall"}
	for i := 0; i < len(n.Content); i += 2 {
		key := n.Content[i].Value
		if at := slices.Index(ends, key); at >= 0 {
			yamlfile.Exclude(r, n, key, slices.Delete(ends, at, at+1)...)
			return
		}
	}
}
