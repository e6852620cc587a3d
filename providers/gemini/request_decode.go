package gemini

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/looptape/looptape/internal/jsonio"
	"github.com/looptape/looptape/internal/jsonval"
	"github.com/looptape/looptape/llm"
	"github.com/looptape/looptape/providers/internal/codec"
)

// DecodeRequest implements [protocol.Protocol]. It normalizes the request: roles are set,
// results with text become a tool message and a user message, schemas become JSON Schema.
// Errors contain the JSON path.
func (GenerateContent) DecodeRequest(path string, body []byte) (*llm.Request, error) {
	model, mode, err := readPath(path)
	if err != nil {
		return nil, err
	}
	if !jsonio.ValidUTF8(body) {
		return nil, errors.New("the request body is not UTF-8")
	}
	r := requestReader{req: &llm.Request{Model: model, ResponseMode: mode}, d: jsonio.NewDec(string(body))}
	r.ids.used = map[string]bool{}
	r.body()
	if err := r.d.End(); err != nil {
		return nil, fmt.Errorf("the request body: %w", err)
	}
	return r.req, nil
}

type requestReader struct {
	req *llm.Request
	d   jsonio.Dec
	ids ids
	// strict is true if the calling mode enforces the schemas of all tools.
	strict bool
}

func (r *requestReader) body() {
	d := &r.d
	rest := readObject(d,
		"contents", func() { eachElement(d, r.content) },
		"systemInstruction", r.system,
		keyTools, r.tools,
		keyToolConfig, func() { r.keep(keyToolConfig, r.toolConfig()) },
		keyConfig, func() { r.keep(keyConfig, r.config()) })
	for _, m := range rest {
		codec.SetExtra(r.req, m.Key, json.RawMessage(m.Raw))
	}
	for i := range r.req.Tools {
		if r.strict {
			r.req.Tools[i].Strict = new(true)
		}
	}
}

// keep adds an object of unknown members to Extra.
func (r *requestReader) keep(key string, rest codec.Members) {
	if len(rest) > 0 {
		codec.SetExtra(r.req, key, rest.Object())
	}
}

// system reads the system prompt. Extra keeps it if it is more than text.
func (r *requestReader) system() {
	ahead := r.d
	prompt, simple, n := "", true, 0
	var p part
	rest := readObject(&r.d,
		"parts", func() {
			eachElement(&r.d, func() {
				p.read(&r.d, true)
				prompt += p.text
				n++
				simple = simple && p.data == "text" && !p.thought && p.opaque(nil) == nil
			})
		},
		"role", nil) // any is accepted
	r.req.System = llm.SystemText(prompt)
	if !simple || n > 1 || rest != nil {
		codec.SetExtra(r.req, "systemInstruction", json.RawMessage(ahead.Raw()))
	}
}

// content reads a content into a message, or into two if it has results and other parts.
func (r *requestReader) content() {
	d := &r.d
	role := llm.RoleUser
	var parts []part
	rest := readObject(d,
		"role", func() { role = readRole(d.String()) },
		"parts", func() {
			eachElement(d, func() {
				parts = append(parts, part{})
				parts[len(parts)-1].read(d, true)
			})
		})
	if d.Err() != nil { // ignore parts that are not JSON
		return
	}
	m := llm.Message{Role: role}
	if rest != nil {
		m.Opaque = codec.Members{{Key: keyOther, Raw: string(rest.Object())}}.Object()
	}
	results := llm.Message{Role: llm.RoleTool}
	called, signs := false, SignsCalls(r.req.Model)
	for i := range parts {
		if r := &parts[i].result; r.media != nil && !signs {
			r.rest.AddRaw(within, "[]")
		}
		p := parts[i].content()
		switch c := p.(type) {
		case nil:
			continue
		case llm.ToolCall:
			if !c.ProviderExecuted {
				c = r.ids.call(c, !called)
				if !called && signs {
					c.Opaque = unsigned(c.Opaque)
				}
				called = true
			}
			p = c
		case llm.ToolResult:
			if role != llm.RoleAssistant {
				results.Parts = append(results.Parts, r.ids.result(c))
				continue
			}
		case llm.Media:
			if n := len(results.Parts); n > 0 {
				result := results.Parts[n-1].(llm.ToolResult)
				result.Content = append(result.Content, c)
				results.Parts[n-1] = result
				continue
			}
		default:
		}
		m.Parts = append(m.Parts, p)
	}
	if results.Parts == nil {
		if m.Parts == nil && len(parts) > 0 && role == llm.RoleAssistant {
			m.Parts = []llm.Part{llm.Text{}} // Gemini accepts it, and rejects a content without parts
		}
		r.req.Messages = append(r.req.Messages, m)
		return
	}
	if m.Parts == nil {
		results.Opaque = m.Opaque
	}
	r.req.Messages = append(r.req.Messages, results)
	if m.Parts != nil {
		r.req.Messages = append(r.req.Messages, m)
	}
}

func readRole(role string) llm.Role {
	switch role {
	case roleUser, "", "function", "tool": // function in the first versions, tool in examples of Google's SDK
		return llm.RoleUser
	case roleModel:
		return llm.RoleAssistant
	case "assistant", "system": // which have these meanings in llm only
		role = name + ":" + role
	}
	return llm.Role(role)
}

// unsigned removes skipValidator from opaque data.
func unsigned(opaque json.RawMessage) json.RawMessage {
	if m := codec.MembersOf(opaque); m.Find(keySignature) == skipValidator {
		return m.Without(keySignature).Object()
	}
	return opaque
}

// ids generates the ids of calls without one as the loop would, and assigns them to results.
type ids struct {
	used      map[string]bool
	generated int
	turn      []llm.ToolCall // the calls of the last turn with calls
	open      []llm.ToolCall // those that are not answered yet
}

func (s *ids) call(c llm.ToolCall, first bool) llm.ToolCall {
	if first {
		s.turn, s.open = s.turn[:0], s.open[:0]
	}
	given := c.ID
	for c.ID == "" || s.used[c.ID] {
		s.generated++
		c.ID, c.IDGenerated, c.ProviderID = "loop_call_"+strconv.Itoa(s.generated), true, given
	}
	s.used[c.ID] = true
	s.turn, s.open = append(s.turn, c), append(s.open, c)
	return c
}

// result sets the id of a result to that of its call: the one with the provider's id, which may have a result
// already, else the first one with the name.
func (s *ids) result(r llm.ToolResult) llm.ToolResult {
	at := -1
	if r.ID != "" {
		named := func(c llm.ToolCall) bool { return wireID(&c) == r.ID }
		at = slices.IndexFunc(s.open, named)
		if again := slices.IndexFunc(s.turn, named); at < 0 && again >= 0 {
			r.ID = s.turn[again].ID
			return r
		}
	}
	if at < 0 {
		at = slices.IndexFunc(s.open, func(c llm.ToolCall) bool { return c.Name == r.Name })
	}
	if at >= 0 {
		r.ID = s.open[at].ID
		s.open = slices.Delete(s.open, at, at+1)
	}
	return r
}

func (r *requestReader) tools() {
	d := &r.d
	var functions, others, all codec.Elements
	eachElement(d, func() {
		other := readObject(d, keyFunctions, func() {
			eachElement(d, func() {
				t, rest := readFunction(d)
				r.req.Tools = append(r.req.Tools, t)
				if rest != nil {
					rest = append(codec.Members{{Key: "name", Raw: codec.Quote(wireName(t.Name))}}, rest...)
					functions.Add(string(rest.Object()))
				}
			})
		})
		if other != nil {
			others.Add(string(other.Object()))
		}
	})
	if functions != nil {
		all.Add(`{"` + keyFunctions + `":` + string(functions.Array()) + `}`)
	}
	for raw := range codec.EachElement(others.Array()) {
		all.Add(raw)
	}
	if all != nil {
		codec.SetExtra(r.req, keyTools, all.Array())
	}
}

func readFunction(d *jsonio.Dec) (t llm.Tool, rest codec.Members) {
	rest = readObject(d,
		"name", func() { t.Name = toolName(d.String()) },
		"description", &t.Description,
		keyParameters, &t.Parameters,
		"parameters", func() { t.Parameters = readSchema(d) })
	return t, rest
}

func (r *requestReader) toolConfig() codec.Members {
	var rest codec.Members
	readInto(&r.d, &rest, keyCalling, func() { rest.AddObject(keyCalling, r.calling()) })
	return rest
}

func (r *requestReader) calling() codec.Members {
	d := &r.d
	var rest codec.Members
	var names []string
	allowed := ""
	choice := &r.req.ToolChoice
	readInto(d, &rest,
		"mode", func() {
			switch mode := d.String(); mode {
			case modeAuto:
			case modeValidated:
				r.strict = true
			case modeAny:
				choice.Mode = llm.ChooseRequired
			case modeNone:
				choice.Mode = llm.ChooseNone
			default:
				rest.AddString("mode", mode)
			}
		},
		keyAllowed, func() {
			from := d.Offset()
			eachElement(d, func() { names = append(names, toolName(d.String())) })
			allowed = d.Since(from)
		})
	switch {
	case choice.Mode == llm.ChooseRequired && len(names) == 1:
		choice.Mode, choice.Name = llm.ChooseTool, names[0]
	case len(names) > 0:
		rest = append(rest, codec.Member{Key: keyAllowed, Raw: allowed})
	}
	return rest
}

func (r *requestReader) config() codec.Members {
	d := &r.d
	s := &r.req.Settings
	var rest codec.Members
	mime := ""
	readInto(d, &rest,
		"maxOutputTokens", &s.MaxTokens,
		"temperature", &s.Temperature,
		"topP", &s.TopP,
		"seed", &s.Seed,
		"stopSequences", func() {
			eachElement(d, func() { s.StopSequences = append(s.StopSequences, d.String()) })
		},
		"thinkingConfig", func() { rest.AddObject("thinkingConfig", r.thinking()) },
		keySchema, &s.OutputSchema,
		"responseSchema", func() { s.OutputSchema = readSchema(d) },
		keyMIME, func() { mime = d.Raw() })
	if mime != "" && (s.OutputSchema == nil || mime != `"`+typeJSON+`"`) {
		rest.AddRaw(keyMIME, mime)
	}
	return rest
}

// thinking reads the effort: the level, else the budget.
func (r *requestReader) thinking() codec.Members {
	var level, budget string
	rest := readObject(&r.d,
		"thinkingLevel", &level,
		"thinkingBudget", func() { budget = strconv.FormatInt(r.d.Int(), 10) })
	r.req.Settings.ReasoningEffort = cmp.Or(level, budget)
	if level != "" && budget != "" {
		rest.AddRaw("thinkingBudget", budget)
	}
	return rest
}

// readSchema converts a schema in Gemini's form, a subset of OpenAPI 3.0, to JSON Schema: types
// become lower case, and nullable becomes a type. Members keep their order.
func readSchema(d *jsonio.Dec) json.RawMessage {
	var w codec.Writer
	schema(d, &w)
	return w.Dst
}

func schema(d *jsonio.Dec, w *codec.Writer) {
	w.Add("{")
	kind, nullable := "", false
	strict.Read(d, func(key string) {
		if d.Null() {
			return
		}
		switch key = jsonval.CamelCase(key); key {
		case "items":
			w.Key(key)
			schema(d, w)
		case "properties":
			w.Raw(key, "{")
			for name := range d.Members() {
				if !d.Null() {
					w.Key(name)
					schema(d, w)
				}
			}
			w.Add("}")
		case "anyOf":
			w.Raw(key, "[")
			eachElement(d, func() {
				w.Next("")
				schema(d, w)
			})
			w.Add("]")
		case "minItems", "maxItems", "minLength", "maxLength", "minProperties", "maxProperties":
			w.Raw(key, strings.Trim(d.Raw(), `"`)) // 64 bits may come as a string
		default:
			w.Raw(key, codec.CompactText(d.Raw()))
		}
	}, "type", &kind, "nullable", &nullable)
	kind = strings.ToLower(kind)
	if nullable && kind != "" {
		w.Raw("type", "["+codec.Quote(kind)+`,"null"]`)
	} else {
		w.OptionalText("type", kind)
	}
	w.Add("}")
}
