package check

import (
	"slices"
	"strconv"
	"strings"

	"github.com/looptape/looptape/llm"
)

// serverCall is a call of a tool of Anthropic's server without its result. The result is in the message of the
// call or, after a pause, in the next one of the assistant.
type serverCall struct {
	id, name string
	event    int
	followed bool // a message of another role follows
}

// addServerCalls takes the calls and the results of the server's tools in a message of Anthropic. A call may have
// made other calls instead: these name it as their caller.
func (l *List) addServerCalls(m llm.Message) {
	if l.Protocol != "anthropic-messages" {
		return
	}
	for _, p := range m.Parts {
		l.server = slices.DeleteFunc(l.server, func(c serverCall) bool { return refersTo(p, c.id) })
		if c, ok := p.(llm.ToolCall); ok && c.ProviderExecuted && !strings.Contains(string(c.Opaque), `"mcp_tool_use"`) {
			l.server = append(l.server, serverCall{id: c.ID, name: c.Name, event: l.sink.event})
		}
	}
	for i := range l.server {
		l.server[i].followed = l.server[i].followed || m.Role != llm.RoleAssistant
	}
}

// refersTo reports whether a part is a result of a call with this id, or was called by it.
func refersTo(p llm.Part, id string) bool {
	switch p := p.(type) {
	case llm.ToolResult:
		return p.ID == id
	case llm.Unknown:
		return strings.Contains(string(p.Raw), strconv.Quote(id))
	default:
		return strings.Contains(string(llm.PartOpaque(p)), strconv.Quote(id))
	}
}

// settleServerCalls reports the calls of the server's tools that other messages follow. At the end of a list, the
// response may be paused.
func (l *List) settleServerCalls() {
	l.server = slices.DeleteFunc(l.server, func(c serverCall) bool {
		if c.followed {
			l.sink.event = c.event
			l.sink.reportFault(faultServerCall, "the call %q of the server tool %q has no result in its message, and other messages follow", c.id, c.name)
		}
		return c.followed
	})
}
