package gemini

import (
	"cmp"
	"encoding/json"
	"strconv"
	"strings"

	"github.com/looptape/looptape/internal/jsonio"
	"github.com/looptape/looptape/llm"
	"github.com/looptape/looptape/providers/internal/wirejson"
)

func (r *requestReader) tools() {
	d := &r.d
	var functions, others, all wirejson.Elements
	eachElement(d, func() {
		other := readObject(d, keyFunctions, func() {
			eachElement(d, func() {
				t, rest := readFunction(d)
				r.req.Tools = append(r.req.Tools, t)
				if rest != nil {
					rest = append([]wirejson.Member{{Key: "name", Raw: quote(wireName(t.Name))}}, rest...)
					functions.Add(string(objectOf(rest)))
				}
			})
		})
		if other != nil {
			others.Add(string(objectOf(other)))
		}
	})
	if functions != nil {
		all.Add(`{"` + keyFunctions + `":` + string(functions.Array()) + `}`)
	}
	wirejson.EachElement(others.Array(), all.Add)
	if all != nil {
		r.extra(keyTools, all.Array())
	}
}

func readFunction(d *jsonio.Dec) (t llm.Tool, rest []wirejson.Member) {
	rest = readObject(d,
		"name", func() { t.Name = toolName(d.String()) },
		"description", &t.Description,
		keyParameters, &t.Parameters,
		"parameters", func() { t.Parameters = readSchema(d) })
	return t, rest
}

func (r *requestReader) toolConfig() []wirejson.Member {
	var rest []wirejson.Member
	readInto(&r.d, &rest, keyCalling, func() { addObject(&rest, keyCalling, r.calling()) })
	return rest
}

// addObject adds a member that is an object, unless that is empty.
func addObject(rest *[]wirejson.Member, key string, inner []wirejson.Member) {
	if inner != nil {
		*rest = append(*rest, wirejson.Member{Key: key, Raw: string(objectOf(inner))})
	}
}

func (r *requestReader) calling() []wirejson.Member {
	d := &r.d
	var rest, allowed []wirejson.Member
	var names []string
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
				rest = append(rest, wirejson.Member{Key: "mode", Raw: quote(mode)})
			}
		},
		keyAllowed, func() {
			from := d.Offset()
			eachElement(d, func() { names = append(names, toolName(d.String())) })
			allowed = []wirejson.Member{{Key: keyAllowed, Raw: d.Since(from)}}
		})
	switch {
	case choice.Mode == llm.ChooseRequired && len(names) == 1:
		choice.Mode, choice.Name = llm.ChooseTool, names[0]
	case len(names) > 0:
		rest = append(rest, allowed...)
	}
	return rest
}

func (r *requestReader) config() []wirejson.Member {
	d := &r.d
	s := &r.req.Settings
	var rest []wirejson.Member
	mime := ""
	readInto(d, &rest,
		"maxOutputTokens", &s.MaxTokens,
		"temperature", &s.Temperature,
		"topP", &s.TopP,
		"seed", &s.Seed,
		"stopSequences", func() {
			eachElement(d, func() { s.StopSequences = append(s.StopSequences, d.String()) })
		},
		"thinkingConfig", func() { addObject(&rest, "thinkingConfig", r.thinking()) },
		keySchema, &s.OutputSchema,
		"responseSchema", func() { s.OutputSchema = readSchema(d) },
		keyMIME, func() { mime = d.Raw() })
	if mime != "" && (s.OutputSchema == nil || mime != `"`+typeJSON+`"`) {
		rest = append(rest, wirejson.Member{Key: keyMIME, Raw: mime})
	}
	return rest
}

// thinking reads the effort: the level, else the budget.
func (r *requestReader) thinking() []wirejson.Member {
	var level, budget string
	rest := readObject(&r.d,
		"thinkingLevel", &level,
		"thinkingBudget", func() { budget = strconv.FormatInt(r.d.Int(), 10) })
	r.req.Settings.ReasoningEffort = cmp.Or(level, budget)
	if level != "" && budget != "" {
		rest = append(rest, wirejson.Member{Key: "thinkingBudget", Raw: budget})
	}
	return rest
}

// readSchema converts a schema in Gemini's form, a subset of OpenAPI 3.0, to JSON Schema: types
// become lower case, and nullable becomes a type.
func readSchema(d *jsonio.Dec) json.RawMessage {
	var dst []byte
	schema(d, &dst)
	return dst
}

// schema converts one schema. Members keep their order.
func schema(d *jsonio.Dec, dst *[]byte) {
	*dst = append(*dst, '{')
	kind, nullable := "", false
	if !d.Object() {
		return
	}
	for key := range d.MembersAfter(true) {
		if d.Null() {
			continue
		}
		switch key = camel(key); key {
		case "type":
			kind = strings.ToLower(d.String())
		case "nullable":
			nullable = d.Bool()
		case "items":
			*dst = wirejson.AppendKey(*dst, key)
			schema(d, dst)
		case "properties":
			*dst = append(wirejson.AppendKey(*dst, key), '{')
			for name := range d.Members() {
				if !d.Null() {
					*dst = wirejson.AppendKey(*dst, name)
					schema(d, dst)
				}
			}
			*dst = append(*dst, '}')
		case "anyOf":
			*dst = append(wirejson.AppendKey(*dst, key), '[')
			eachElement(d, func() {
				*dst = wirejson.AppendComma(*dst)
				schema(d, dst)
			})
			*dst = append(*dst, ']')
		case "minItems", "maxItems", "minLength", "maxLength", "minProperties", "maxProperties":
			*dst = append(wirejson.AppendKey(*dst, key), strings.Trim(d.Raw(), `"`)...) // 64 bits may come as a string
		default:
			*dst = append(wirejson.AppendKey(*dst, key), compact(d.Raw())...)
		}
	}
	switch {
	case nullable && kind != "":
		*dst = append(append(wirejson.AppendKey(*dst, "type"), '['), quote(kind)...)
		*dst = append(*dst, `,"null"]`...)
	case kind != "":
		*dst = wirejson.AppendString(*dst, "type", kind)
	}
	*dst = append(*dst, '}')
}
