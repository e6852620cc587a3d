package anthropic

import (
	"cmp"
	"encoding/json"
	"maps"
	"net/http"
	"slices"
	"strconv"
	"strings"

	"github.com/looptape/looptape/internal/jsonio"
	"github.com/looptape/looptape/llm"
	"github.com/looptape/looptape/providers/internal/codec"
	"github.com/looptape/looptape/providers/protocol"
)

// EncodeRequest implements [protocol.Protocol]. It repairs what the API would reject without
// changing the meaning:
//
//   - Without a token limit, max_tokens is DefaultMaxTokens.
//   - Leading system messages are the end of the system prompt, separated by empty lines.
//   - The API accepts four cache marks in a request. Of the marks of Request.System, the last
//     ones remain. The mark of a blank part is on the part before it.
//   - Blank text, reasoning without a signature, parts that only another provider understands,
//     and assistant messages that are empty then are omitted.
//   - Arguments that are not a JSON object become {}. Names and ids of calls contain only
//     letters, digits, _ and -. A changed id gets a hash.
//   - An empty error result gets a text. Media of an error result become a text.
//   - Without tools, the tool choice and ParallelToolCalls are omitted.
//
// Settings.ReasoningEffort is the effort (low, medium, high and so on). To enable thinking, set
// "thinking" in Extra. Members of Extra replace those of the body. To mark a tool with
// cache_control, or to set the lifetime of a mark, put the whole tools or system there.
func (Messages) EncodeRequest(req *llm.Request) (*protocol.Request, error) {
	w := writer{codec.NewWriter(req)}
	w.body()
	if w.Err != nil {
		return nil, w.Err
	}
	return &protocol.Request{
		Path:   "/v1/messages",
		Header: http.Header{"Anthropic-Version": {version}},
		Body:   append(w.Dst, '}'),
	}, nil
}

func (w *writer) body() {
	req, s := w.Req, &w.Req.Settings
	w.TextMember("model", req.Model)
	if s.MaxTokens < 0 {
		w.Fail("settings.max_tokens: %d is below 0", s.MaxTokens)
	}
	w.Member("max_tokens", strconv.Itoa(cmp.Or(s.MaxTokens, DefaultMaxTokens)))
	prompt, from := codec.SystemPrompt(req)
	systemFrom := len(w.Dst)
	w.system(prompt, maxCacheMarks)
	systemTo := len(w.Dst)
	if w.Has("messages") {
		w.messages(from)
	}
	w.tools()
	w.fraction("temperature", s.Temperature)
	w.fraction("top_p", s.TopP)
	if s.Seed != nil {
		w.Fail("settings.seed: Anthropic Messages has no seed: remove it")
	}
	for i, s := range s.StopSequences {
		if strings.TrimSpace(s) == "" && w.Has("stop_sequences") {
			w.Fail("settings.stop[%d]: Anthropic Messages does not accept blank stop sequences", i)
		}
	}
	w.Strings("stop_sequences", s.StopSequences)
	if (s.ReasoningEffort != "" || s.OutputSchema != nil) && w.Has("output_config") {
		w.outputConfig(s)
	}
	w.TextMember(keyContainer, container(req.Messages))
	if req.ResponseMode == llm.Streaming {
		w.Member("stream", "true")
	}
	for _, name := range slices.Sorted(maps.Keys(req.Extra)) {
		if raw := req.Extra[name]; len(raw) > 0 && !sane(raw) {
			w.Fail("extra.%s: not JSON, or nested more than %d deep", name, maxNesting)
		}
	}
	w.Extra()
	w.limitMarks(prompt, systemFrom, systemTo)
}

const (
	// cacheMark is a cache mark with the default lifetime, as opaque data of a block.
	cacheMark = `{"cache_control":{"type":"ephemeral"}}`
	// maxCacheMarks is how many cache marks the API accepts in a request.
	maxCacheMarks = 4
)

// system writes the system prompt with its last marks, at most this number: a string if it is one
// part without a mark, otherwise its blocks.
func (w *writer) system(prompt llm.System, limit int) {
	var parts llm.System
	for _, p := range prompt {
		if strings.TrimSpace(p.Text) != "" {
			parts = append(parts, p)
		} else if last := len(parts) - 1; p.CacheMark && last >= 0 {
			parts[last].CacheMark = true
		}
	}
	for i := range slices.Backward(parts) {
		if parts[i].CacheMark {
			parts[i].CacheMark = limit > 0
			limit--
		}
	}
	switch {
	case len(parts) == 0 || !w.Has("system"):
	case len(parts) == 1 && !parts[0].CacheMark:
		w.Text("system", parts[0].Text)
	default:
		w.Raw("system", "[")
		for _, p := range parts {
			text := llm.Text{Text: p.Text}
			if p.CacheMark {
				text.Opaque = json.RawMessage(cacheMark)
			}
			w.Next("")
			w.text(text)
		}
		w.Add("]")
	}
}

// limitMarks writes the system prompt again, which is between two offsets of the body, if the
// request has too many marks. It counts them as the API does.
func (w *writer) limitMarks(prompt llm.System, from, to int) {
	if !slices.ContainsFunc(prompt, func(p llm.SystemPart) bool { return p.CacheMark }) || w.Err != nil {
		return
	}
	body := append(w.Dst, '}')
	others := cacheMarks(codec.Get(body, "tools")) + cacheMarks(codec.Get(body, "messages"))
	if hasMark(body) {
		others++ // the API marks the last block itself
	}
	if others > 0 {
		rest := slices.Clone(w.Dst[to:])
		w.Dst = w.Dst[:from]
		w.system(prompt, maxCacheMarks-others)
		w.Dst = append(w.Dst, rest...)
	}
}

// cacheMarks counts the marks of a list of blocks, tools or messages.
func cacheMarks(list json.RawMessage) (n int) {
	for block := range codec.EachElement(list) {
		if hasMark(block) {
			n++
		}
		n += cacheMarks(codec.Get(block, "content"))
	}
	return n
}

func hasMark[T codec.JSON](object T) bool {
	mark := codec.Get(object, "cache_control")
	return mark != nil && !codec.IsNull(mark)
}

func (w *writer) fraction(name string, f *float64) {
	if f != nil && !(*f >= 0 && *f <= 1) && w.Has(name) {
		w.Fail("settings.%s: Anthropic Messages accepts 0 to 1, not %v", name, *f)
	}
	w.Float(name, f)
}

func (w *writer) outputConfig(s *llm.Settings) {
	w.Raw("output_config", "{")
	w.OptionalText("effort", s.ReasoningEffort)
	if s.OutputSchema != nil {
		w.Raw("format", `{"type":"json_schema"`)
		w.object("schema", "settings.output_schema", s.OutputSchema)
		w.Add("}")
	}
	w.Add("}")
}

func (w *writer) object(key, what string, raw []byte) {
	if !sane(raw) || !jsonio.IsObject(jsonio.View(raw)) {
		w.Fail("%s: invalid: want a JSON object, nested at most %d deep", what, maxNesting)
		return
	}
	w.Value(key, raw)
}

func (w *writer) messages(from int) {
	w.Raw("messages", "[")
	for i := from; i < len(w.Req.Messages); i++ {
		w.Message = i + 1
		w.message(w.Req.Messages[i])
	}
	if w.Message = 0; w.Messages == 0 {
		w.Fail("messages: no content: add a user message")
	}
	w.Add("]")
}

func container(messages []llm.Message) string {
	for _, m := range slices.Backward(messages) {
		id := cmp.Or(codec.GetString(m.Opaque, keyContainer), codec.GetString(m.Opaque, keyContainer, "id"))
		if id != "" {
			return id
		}
	}
	return ""
}

// maxName is the length limit of tool names (SA-05, SA-07).
const maxName = 128

func (w *writer) tools() {
	if len(w.Req.Tools) > 0 && w.Has("tools") {
		w.Raw("tools", "[")
		for i, t := range w.Req.Tools {
			w.tool(i, t)
		}
		w.Add("]")
	}
	w.toolChoice(!w.Has("tools") || len(w.Req.Tools) > 0)
}

func (w *writer) tool(i int, t llm.Tool) {
	if !protocol.IsName(t.Name) || len(t.Name) > maxName {
		w.Fail("tools[%d]: Anthropic Messages accepts a name of 1 to %d letters, digits, _ and -, not %q", i, maxName, t.Name)
	}
	if slices.ContainsFunc(w.Req.Tools[:i], func(other llm.Tool) bool { return other.Name == t.Name }) {
		w.Fail("tools[%d]: duplicate tool name %q", i, t.Name)
	}
	if w.Builtin(i, t) {
		return
	}
	w.Next(`{"name":%`, t.Name)
	w.OptionalText("description", t.Description)
	w.schema("tools["+strconv.Itoa(i)+"].parameters", t)
	w.Bool("strict", t.Strict)
	w.Add("}")
}

// schema writes a schema, an object without anyOf and the like at the top (SA-10).
func (w *writer) schema(what string, t llm.Tool) {
	const key, object = "input_schema", `{"type":"object"`
	if t.Parameters == nil {
		w.Raw(key, object+"}")
		return
	}
	for _, key := range []string{"anyOf", "oneOf", "allOf"} {
		if codec.Get(t.Parameters, key) != nil {
			w.Fail("%s: Anthropic Messages does not accept %s at the top of a schema: move it into a property", what, key)
		}
	}
	from := len(w.Dst)
	if w.object(key, what, t.Parameters); codec.Get(t.Parameters, "type") != nil || w.Err != nil {
		return
	}
	schema := json.RawMessage(string(w.Dst[from+len(`,"input_schema":`):]))
	w.Dst = w.Dst[:from]
	w.Raw(key, object)
	w.Members(schema)
	w.Add("}")
}

var choices = map[llm.ToolMode]string{
	llm.ChooseAuto: "auto", llm.ChooseRequired: "any", llm.ChooseNone: "none", llm.ChooseTool: "tool",
}

func (w *writer) toolChoice(tools bool) {
	c, parallel := w.Req.ToolChoice, w.Req.Settings.ParallelToolCalls
	required := c.Mode == llm.ChooseRequired || c.Mode == llm.ChooseTool
	switch {
	case c == (llm.ToolChoice{}) && parallel == nil:
		return
	case !tools && required:
		w.Fail("tool_choice: %s without tools: add a tool", c)
	}
	if !tools || !w.Has("tool_choice") {
		return
	}
	kind := choices[c.Mode]
	if kind == "" {
		w.Fail("tool_choice: Anthropic Messages has no mode %q", c.Mode)
	}
	w.Add(`,"tool_choice":{"type":%`, kind)
	if c.Mode == llm.ChooseTool {
		w.Text("name", c.Name)
	}
	if parallel != nil && c.Mode != llm.ChooseNone {
		w.Raw("disable_parallel_tool_use", strconv.FormatBool(!*parallel))
	}
	w.Add("}")
}

func callName(s string) string {
	if protocol.IsName(s) && len(s) <= maxName {
		return s
	}
	return cmp.Or(codec.CleanName(s[:min(len(s), maxName)]), "unnamed")
}
