package fake

import (
	"encoding/json"
	"fmt"
	"slices"

	"go.yaml.in/yaml/v3"

	"github.com/looptape/looptape/fake/internal/yamlfile"
	"github.com/looptape/looptape/internal/suggest"
	"github.com/looptape/looptape/llm"
)

var responseCodec = yamlfile.Checked(yamlfile.Object[Response]("response", "a response", `
		repeat             The number of responses like this one; {n} in text, reasoning and calls is replaced by the number of the response, from 1.
		expect             The expected request.
		attempts           The responses to the first, second … attempt.`+attemptFields, attemptCodecs, yamlfile.Codecs{
	"repeat": yamlfile.RepeatCodec,
	"attempts": yamlfile.ListOf("attempts", yamlfile.Checked(yamlfile.Object[Response]("attempt", "an attempt", attemptFields+`
		expect             The expected request.`, attemptCodecs), checkResponse)),
}), checkResponse)

var attemptCodecs = yamlfile.Codecs{
	"calls":         yamlfile.ListOf("calls", callCodec),
	"events":        yamlfile.ListOf("events", eventCodec),
	"expect":        yamlfile.PointerTo(expectCodec),
	"warnings":      yamlfile.ListOf("warnings", warningCodec),
	"usage":         usageCodec,
	"finish_reason": finishCodec,
	"error":         yamlfile.PointerTo(failureCodec),
}

// attemptFields are the fields of a response and of an attempt.
const attemptFields = `
		delay              The virtual time before the first event.
		gate               The gate before the first event, after the delay.
		event_interval     The virtual time between events.` + contentFields + `
		events             The events, in place of reasoning, text and calls.
		chunk_size         The maximum number of bytes of a chunk of reasoning, text or arguments.
		warnings           Warnings of the adapter.
		usage              The tokens of this response.
		finish_reason      The finish reason; by default tool_calls if the response has calls, or else stop.
		raw_finish_reason  The finish reason of the provider.
		finish_message     The explanation of the provider.
		response_id        The id of the response.
		model              The model name in the response.
		opaque             Opaque provider data of the message.
		omit_finish        Omits the finish.
		error              The error that ends the response.
		stall              Blocks after the events until the context ends.`

// contentFields are those that events replace.
const contentFields = `
		reasoning(_b64)    The reasoning.
		reasoning_opaque   Opaque provider data of the reasoning.
		text(_b64)         The text.
		chunks             The text in given chunks.
		text_opaque        Opaque provider data of the text.
		refusal            Whether the text is a refusal.
		calls              The tool calls.`

func checkResponse(r *yamlfile.Reader, n *yaml.Node, t *Response) {
	if t.Chunks != nil {
		yamlfile.Exclude(r, n, "chunks", "text", "text_b64")
	}
	if t.Events != nil {
		yamlfile.Exclude(r, n, "events", yamlfile.KeysOf[Response](contentFields)...)
	}
	if t.Attempts != nil {
		yamlfile.Exclude(r, n, "attempts", yamlfile.KeysOf[Response](attemptFields)...)
	}
}

var callCodec = yamlfile.Checked(yamlfile.Object[Call]("call", "a call", `
		id                 The id of the call; may be missing.
		name               The tool's name.
		arguments(_b64)    The arguments: a string, or a map.
		chunks             The arguments in given chunks.
		index              The index of the call; by default its position in the response, from 1.
		omit_index         Omits the index.
		single_chunk       Sends the call in a single chunk.
		omit_end           Omits the end of the call.
		provider_executed  Whether the provider ran the tool.
		opaque             Opaque provider data of the call.`, argumentsCodecs), func(r *yamlfile.Reader, n *yaml.Node, c *Call) {
	if c.Chunks != nil {
		yamlfile.Exclude(r, n, "chunks", "arguments", "arguments_b64")
	}
})

var argumentsCodecs = yamlfile.Codecs{"arguments": yamlfile.ArgumentsCodec}

var finishCodec = yamlfile.OneOf("finish reason", llm.FinishStop, llm.FinishToolCalls, llm.FinishLength, llm.FinishContentFilter,
	llm.FinishRefusal, llm.FinishPause, llm.FinishMalformedCall, llm.FinishError, llm.FinishUnknown)

var roleCodec = yamlfile.OneOf("role", llm.RoleSystem, llm.RoleUser, llm.RoleAssistant, llm.RoleTool)

var warningCodec = yamlfile.Object[llm.Warning]("warning", "a warning", `
		code     The code.
		message  The anomaly.`)

var usageCodec = yamlfile.Object[llm.Usage]("usage", "a usage", `
		input_tokens                 All input tokens.
		output_tokens                All output tokens.
		cache_read_input_tokens      Input tokens read from a cache.
		cache_creation_input_tokens  Input tokens written to a cache.
		reasoning_output_tokens      Output tokens for reasoning.`)

var failureCodec = yamlfile.Object[Failure]("error", "an error", `
		status       The HTTP status.
		code         The error code of the provider.
		message      The error message of the provider.
		request_id   The id of the request.
		retry_after  The delay that the provider requests.
		retryable    Whether the loop may retry; by default, the status decides.
		connection   How the connection is interrupted.
		after        The number of events before the error; by default all.`, yamlfile.Codecs{
	"connection": yamlfile.OneOf("interruption of the connection", ConnectionReset, ConnectionClosed),
})

var expectCodec = yamlfile.Object[Expect]("expect", "an expectation", `
		messages     The number of messages.
		role         The role of the last message.
		text         Strings in the text of the last message.
		results      The results in the last message, in order.
		system       Strings in the system prompt.
		tools        The names of the tools, in order.
		tool_choice  auto, required, none or tool:NAME.
		request      A part of the request as JSON.`, yamlfile.Codecs{
	"role": roleCodec,
	"results": yamlfile.ListOf("results", yamlfile.Object[ExpectResult]("expect_result", "an expected result", `
		id           The id of the call.
		text         A string in the text of the result.
		is_error     Whether the result is an error; not compared if the protocol has no error flag (OpenAI).`)),
	"tools":   yamlfile.ListOf("names", yamlfile.TextCodec),
	"request": membersCodec("request"),
})

// scenario is the form of a [Script] in a file.
type scenario struct {
	Script
	Consumer consumer
}

type consumer struct{ StopAfter int }

var scriptCodec = yamlfile.Checked(yamlfile.Object[scenario]("scenario", "the scenario", `
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
	"tools":   yamlfile.ByName("tools by name", toolCodec),
	"models":  yamlfile.ByName("models by name", modelCodec),
	"gates":   yamlfile.ListOf("gates", yamlfile.TextCodec),
	"history": messagesCodec,
	"input":   inputCodec,
	"cancel":  yamlfile.PointerTo(cancelCodec()),
	"consumer": yamlfile.Object[consumer]("consumer", "consumer", `
		stop_after  Stops the iteration after this number of events.`),
}), checkScript)

// versionCodec is for the only required key.
var versionCodec = yamlfile.Of(
	func(r *yamlfile.Reader, n *yaml.Node) int {
		version := versionOf(n)
		switch version {
		case 0:
			r.Errorf(n, "unknown version: want 1 or 2, found %s", yamlfile.DescribeNode(n))
		case 1:
			r.Rename(n, "2")
		}
		return version
	},
	func(int) *yaml.Node { return yamlfile.PlainNode("!!int", "2") },
	func(yamlfile.Defs) yamlfile.Schema { return yamlfile.Schema{"const": 2} },
)

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

var modelCodec = yamlfile.Codec{
	Read: func(r *yamlfile.Reader, n *yaml.Node, to any) {
		responsesCodec.Read(r, n, &to.(*ModelScript).Responses)
	},
	Write:  func(from any) *yaml.Node { return responsesCodec.Write(&from.(*ModelScript).Responses) },
	Schema: responsesCodec.Schema,
}

var responsesCodec = yamlfile.ListOf("responses", responseCodec)

func cancelCodec() yamlfile.Codec {
	out := yamlfile.Object[Cancel]("cancel", "cancel", `
		before        Before the run starts.
		at            The virtual time after the start.
		in_tool       At the first call of this tool.
		after_events  After this number of events.`)
	read := out.Read
	out.Read = func(r *yamlfile.Reader, n *yaml.Node, to any) {
		before := len(r.Errs)
		read(r, n, to)
		switch {
		case len(n.Content) != 2:
			r.Errorf(n, "cancel needs exactly one of before, at, in_tool, after_events")
		case *to.(*Cancel) == (Cancel{}) && len(r.Errs) == before:
			r.Errorf(n.Content[1], "cancel without a time: remove cancel, or set a time")
		}
	}
	return out
}

var toolCodec = yamlfile.Checked(yamlfile.Object[Tool]("tool", "a tool", `
		description      The description for the model.
		parameters       The JSON Schema of the arguments.
		client           Whether the tool is client-side: the caller of the loop returns its results.`+behaviorFields+`
		calls            The behavior of the first, second … call.
		by_arguments     The behavior of calls with certain arguments.`, yamlfile.Codecs{
	"parameters": parametersCodec,
	"calls":      yamlfile.ListOf("behaviors", yamlfile.Checked(yamlfile.Object[Behavior]("behavior", "a behavior", behaviorFields), checkBehavior[Behavior])),
	"by_arguments": yamlfile.ListOf("cases", yamlfile.Checked(yamlfile.Object[Behavior]("arguments_case", "a case", `
		arguments(_b64)  The arguments: a string, or a map.`+behaviorFields, argumentsCodecs), checkBehavior[Behavior])),
}), checkTool)

func checkTool(r *yamlfile.Reader, n *yaml.Node, t *Tool) {
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
}

var parametersCodec = yamlfile.Of(
	func(r *yamlfile.Reader, n *yaml.Node) json.RawMessage {
		if n.Kind != yaml.MappingNode {
			r.Errorf(n, "expected a JSON Schema (a map), found %s", yamlfile.DescribeNode(n))
			return nil
		}
		return r.JSON(nil, n)
	},
	yamlfile.JSONNode,
	func(yamlfile.Defs) yamlfile.Schema { return yamlfile.Schema{"type": "object"} },
)

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
