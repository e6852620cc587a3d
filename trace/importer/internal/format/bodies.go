package format

import (
	"encoding/json"
	"errors"
	"slices"
	"strings"

	"github.com/looptape/looptape/internal/jsonio"
	"github.com/looptape/looptape/llm"
	"github.com/looptape/looptape/trace/importer/internal/body"
	"github.com/looptape/looptape/trace/importer/internal/message"
	"github.com/looptape/looptape/trace/importer/internal/tree"
)

// SniffBodies recognizes bodies of requests to models and of their responses. Lists of messages
// and rows have formats of their own.
func SniffBodies(h *Head) (Layout, bool) {
	_, rows := SniffRows(h)
	responses := h.Has("object") && h.Has("status")
	isBody := body.Is(h.Has)
	if h.First != nil && h.Has("contents") {
		isBody = body.Name(h.First) != "" // not of a resource
	}
	return runsInArray, isBody && (!rows || responses || h.Has("stopReason")) || h.Has("custom_id") && h.Has("body", "params", "response", "result")
}

// setResponse sets the messages, the answer and the usage of a run with one response, which has
// this body.
func (r *Run) setResponse(response *llm.Response, text []byte) {
	for _, what := range body.Unread(r.Protocol, text, response) {
		r.ReportUnknown("", "%s", what)
	}
	if r.Meta == nil {
		r.Meta = map[string]json.RawMessage{}
	}
	r.Messages, r.Answer, r.IsResponse = []llm.Message{response.Message()}, response.Text(), true
	if raw := body.Usage(text); raw != nil {
		r.Meta["provider_usage"] = raw
	}
	if response.Usage != (llm.Usage{}) {
		r.Meta["usage"] = response.Usage.AppendJSON(nil)
	}
	for _, ev := range response.UnknownEvents {
		r.ReportUnknown("", "the stream has an event of the unknown kind %q", ev.Kind)
	}
}

// Bodies reads the body of a request or of a response.
func Bodies(d *jsonio.Dec, run *Run) {
	raw := run.object(d)
	if d.Err() != nil {
		return
	}
	run.SetName()
	run.Describe()
	if id := tree.Scalar(raw, "custom_id"); id != "" {
		batch(raw, d, run)
		run.Name, run.Case = id, id
		return
	}
	readBody(raw, d, run)
}

// batch reads a line of a file of the Batch API of OpenAI or Anthropic: a request, or its response.
func batch(raw json.RawMessage, d *jsonio.Dec, run *Run) {
	inner := tree.First(raw, "body", "params")
	for _, names := range [][]string{{"response", "body"}, {"result", "message"}} {
		if inner == nil {
			inner = tree.Member(raw, names...)
		}
	}
	switch {
	case tree.IsNull(inner):
		d.Fail("the line of the batch has neither a request nor a response: its error is " + tree.String(tree.First(raw, "error", "result")))
	case tree.Member(inner, "error") != nil && tree.First(inner, "choices", "output") == nil:
		d.Fail("the request of the batch failed: " + tree.String(tree.Member(inner, "error")))
	default:
		readBody(inner, d, run)
	}
}

func readBody(raw json.RawMessage, d *jsonio.Dec, run *Run) {
	run.Protocol = body.Name(raw)
	if run.Protocol == "" && tree.Member(raw, "messages") != nil {
		list := jsonio.NewDec(jsonio.View(raw))
		if Messages(&list, run); list.Err() != nil {
			what := list.Err().Error()
			if invalid, ok := errors.AsType[*jsonio.SyntaxError](list.Err()); ok {
				what = "the request: " + invalid.Path + ": " + invalid.Msg
			}
			d.Fail(what)
		}
		return
	}
	response, err := body.Response(raw)
	if response != nil && err == nil {
		if run.setResponse(response, raw); body.IsUnfinished(raw, run.Protocol) {
			run.Failed = errors.New("the response has no end: it was truncated, or it is an event of a stream among whole bodies")
		}
		return
	}
	if err != nil {
		d.Fail(err.Error())
		return
	}
	req, err := body.Request(raw)
	switch {
	case err != nil:
		d.Fail(err.Error())
	case req == nil:
		d.Fail("the object has no messages, and is neither a request to a model nor a response")
	default:
		run.setRequest(req, raw)
		if run.Protocol == "openai-responses" {
			for _, item := range tree.Elements(raw, "input") {
				message.MarkRejected(item, run.Messages)
			}
		}
		run.Sent = run.isRequest("contents", "messages", "input")
	}
}

// setRequest sets the messages of a run to those of a request, whose body this is.
func (r *Run) setRequest(req *llm.Request, text json.RawMessage) {
	r.reportSystem(body.Name(text), text)
	r.Messages = message.System(req.System.Text())
	if blocks := tree.Member(text, "system"); body.Name(text) == "anthropic-messages" && hasEmptyText(blocks) {
		r.Messages = []llm.Message{{Role: llm.RoleSystem}} // with the empty texts, which the provider rejects
		for _, block := range tree.Elements(blocks) {
			r.Messages[0].Parts = append(r.Messages[0].Parts, llm.Text{Text: tree.Scalar(block, "text")})
		}
	}
	r.Messages = append(r.Messages, req.Messages...)
	r.FindMissing(req.Extra)
}

// hasEmptyText reports whether one of the blocks of a system prompt is an empty text.
func hasEmptyText(blocks json.RawMessage) bool {
	for _, block := range tree.Elements(blocks) {
		if text, ok := tree.Text(block, "text"); ok && text == "" {
			return true
		}
	}
	return false
}

// reportSystem reports what is not read of the system prompt in an object with messages.
func (r *Run) reportSystem(protocol string, object json.RawMessage) {
	for _, what := range body.UnreadSystem(protocol, object) {
		r.ReportUnknown("", "%s", what)
	}
}

// FindMissing reports messages that the provider stores; extra has the other members of the request.
func (r *Run) FindMissing(extra map[string]json.RawMessage) {
	if why, before := body.Missing(extra, r.Messages); why != "" {
		if before >= 0 {
			r.Gap = 1 + before
		}
		r.ReportUnknown("", "%s", why)
	}
}

// isRequest reports whether an object with messages is the body of a request to a model: it has a
// parameter of requests and no member of records that tools keep. With only one of the others it
// is a request unless it ends with a message of the assistant, as an example to train a model does.
func (r *Run) isRequest(others ...string) bool {
	has := func(names []string) bool {
		return slices.ContainsFunc(names, func(name string) bool { return !tree.IsNull(r.Meta[name]) })
	}
	n := len(r.Messages)
	answered := n > 0 && r.Messages[n-1].Role == llm.RoleAssistant
	return !has(recordMembers) && (has(parameters) || has(others) && !answered)
}

// requestProtocol returns the protocol of a request in the form of Chat Completions that has members of Ollama
// (https://github.com/ollama/ollama/blob/main/docs/api.md) or Cohere (https://docs.cohere.com/v2/reference/chat);
// empty if it has none.
func (r *Run) requestProtocol() string {
	model, ok := tree.Text(r.Meta["model"])
	if !ok {
		return ""
	}
	has := func(names ...string) bool {
		return slices.ContainsFunc(names, func(name string) bool { return !tree.IsNull(r.Meta[name]) })
	}
	switch {
	case has("keep_alive", "done_reason"), tree.First(r.Meta["options"], "num_ctx", "num_predict", "num_keep", "temperature", "top_p", "top_k", "min_p", "seed", "stop", "repeat_penalty") != nil:
		return "ollama-chat"
	case has("safety_mode", "strict_tools", "citation_options"), has("documents") && strings.HasPrefix(model, "command"):
		return "cohere-chat"
	}
	return ""
}

var (
	parameters = []string{
		"model", "modelId", "max_tokens", "max_completion_tokens", "max_output_tokens", "stream", "temperature", "top_p",
		"tool_choice", "response_format", "reasoning_effort", "anthropic_version", "inferenceConfig", "generationConfig",
	}
	recordMembers = []string{
		"id", "task_id", "instance_id", "case", "trial", "epoch", "reward", "score", "scores", "info", "session_id", "conversation_id",
		"timestamp", "created", "created_at", "usage", "error", "finish_reason", "response", "output", "choices", "answer", "completion",
	}
)
