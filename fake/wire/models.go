package wire

import (
	"encoding/json"
	"maps"
	"net/http"
	"regexp"
	"slices"
	"strings"
)

// modelsPath are the paths under which a provider tells of its models.
var modelsPath = regexp.MustCompile(`^/(?:openai/v1|anthropic|anthropic/v1|gemini/v1|gemini/v1beta)/models(?:/(.+))?$`)

// modelsAt finds what such a path asks for: one model by its name, or all if the name
// is empty.
func modelsAt(path string) (e endpoint, name string, ok bool) {
	_, rest := laneOf(path)
	found := modelsPath.FindStringSubmatch(rest)
	if found == nil {
		return endpoint{}, "", false
	}
	e, name = meant(rest).endpoint, found[1]
	e.path = rest
	return e, name, e.provider != Gemini || !strings.Contains(name, ":") // which calls a model
}

// list answers what models there are, as the section "Models" of each provider's API
// reference has it. All stand on one page.
func (x *exchange) list(r *http.Request, name string) {
	in := inbound{endpoint: x.endpoint, cfg: &x.server.cfg, key: x.key(r)}
	e := in.unauthorized()
	if e == nil && name != "" {
		e = in.unlisted(name)
	}
	if e != nil {
		x.refuse(e)
		return
	}
	told := x.model(name)
	if name == "" {
		told = x.page(in.cfg.listed())
	}
	x.w.Header().Set("Content-Type", "application/json")
	text, err := json.Marshal(told)
	if err == nil { // there is nothing in it that JSON cannot say
		_, _ = x.w.Write(text) // the client may be gone
	}
}

// unlisted refuses the name of a model that there is not.
func (in inbound) unlisted(name string) *refusal {
	switch in.provider {
	case Anthropic:
		return unknownClaude(in, name)
	case Gemini:
		return unknownGemini(in, name, "generateContent")
	case OpenAI:
	}
	return unknownOpenAI(in, name)
}

// listed are the models that there are or, if any is, those that the script names.
func (c *Config) listed() []string {
	if len(c.Models) > 0 {
		return c.Models
	}
	names := slices.AppendSeq([]string{c.Model.Default}, maps.Keys(c.Model.Sessions))
	slices.Sort(names)
	return slices.DeleteFunc(slices.Compact(names), func(name string) bool { return name == "" })
}

// model is what a provider tells of one.
func (e endpoint) model(name string) map[string]any {
	switch e.provider {
	case Anthropic:
		return map[string]any{"type": "model", "id": name, "display_name": name, "created_at": "2000-01-01T00:00:00Z"}
	case Gemini:
		return map[string]any{
			"name": "models/" + name, "version": "1", "displayName": name, "inputTokenLimit": 1 << 20, "outputTokenLimit": 1 << 16,
			"supportedGenerationMethods": []string{"generateContent"},
		}
	case OpenAI:
	}
	return map[string]any{"id": name, "object": "model", "created": epoch, "owned_by": "looptape"}
}

// page is what a provider tells of all.
func (e endpoint) page(names []string) map[string]any {
	all := []any{}
	for _, name := range names {
		all = append(all, e.model(name))
	}
	switch e.provider {
	case Anthropic:
		page := map[string]any{"data": all, "has_more": false, "first_id": nil, "last_id": nil}
		if len(names) > 0 {
			page["first_id"], page["last_id"] = names[0], names[len(names)-1]
		}
		return page
	case Gemini:
		return map[string]any{"models": all}
	case OpenAI:
	}
	return map[string]any{"object": "list", "data": all}
}
