package anthropic

import (
	"strconv"

	"github.com/looptape/looptape/internal/jsonio"
	"github.com/looptape/looptape/llm"
	"github.com/looptape/looptape/providers/internal/wirejson"
	"github.com/looptape/looptape/providers/protocol"
)

// maxName is the length limit of tool names (SA-05, SA-07).
const maxName = 128

// tools writes the tools and the tool choice.
func (b *body) tools() {
	_, extra := b.req.Extra["tools"]
	if len(b.req.Tools) > 0 && b.key("tools") {
		b.dst = append(b.dst, '[')
		for i := range b.req.Tools {
			if i > 0 {
				b.dst = append(b.dst, ',')
			}
			b.tool(i)
		}
		b.dst = append(b.dst, ']')
	}
	b.toolChoice(extra || len(b.req.Tools) > 0)
}

func (b *body) tool(i int) {
	t := b.req.Tools[i]
	if !protocol.IsName(t.Name) || len(t.Name) > maxName {
		b.fail("tools[%d]: Anthropic Messages accepts a name of 1 to %d letters, digits, _ and -, not %q", i, maxName, t.Name)
	}
	for _, other := range b.req.Tools[:i] {
		if other.Name == t.Name {
			b.fail("tools[%d]: duplicate tool name %q", i, t.Name)
		}
	}
	b.dst = jsonio.AppendString(append(b.dst, `{"name":`...), t.Name)
	if t.Description != "" {
		b.dst = jsonio.AppendString(append(b.dst, `,"description":`...), t.Description)
	}
	b.schema(i, t)
	if t.Strict != nil {
		b.dst = strconv.AppendBool(append(b.dst, `,"strict":`...), *t.Strict)
	}
	b.dst = append(b.dst, '}')
}

// schema writes the schema of a tool. The API accepts only objects, without anyOf and the like
// at the top (SA-10).
func (b *body) schema(i int, t llm.Tool) {
	b.dst = append(b.dst, `,"input_schema":`...)
	if t.Parameters == nil {
		b.dst = append(b.dst, `{"type":"object"}`...)
		return
	}
	what := "tools[" + strconv.Itoa(i) + "].parameters"
	for _, key := range []string{"anyOf", "oneOf", "allOf"} {
		if wirejson.Get(t.Parameters, key) != nil {
			b.fail("%s: Anthropic Messages does not accept %s at the top of a schema: move it into a property", what, key)
		}
	}
	from := len(b.dst)
	b.object(what, t.Parameters)
	if wirejson.Get(t.Parameters, "type") != nil || b.err != nil {
		return
	}
	rest := string(b.dst[from+1:])
	b.dst = append(b.dst[:from], `{"type":"object"`...)
	if rest != "}" {
		b.dst = append(b.dst, ',')
	}
	b.dst = append(b.dst, rest...)
}

// toolChoice writes the tool choice if there are tools.
func (b *body) toolChoice(tools bool) {
	c, parallel := b.req.ToolChoice, b.req.Settings.ParallelToolCalls
	if c == (llm.ToolChoice{}) && parallel == nil {
		return
	}
	if !tools {
		if c.Mode == llm.ChooseRequired || c.Mode == llm.ChooseTool {
			b.fail("tool_choice: %s without tools: add a tool", c)
		}
		return
	}
	if !b.key("tool_choice") {
		return
	}
	switch c.Mode {
	case llm.ChooseAuto:
		b.dst = append(b.dst, `{"type":"auto"`...)
	case llm.ChooseRequired:
		b.dst = append(b.dst, `{"type":"any"`...)
	case llm.ChooseNone:
		b.dst = append(b.dst, `{"type":"none"}`...)
		return
	case llm.ChooseTool:
		b.dst = jsonio.AppendString(append(b.dst, `{"type":"tool","name":`...), c.Name)
	default:
		b.fail("tool_choice: Anthropic Messages has no mode %q", c.Mode)
	}
	if parallel != nil {
		b.dst = strconv.AppendBool(append(b.dst, `,"disable_parallel_tool_use":`...), !*parallel)
	}
	b.dst = append(b.dst, '}')
}

// noName replaces a missing tool name.
const noName = "unnamed"

// callName returns the name of a call for a request.
func callName(s string) string {
	if protocol.IsName(s) && len(s) <= maxName {
		return s
	}
	if s == "" {
		return noName
	}
	return wirejson.CleanName(s[:min(len(s), maxName)])
}
