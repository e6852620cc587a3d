package gemini

import (
	"encoding/json"
	"strconv"

	"github.com/looptape/looptape/internal/jsonio"
	"github.com/looptape/looptape/llm"
	"github.com/looptape/looptape/providers/internal/wirejson"
)

// tools reads the functions. Extra gets the rest.
func (r *requestReader) tools() {
	d := &r.d
	said, others := []byte{'['}, []byte{'['}
	eachElement(d, func() {
		var other []wirejson.Member
		eachMember(d, func(key string) {
			if camel(key) != keyFunctions {
				other = append(other, wirejson.Member{Key: key, Raw: d.Raw()})
				return
			}
			eachElement(d, func() {
				t, rest := readFunction(d)
				r.req.Tools = append(r.req.Tools, t)
				if rest != nil {
					rest = append([]wirejson.Member{{Key: "name", Raw: quote(wireName(t.Name))}}, rest...)
					said = append(wirejson.AppendComma(said), objectOf(rest)...)
				}
			})
		})
		if other != nil {
			others = append(wirejson.AppendComma(others), objectOf(other)...)
		}
	})
	all := []byte{'['}
	if len(said) > 1 {
		all = append(append(wirejson.AppendKey(append(all, '{'), keyFunctions), said...), "]}"...)
	}
	if len(others) > 1 {
		all = append(wirejson.AppendComma(all), others[1:]...)
	}
	if len(all) > 1 {
		r.extra(keyTools, append(all, ']'))
	}
}

func readFunction(d *jsonio.Dec) (t llm.Tool, rest []wirejson.Member) {
	eachMember(d, func(key string) {
		switch camel(key) {
		case "name":
			t.Name = toolName(d.String())
		case "description":
			t.Description = d.String()
		case keyParameters:
			t.Parameters = json.RawMessage(compact(d.Raw()))
		case "parameters":
			t.Parameters = readSchema(d)
		default:
			rest = append(rest, wirejson.Member{Key: key, Raw: d.Raw()})
		}
	})
	return t, rest
}

// toolConfig reads the tool choice and returns the other members.
func (r *requestReader) toolConfig() (rest []wirejson.Member) {
	d := &r.d
	eachMember(d, func(key string) {
		if camel(key) != keyCalling {
			rest = append(rest, wirejson.Member{Key: key, Raw: d.Raw()})
			return
		}
		if more := r.calling(); more != nil {
			rest = append(rest, wirejson.Member{Key: keyCalling, Raw: string(objectOf(more))})
		}
	})
	return rest
}

func (r *requestReader) calling() (rest []wirejson.Member) {
	d := &r.d
	allowed := wirejson.Member{}
	var names []string
	choice := &r.req.ToolChoice
	eachMember(d, func(key string) {
		switch camel(key) {
		case "mode":
			switch mode := d.String(); mode {
			case modeAuto:
			case modeValidated:
				r.strict = true
			case modeAny:
				choice.Mode = llm.ChooseRequired
			case modeNone:
				choice.Mode = llm.ChooseNone
			default:
				rest = append(rest, wirejson.Member{Key: key, Raw: quote(mode)})
			}
		case keyAllowed:
			from := d.Offset()
			eachElement(d, func() { names = append(names, toolName(d.String())) })
			allowed = wirejson.Member{Key: key, Raw: d.Since(from)}
		default:
			rest = append(rest, wirejson.Member{Key: key, Raw: d.Raw()})
		}
	})
	switch {
	case choice.Mode == llm.ChooseRequired && len(names) == 1:
		choice.Mode, choice.Name = llm.ChooseTool, names[0]
	case len(names) > 0:
		rest = append(rest, allowed)
	}
	return rest
}

// config reads the settings and returns the other members.
func (r *requestReader) config() (rest []wirejson.Member) {
	d := &r.d
	s := &r.req.Settings
	mime := wirejson.Member{}
	eachMember(d, func(key string) {
		switch camel(key) {
		case "maxOutputTokens":
			s.MaxTokens = int(d.Int())
		case "temperature":
			f := d.Float()
			s.Temperature = &f
		case "topP":
			f := d.Float()
			s.TopP = &f
		case "seed":
			n := d.Int()
			s.Seed = &n
		case "stopSequences":
			eachElement(d, func() { s.StopSequences = append(s.StopSequences, d.String()) })
		case "thinkingConfig":
			if more := r.thinking(); more != nil {
				rest = append(rest, wirejson.Member{Key: "thinkingConfig", Raw: string(objectOf(more))})
			}
		case keySchema:
			s.OutputSchema = json.RawMessage(compact(d.Raw()))
		case "responseSchema":
			s.OutputSchema = readSchema(d)
		case keyMIME:
			mime = wirejson.Member{Key: key, Raw: d.Raw()}
		default:
			rest = append(rest, wirejson.Member{Key: key, Raw: d.Raw()})
		}
	})
	if mime.Raw != "" && (s.OutputSchema == nil || mime.Raw != `"`+typeJSON+`"`) {
		rest = append(rest, mime)
	}
	return rest
}

// thinking reads the effort: the level, else the budget.
func (r *requestReader) thinking() (rest []wirejson.Member) {
	d := &r.d
	var level string
	budget := wirejson.Member{}
	eachMember(d, func(key string) {
		switch camel(key) {
		case "thinkingLevel":
			level = d.String()
		case "thinkingBudget":
			budget = wirejson.Member{Key: key, Raw: strconv.FormatInt(d.Int(), 10)}
		default:
			rest = append(rest, wirejson.Member{Key: key, Raw: d.Raw()})
		}
	})
	if level == "" {
		r.req.Settings.ReasoningEffort = budget.Raw
		return rest
	}
	r.req.Settings.ReasoningEffort = level
	if budget.Raw != "" {
		rest = append(rest, budget)
	}
	return rest
}
