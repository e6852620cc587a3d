package scenario

import (
	"cmp"
	"context"
	"encoding/json"
	"regexp"
	"slices"
	"strings"

	"github.com/looptape/looptape/internal/jsonio"
	"github.com/looptape/looptape/llm"
	"github.com/looptape/looptape/loop"
	"github.com/looptape/looptape/loop/middleware"
	"github.com/looptape/looptape/trace"
)

// isV1 reports whether a trace has the text form of version 1: kinds take 15 columns.
func isV1(text string) bool {
	const start = "run.start      "
	return len(text) > len(start) && strings.HasPrefix(text, start) && text[len(start)] != ' '
}

var suspendedDigest = regexp.MustCompile(`(?m)^(suspended .*digest=)[0-9a-f]+$`)

// withoutDigest replaces the digest of the messages of a suspended run. It is a digest of their JSON,
// whose members have other names in version 1.
func withoutDigest(text string) string { return suspendedDigest.ReplaceAllString(text, "${1}DIGEST") }

// repairPromptV1 returns the prompt for a repair in version 1, which scripts expect.
func repairPromptV1(call llm.ToolCall, schema json.RawMessage) string {
	args := call.Arguments
	if !jsonio.ValidText(args) {
		args = string(jsonio.AppendString(nil, args))
	}
	return "A model called the tool \"" + call.Name + "\" with these arguments, which it does not take:\n" + args +
		"\nThe arguments have to follow this JSON Schema:\n" + string(schema) +
		"\nAnswer with the arguments as the model meant them, mended, and with nothing else."
}

// newOptions are options that a trace of version 1 cannot declare.
var newOptions = []string{"late_results", "call_order", "gate_mode"}

// withoutNewOptions returns the events of a run as version 1 declares its options.
func withoutNewOptions(events []trace.Event) []trace.Event {
	events = slices.Clone(events)
	for i, ev := range events {
		if b, ok := ev.Body.(trace.RunStart); ok {
			b.Options = slices.DeleteFunc(slices.Clone(b.Options), func(o trace.Option) bool { return slices.Contains(newOptions, o.Name) })
			events[i].Body = b
		}
	}
	return events
}

var newParts = regexp.MustCompile(`(?m)^\{"type":"modelCompleted".*\n|^(\{"type":"(?:toolCompleted|completed|failed)".*?)(?:,"usage":\{"inputTokens":\d+,"outputTokens":\d+\})?(?:,"duration":[-+.e\d]+)?\}$`)

// withoutNewParts removes the costs and times from the parts of reactagent, which had none in
// version 1.
func withoutNewParts(lines string) string {
	return newParts.ReplaceAllStringFunc(lines, func(line string) string {
		if kept := newParts.FindStringSubmatch(line)[1]; kept != "" {
			return kept + "}"
		}
		return ""
	})
}

// humanInTheLoopV1 decides about the calls of a step before any of them is run, as in version 1.
func humanInTheLoopV1(tools []string, decide func(context.Context, middleware.ApprovalRequest) (middleware.Approval, error)) loop.Middleware {
	return loop.Middleware{Name: "human_in_the_loop", New: func(loop.RunInfo) loop.Hooks {
		return loop.Hooks{BeforeTools: func(ctx context.Context, s *loop.StepInfo, calls []loop.PlannedCall) (all []loop.CallDecision, d loop.Decision, err error) {
			for _, p := range calls {
				if p.Output != nil || !slices.Contains(tools, p.Call.Name) {
					continue
				}
				a, err := decide(ctx, middleware.ApprovalRequest{Call: p.Call})
				c, out := loop.CallDecision{Index: p.Index, Reason: middleware.ReasonDenied}, loop.TextOutput("")
				switch {
				case err != nil:
					out = loop.TextOutput("not run: no decision could be had: " + err.Error())
				case a.Decision == middleware.Reject && a.Reason != "":
					out = loop.TextOutput("not run: the user rejected the call: " + a.Reason)
				case a.Decision == middleware.Reject:
					out = loop.TextOutput("not run: the user rejected the call")
				case a.Decision == middleware.Respond:
					c.Reason, out = "respond", loop.TextOutput(a.Reason)
				case a.Decision == middleware.Edit:
					c.Reason, c.Arguments = "", cmp.Or(a.Arguments, "{}")
				default:
					c.Reason = ""
				}
				if c.Reason != "" {
					out.IsError = c.Reason == middleware.ReasonDenied
					c.Output = &out
				}
				if c.Output != nil || c.Arguments != "" {
					all = append(all, c)
				}
				event, err := json.Marshal(struct {
					Call     string                      `json:"call"`
					Tool     string                      `json:"tool"`
					Decision middleware.ApprovalDecision `json:"decision"`
				}{p.Call.ID, p.Call.Name, a.Decision})
				if err == nil {
					err = s.Emit(middleware.EventHumanDecision, event)
				}
				if err != nil {
					return nil, d, err
				}
			}
			return all, d, nil
		}}
	}}
}

// currentParts renames the members of calls and results in JSON lines of version 1.
func currentParts(lines string) string {
	var out []byte
	for line := range strings.Lines(lines) {
		body := strings.TrimSuffix(line, "\n")
		if !jsonio.ValidText(body) {
			out = append(out, line...)
			continue
		}
		d := jsonio.NewDec(body)
		out = append(appendCurrent(out, &d), line[len(body):]...)
	}
	return string(out)
}

func appendCurrent(dst []byte, d *jsonio.Dec) []byte {
	switch d.Peek() {
	case '{':
		var names jsonio.Renames
		dst = append(dst, '{')
		empty := len(dst)
		for key := range d.Members() {
			first := len(dst) == empty
			if !first {
				dst = append(dst, ',')
			}
			dst = append(jsonio.AppendString(dst, names.Name(d, key)), ':')
			from := len(dst)
			if dst = appendCurrent(dst, d); first && key == "type" {
				names = v1Parts[string(dst[from:])]
			}
		}
		return append(dst, '}')
	case '[':
		dst = append(dst, '[')
		for i := range d.Elements() {
			if i > 0 {
				dst = append(dst, ',')
			}
			dst = appendCurrent(dst, d)
		}
		return append(dst, ']')
	}
	return append(dst, d.Raw()...)
}

// v1Parts maps, by the type of a part, its members in version 1 to those of today.
var v1Parts = map[string]jsonio.Renames{
	`"tool_call"`:   {"args": "arguments", "minted": "id_generated"},
	`"tool_result"`: {"id": "tool_call_id"},
}
