package gemini

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"

	"github.com/looptape/looptape/internal/jsonio"
	"github.com/looptape/looptape/llm"
	"github.com/looptape/looptape/providers/internal/wirejson"
	"github.com/looptape/looptape/providers/protocol"
)

// Members of the body that are joined with those in Extra.
const (
	keyTools      = "tools"
	keyToolConfig = "toolConfig"
	keyConfig     = "generationConfig"
)

// EncodeRequest implements [protocol.Protocol]. Leading system messages are the end of the
// system prompt, separated by empty lines. Calls that another provider ran are omitted. It
// returns an error for what Gemini cannot represent: a system message within the conversation,
// other parts of another provider, media without content, and a limit of one call per step.
func (GenerateContent) EncodeRequest(req *llm.Request) (*protocol.Request, error) {
	path, query, err := requestPath(req)
	if err != nil {
		return nil, err
	}
	for key, raw := range req.Extra {
		if !jsonio.Valid(raw) {
			return nil, fmt.Errorf("extra.%s: not JSON", key)
		}
	}
	e := requestEncoder{req: req, gemini3: SignsCalls(req.Model), dst: []byte{'{'}}
	if err := e.body(); err != nil {
		return nil, err
	}
	return &protocol.Request{Path: path, Query: query, Body: append(e.dst, '}')}, nil
}

// requestEncoder writes the body of a request.
type requestEncoder struct {
	req     *llm.Request
	gemini3 bool
	dst     []byte
}

func (e *requestEncoder) body() error {
	var joined []string
	for _, part := range []struct {
		key    string
		join   bool // with what Extra says
		append func() error
	}{
		{"contents", false, e.contents},
		{"systemInstruction", false, e.system},
		{keyTools, true, e.tools},
		{keyToolConfig, true, e.toolConfig},
		{keyConfig, true, e.config},
	} {
		if part.join {
			joined = append(joined, part.key)
		} else if e.req.Extra[part.key] != nil {
			continue
		}
		if err := part.append(); err != nil {
			return err
		}
	}
	for _, key := range slices.Sorted(maps.Keys(e.req.Extra)) {
		if !slices.Contains(joined, key) {
			e.dst = wirejson.AppendRaw(e.dst, key, string(e.req.Extra[key]))
		}
	}
	return nil
}

// first returns how many messages belong to the system prompt.
func (e *requestEncoder) first() (n int) {
	for n < len(e.req.Messages) && e.req.Messages[n].Role == llm.RoleSystem {
		n++
	}
	return n
}

func (e *requestEncoder) system() error {
	prompt := e.req.System
	for _, m := range e.req.Messages[:e.first()] {
		if t := m.Text(); prompt == "" {
			prompt = t
		} else if t != "" {
			prompt += "\n\n" + t
		}
	}
	if prompt != "" {
		e.dst = append(wirejson.AppendString(append(wirejson.AppendKey(e.dst, "systemInstruction"), `{"parts":[{`...), "text", prompt), `}]}`...)
	}
	return nil
}

func (e *requestEncoder) config() error {
	own, err := settings(&e.req.Settings)
	if err != nil {
		return err
	}
	return e.overlay(keyConfig, own, "thinkingConfig")
}

// settings returns the members of a generationConfig.
func settings(s *llm.Settings) (own []wirejson.Member, err error) {
	value := func(key string, v any) {
		raw, bad := json.Marshal(v)
		if bad != nil && err == nil {
			err = fmt.Errorf("settings.%s: %w", key, bad)
		}
		own = append(own, wirejson.Member{Key: key, Raw: string(raw)})
	}
	whole := func(name, key string, n int64) {
		if n != int64(int32(n)) && err == nil {
			err = fmt.Errorf("settings.%s: %d exceeds the 32 bits that Gemini reads", name, n)
		}
		value(key, n)
	}
	if s.MaxTokens != 0 {
		whole("max_tokens", "maxOutputTokens", int64(s.MaxTokens))
	}
	if s.Temperature != nil {
		value("temperature", *s.Temperature)
	}
	if s.TopP != nil {
		value("topP", *s.TopP)
	}
	if s.Seed != nil {
		whole("seed", "seed", *s.Seed)
	}
	if len(s.StopSequences) > 0 {
		raw := []byte{'['}
		for _, w := range s.StopSequences {
			raw = jsonio.AppendString(wirejson.AppendComma(raw), w)
		}
		own = append(own, wirejson.Member{Key: "stopSequences", Raw: string(append(raw, ']'))})
	}
	if s.ParallelToolCalls != nil && !*s.ParallelToolCalls {
		return nil, errors.New("settings.parallel_tool_calls: Gemini cannot limit a step to one call: set nil")
	}
	if s.ReasoningEffort != "" {
		own = append(own, wirejson.Member{Key: "thinkingConfig", Raw: thinking(s.ReasoningEffort)})
	}
	if s.OutputSchema != nil {
		if !jsonio.Valid(s.OutputSchema) {
			return nil, errors.New("settings.output_schema: not JSON")
		}
		own = append(own, wirejson.Member{Key: keyMIME, Raw: `"` + typeJSON + `"`}, wirejson.Member{Key: keySchema, Raw: string(s.OutputSchema)})
	}
	return own, err
}

// Members for a response that follows a schema.
const (
	keyMIME   = "responseMimeType"
	keySchema = "responseJsonSchema"
	typeJSON  = "application/json"
)

// thinking returns the thinkingConfig of an effort: a number of tokens or a level.
func thinking(effort string) string {
	if isBudget(effort) {
		return `{"thinkingBudget":` + effort + `}`
	}
	return string(append(wirejson.AppendString([]byte{'{'}, "thinkingLevel", effort), '}'))
}

// isBudget reports whether an effort is an integer in JSON form.
func isBudget(effort string) bool {
	d := jsonio.NewDec(effort)
	n := d.Int()
	return d.End() == nil && string(jsonio.AppendInt(nil, n)) == effort
}

// overlay writes an object of own members, joined with the object in Extra. The member deep is
// joined too.
func (e *requestEncoder) overlay(key string, own []wirejson.Member, deep string) error {
	raw := e.req.Extra[key]
	extra := wirejson.MembersOf(raw)
	if raw != nil && !jsonio.IsObject(string(raw)) {
		return fmt.Errorf("extra.%s: expected an object", key)
	}
	if len(own)+len(extra) == 0 {
		return nil
	}
	e.dst = append(wirejson.AppendKey(e.dst, key), '{')
	var covered []string
	for _, m := range own {
		x := wirejson.Find(extra, m.Key)
		switch {
		case x == "":
			e.dst = wirejson.AppendRaw(e.dst, m.Key, m.Raw)
		case m.Key == deep && jsonio.IsObject(x):
			over := wirejson.MembersOf(json.RawMessage(x))
			e.dst = append(wirejson.AppendKey(e.dst, m.Key), '{')
			for _, in := range wirejson.MembersOf(json.RawMessage(m.Raw)) {
				if wirejson.Find(over, in.Key) == "" {
					e.dst = wirejson.AppendRaw(e.dst, in.Key, in.Raw)
				}
			}
			e.dst = append(appendMembers(e.dst, over), '}')
			covered = append(covered, m.Key)
		}
	}
	e.dst = append(appendMembers(e.dst, extra, covered...), '}')
	return nil
}
