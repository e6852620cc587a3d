package anthropic

import (
	"cmp"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strconv"
	"strings"

	"github.com/looptape/looptape/internal/jsonio"
	"github.com/looptape/looptape/llm"
	"github.com/looptape/looptape/providers/internal/wirejson"
	"github.com/looptape/looptape/providers/protocol"
)

// EncodeRequest implements [protocol.Protocol]. It repairs what the API would reject without
// changing the meaning:
//
//   - Without a token limit, max_tokens is DefaultMaxTokens.
//   - Leading system messages are the end of the system prompt, separated by empty lines.
//   - Blank text, reasoning without a signature, parts that only another provider understands,
//     and assistant messages that are empty then are omitted.
//   - Arguments that are not a JSON object become {}. Names and ids of calls contain only
//     letters, digits, _ and -. A changed id gets a hash.
//   - An empty error result gets a text. Media of an error result become a text.
//   - Without tools, the tool choice and ParallelToolCalls are omitted.
//
// Settings.ReasoningEffort is the effort (low, medium, high and so on). To enable thinking, set
// "thinking" in Extra. Members of Extra replace those of the body. To mark the system prompt or
// a tool with cache_control, or to add a tool of Anthropic, put the whole system or tools
// there.
func (Messages) EncodeRequest(req *llm.Request) (*protocol.Request, error) {
	b := body{req: req, dst: []byte{'{'}}
	b.write()
	if b.err != nil {
		return nil, b.err
	}
	return &protocol.Request{
		Path:   path,
		Header: http.Header{"Anthropic-Version": {version}},
		Body:   append(b.dst, '}'),
	}, nil
}

// body writes the body of a request. It keeps its first error.
type body struct {
	req *llm.Request
	dst []byte
	err error
}

func (b *body) write() {
	req, s := b.req, &b.req.Settings
	if req.Model != "" && b.key("model") {
		b.dst = jsonio.AppendString(b.dst, req.Model)
	}
	if b.key("max_tokens") {
		b.maxTokens(s.MaxTokens)
	}
	from := b.system()
	if b.key("messages") {
		b.messages(from)
	}
	b.tools()
	if s.Temperature != nil && b.key("temperature") {
		b.fraction("temperature", *s.Temperature)
	}
	if s.TopP != nil && b.key("top_p") {
		b.fraction("top_p", *s.TopP)
	}
	if s.Seed != nil {
		b.fail("settings.seed: Anthropic Messages has no seed: remove it")
	}
	if len(s.StopSequences) > 0 && b.key("stop_sequences") {
		b.stop(s.StopSequences)
	}
	if (s.ReasoningEffort != "" || s.OutputSchema != nil) && b.key("output_config") {
		b.outputConfig()
	}
	if id := container(req.Messages); id != "" && b.key("container") {
		b.dst = jsonio.AppendString(b.dst, id)
	}
	if req.ResponseMode == llm.Streaming && b.key("stream") {
		b.dst = append(b.dst, "true"...)
	}
	b.extra()
}

func (b *body) fail(format string, args ...any) {
	if b.err == nil {
		b.err = fmt.Errorf(format, args...)
	}
}

// key begins a member, and reports whether the codec writes it: it does unless Extra has it.
func (b *body) key(name string) bool {
	if _, has := b.req.Extra[name]; has {
		return false
	}
	b.dst = wirejson.AppendKey(b.dst, name)
	return true
}

func (b *body) maxTokens(n int) {
	switch {
	case n < 0:
		b.fail("settings.max_tokens: %d is below 0", n)
	case n == 0:
		n = DefaultMaxTokens
	}
	b.dst = jsonio.AppendInt(b.dst, int64(n))
}

// fraction writes a number from 0 to 1.
func (b *body) fraction(name string, f float64) {
	if !(f >= 0 && f <= 1) {
		b.fail("settings.%s: Anthropic Messages accepts 0 to 1, not %v", name, f)
	}
	b.dst = strconv.AppendFloat(b.dst, f, 'g', -1, 64)
}

func (b *body) stop(words []string) {
	b.dst = append(b.dst, '[')
	for i, s := range words {
		if strings.TrimSpace(s) == "" {
			b.fail("settings.stop[%d]: Anthropic Messages does not accept blank stop sequences", i)
		}
		b.dst = jsonio.AppendString(wirejson.AppendComma(b.dst), s)
	}
	b.dst = append(b.dst, ']')
}

func (b *body) outputConfig() {
	s := &b.req.Settings
	b.dst = append(b.dst, '{')
	if s.ReasoningEffort != "" {
		b.dst = wirejson.AppendString(b.dst, "effort", s.ReasoningEffort)
	}
	if s.OutputSchema != nil {
		b.dst = append(wirejson.AppendKey(b.dst, "format"), `{"type":"json_schema","schema":`...)
		b.object("settings.output_schema", s.OutputSchema)
		b.dst = append(b.dst, '}')
	}
	b.dst = append(b.dst, '}')
}

// object writes a JSON object of the caller.
func (b *body) object(what string, raw []byte) {
	if err := checkObject(raw); err != nil {
		b.fail("%s: %w", what, err)
		return
	}
	b.dst = wirejson.AppendValue(b.dst, raw)
}

func checkObject(raw []byte) error {
	if !sane(raw) || !jsonio.IsObject(jsonio.View(raw)) {
		return fmt.Errorf("invalid: want a JSON object, nested at most %d deep", maxNesting)
	}
	return nil
}

// system writes the system prompt, and returns how many messages belong to it.
func (b *body) system() (from int) {
	prompt := b.req.System
	for from < len(b.req.Messages) && b.req.Messages[from].Role == llm.RoleSystem {
		if t := b.req.Messages[from].Text(); prompt == "" {
			prompt = t
		} else if t != "" {
			prompt += "\n\n" + t
		}
		from++
	}
	if strings.TrimSpace(prompt) != "" && b.key("system") {
		b.dst = jsonio.AppendString(b.dst, prompt)
	}
	return from
}

func (b *body) messages(from int) {
	w := newWriter(append(b.dst, '['))
	for i := from; i < len(b.req.Messages); i++ {
		w.message, w.part, w.content = i, -1, -1
		w.writeMessage(b.req.Messages[i])
	}
	switch {
	case w.err != nil:
		b.fail("%w", w.err)
	case w.messages == 0:
		b.fail("messages: no content: add a user message")
	}
	b.dst = append(w.dst, ']')
}

// container returns the id of the last container in the history.
func container(messages []llm.Message) string {
	for _, m := range slices.Backward(messages) {
		id := cmp.Or(wirejson.GetString(m.Opaque, keyContainer), wirejson.GetString(wirejson.Get(m.Opaque, keyContainer), "id"))
		if id != "" {
			return id
		}
	}
	return ""
}

func (b *body) extra() {
	for _, name := range slices.Sorted(maps.Keys(b.req.Extra)) {
		raw := b.req.Extra[name]
		if len(raw) > 0 && !sane(raw) {
			b.fail("extra.%s: not JSON, or nested more than %d deep", name, maxNesting)
			continue
		}
		b.dst = wirejson.AppendRaw(b.dst, name, raw)
	}
}
