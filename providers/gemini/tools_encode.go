package gemini

import (
	"encoding/json"
	"slices"

	"github.com/looptape/looptape/internal/jsonio"
	"github.com/looptape/looptape/llm"
	"github.com/looptape/looptape/providers/internal/wirejson"
)

const keyFunctions = "functionDeclarations"

func (w *writer) tools() {
	more := w.extraTools()
	if len(w.Req.Tools)+len(more.others)+len(more.functions) == 0 {
		return
	}
	w.Raw(keyTools, "[")
	if len(w.Req.Tools)+len(more.functions) > 0 {
		w.Next("{")
		w.Raw(keyFunctions, "[")
		for i := range w.Req.Tools {
			t := &w.Req.Tools[i]
			w.function(i, t, more.take(wireName(t.Name)))
		}
		w.objects(more.functions)
		w.Close("]}")
	}
	w.objects(more.others)
	w.Close("]")
}

func (w *writer) objects(list [][]wirejson.Member) {
	for _, members := range list {
		w.Next("{")
		w.end(members)
	}
}

// function writes tool i; more are its members in Extra.
func (w *writer) function(i int, t *llm.Tool, more []wirejson.Member) {
	name := wireName(t.Name)
	if !functionName.MatchString(name) {
		w.Fail("tools[%d]: the name %q is invalid: Gemini accepts a letter or underscore, then letters, digits, _ . : and -, at most 64 characters", i, name)
	}
	own := []wirejson.Member{{Key: "name", Raw: quote(name)}}
	if t.Description != "" {
		own = append(own, wirejson.Member{Key: "description", Raw: quote(t.Description)})
	}
	if t.Parameters != nil {
		if !jsonio.IsObject(string(t.Parameters)) {
			w.Fail("tools[%d]: the parameters are not a JSON object", i)
		}
		own = append(own, wirejson.Member{Key: keyParameters, Raw: string(t.Parameters)})
	}
	w.Next("{")
	w.joined(own, more, "")
	w.Close("}")
}

const keyParameters = "parametersJsonSchema"

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

func (w *writer) extraTools() (out more) {
	raw := w.Req.Extra[keyTools]
	if raw == nil {
		return out
	}
	d := jsonio.NewDec(string(raw))
	eachElement(&d, func() {
		other := readObject(&d, keyFunctions, func() {
			eachElement(&d, func() { out.functions = append(out.functions, wirejson.MembersOf(json.RawMessage(d.Raw()))) })
		})
		if other != nil {
			out.others = append(out.others, other)
		}
	})
	if err := d.End(); err != nil {
		w.Fail("extra.tools: %w", err)
	}
	return out
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

func (w *writer) toolConfig() {
	var own []wirejson.Member
	if calling := w.calling(); calling != "" {
		own = []wirejson.Member{{Key: keyCalling, Raw: calling}}
	}
	w.overlay(keyToolConfig, own, keyCalling)
}

// calling returns the functionCallingConfig, or "" for the default.
func (w *writer) calling() string {
	mode, c := "", w.Req.ToolChoice
	switch c.Mode {
	case llm.ChooseAuto:
		if slices.ContainsFunc(w.Req.Tools, func(t llm.Tool) bool { return t.Strict != nil && *t.Strict }) {
			mode = modeValidated
		}
	case llm.ChooseNone:
		mode = modeNone
	case llm.ChooseRequired, llm.ChooseTool:
		mode = modeAny
	default:
		w.Fail("tool_choice: %q is unknown", c.Mode)
	}
	if c.Mode == llm.ChooseTool && c.Name == "" {
		w.Fail("tool_choice: missing tool name: set ToolChoice.Name")
	}
	none := len(w.Req.Tools) == 0 && w.Has(keyTools)
	if none && mode == modeAny {
		w.Fail("tool_choice: no tools: add a tool")
	}
	if none || mode == "" {
		return "" // Gemini refuses a mode without functions
	}
	if c.Mode == llm.ChooseTool {
		return `{"mode":"` + mode + `","` + keyAllowed + `":[` + quote(wireName(c.Name)) + `]}`
	}
	return `{"mode":"` + mode + `"}`
}
