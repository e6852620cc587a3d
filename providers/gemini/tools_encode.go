package gemini

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"

	"github.com/looptape/looptape/internal/jsonio"
	"github.com/looptape/looptape/llm"
	"github.com/looptape/looptape/providers/internal/wirejson"
)

const keyFunctions = "functionDeclarations"

// tools writes the tools of the request and those of Extra.
func (e *requestEncoder) tools() error {
	more, err := extraTools(e.req.Extra[keyTools])
	if err != nil {
		return err
	}
	if len(e.req.Tools)+len(more.others)+len(more.functions) == 0 {
		return nil
	}
	e.dst = append(wirejson.AppendKey(e.dst, keyTools), '[')
	if len(e.req.Tools)+len(more.functions) > 0 {
		e.dst = append(wirejson.AppendKey(append(wirejson.AppendComma(e.dst), '{'), keyFunctions), '[')
		for i := range e.req.Tools {
			t := &e.req.Tools[i]
			if err := e.function(t, more.take(wireName(t.Name))); err != nil {
				return fmt.Errorf("tools[%d]: %w", i, err)
			}
		}
		for _, f := range more.functions {
			e.dst = append(appendMembers(append(wirejson.AppendComma(e.dst), '{'), f), '}')
		}
		e.dst = append(e.dst, "]}"...)
	}
	for _, o := range more.others {
		e.dst = append(appendMembers(append(wirejson.AppendComma(e.dst), '{'), o), '}')
	}
	e.dst = append(e.dst, ']')
	return nil
}

// function writes a tool; more are its members in Extra.
func (e *requestEncoder) function(t *llm.Tool, more []wirejson.Member) error {
	name := wireName(t.Name)
	if !functionName.MatchString(name) {
		return fmt.Errorf("the name %q is invalid: Gemini accepts a letter or underscore, then letters, digits, _ . : and -, at most 64 characters", name)
	}
	e.dst = append(wirejson.AppendComma(e.dst), '{')
	own := []wirejson.Member{{Key: "name", Raw: quote(name)}}
	if t.Description != "" {
		own = append(own, wirejson.Member{Key: "description", Raw: quote(t.Description)})
	}
	if t.Parameters != nil {
		if !jsonio.IsObject(string(t.Parameters)) {
			return errors.New("the parameters are not a JSON object")
		}
		own = append(own, wirejson.Member{Key: keyParameters, Raw: string(t.Parameters)})
	}
	for _, m := range own {
		if wirejson.Find(more, m.Key) == "" {
			e.dst = wirejson.AppendRaw(e.dst, m.Key, m.Raw)
		}
	}
	e.dst = append(appendMembers(e.dst, more), '}')
	return nil
}

const keyParameters = "parametersJsonSchema"

func quote(s string) string { return string(jsonio.AppendString(nil, s)) }

// more contains the tools of Extra.
type more struct{ functions, others [][]wirejson.Member }

// take removes a function and returns its members except the name.
func (m *more) take(name string) []wirejson.Member {
	for i, f := range m.functions {
		if wirejson.Find(f, "name") == quote(name) {
			m.functions = slices.Delete(m.functions, i, i+1)
			return slices.DeleteFunc(f, func(m wirejson.Member) bool { return m.Key == "name" })
		}
	}
	return nil
}

func extraTools(raw json.RawMessage) (out more, err error) {
	if raw == nil {
		return out, nil
	}
	d := jsonio.NewDec(string(raw))
	eachElement(&d, func() {
		var other []wirejson.Member
		eachMember(&d, func(key string) {
			if camel(key) != keyFunctions {
				other = append(other, wirejson.Member{Key: key, Raw: d.Raw()})
				return
			}
			eachElement(&d, func() { out.functions = append(out.functions, wirejson.MembersOf(json.RawMessage(d.Raw()))) })
		})
		if other != nil {
			out.others = append(out.others, other)
		}
	})
	if err := d.End(); err != nil {
		return out, fmt.Errorf("extra.tools: %w", err)
	}
	return out, nil
}

// Function calling modes.
const (
	modeAuto      = "AUTO"
	modeAny       = "ANY"
	modeNone      = "NONE"
	modeValidated = "VALIDATED" // as AUTO, but the schemas are enforced
)

const (
	keyCalling = "functionCallingConfig"
	keyAllowed = "allowedFunctionNames"
)

func (e *requestEncoder) toolConfig() error {
	var own []wirejson.Member
	calling, err := calling(e.req)
	if err != nil {
		return err
	}
	if calling != "" {
		own = []wirejson.Member{{Key: keyCalling, Raw: calling}}
	}
	return e.overlay(keyToolConfig, own, keyCalling)
}

// calling returns the functionCallingConfig, or "" for the default.
func calling(req *llm.Request) (string, error) {
	mode, name := "", ""
	switch c := req.ToolChoice; c.Mode {
	case llm.ChooseAuto:
		for _, t := range req.Tools {
			if t.Strict != nil && *t.Strict {
				mode = modeValidated
			}
		}
	case llm.ChooseNone:
		mode = modeNone
	case llm.ChooseRequired:
		mode = modeAny
	case llm.ChooseTool:
		mode, name = modeAny, c.Name
		if name == "" {
			return "", errors.New("tool_choice: missing tool name: set ToolChoice.Name")
		}
	default:
		return "", fmt.Errorf("tool_choice: %q is unknown", c.Mode)
	}
	none := len(req.Tools) == 0 && req.Extra[keyTools] == nil
	switch {
	case none && mode == modeAny:
		return "", errors.New("tool_choice: no tools: add a tool")
	case none, mode == "":
		return "", nil // Gemini refuses a mode without functions
	}
	dst := wirejson.AppendString([]byte{'{'}, "mode", mode)
	if name != "" {
		dst = append(jsonio.AppendString(append(wirejson.AppendKey(dst, keyAllowed), '['), wireName(name)), ']')
	}
	return string(append(dst, '}')), nil
}
