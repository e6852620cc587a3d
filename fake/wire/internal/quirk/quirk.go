// Package quirk contains the documented deviations of providers, by protocol. A [Form]
// edits a scripted response before it is encoded, or the bytes of the response.
package quirk

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/looptape/looptape/fake"
	"github.com/looptape/looptape/fake/wire/internal/reply"
	"github.com/looptape/looptape/llm"
)

// Info describes one form of a quirk. The fields are those of wire.Quirk.
type Info struct {
	ID          string
	Form        string
	Description string
	Protocols   []string
	Streaming   bool
	Ending      string
	Response    int // that shows the quirk, from 1; 0 means all
}

// The endings of a run if each response shows a quirk.
const (
	EndsWithError = "error"
	EndsEarly     = "early"
)

// endings are the forms that change how the run of a correct client ends.
var endings = map[string][]string{
	EndsWithError: strings.Fields(`
		QA-03 QA-03:call QA-04 QA-09 QG-05 QG-06 QG-06:text QG-08:blocked QG-11 QG-11:call QG-12 QG-12:bare
		QO-20:choices QO-20:no-choices QO-20:object QO-21 QR-07:no-call QR-07:no-output QR-08:error QR-08:failed
		QT-05 QT-06:long QT-07:400 QT-07:401 QT-07:403 QT-07:404 QT-07:413 QT-07:429 QT-07:500 QT-07:key
		QT-08:404 QT-08:empty QT-08:error QT-08:html QT-08:text QT-10:comments QT-10:events QT-10:headers QT-10:pings`),
	EndsEarly: strings.Fields("QA-07 QA-07:container QA-refusal QG-07 QG-07:noparts QG-08 QO-23:bare QO-23:tags QO-24:refusal"),
}

// name returns the quirk and its form as in [Parse].
func (i Info) name() string { return strings.TrimSuffix(i.ID+":"+i.Form, ":") }

// Form is a form of a quirk with its edits. Each of them may be nil. They report
// whether they changed anything. The zero value shows nothing.
type Form struct {
	Info
	script scriptEdit
	edit   edit
}

// scriptEdit changes a scripted response before it is encoded. The response is a copy
// with shared slices: an edit replaces them.
type scriptEdit = func(p *reply.Response, t *fake.Response) bool

// edit changes the bytes of a response.
type edit = func(r *reply.Reply) bool

// protocols are the names of the protocols of a quirk.
type protocols []string

// inReply is a form that changes the bytes of a response.
func (p protocols) inReply(id, form, description string, change edit) *Form {
	return &Form{Info: Info{ID: id, Form: form, Description: description, Protocols: p}, edit: change}
}

// inStream is one that changes the bytes of a streaming response.
func (p protocols) inStream(id, form, description string, change edit) *Form {
	return p.inReply(id, form, description, change).ofStream()
}

// inScript is one that changes the scripted response.
func (p protocols) inScript(id, form, description string, change func(t *fake.Response) bool) *Form {
	return p.inResponse(id, form, description, func(_ *reply.Response, t *fake.Response) bool { return change(t) })
}

// inResponse is an inScript whose change depends on the request.
func (p protocols) inResponse(id, form, description string, change scriptEdit) *Form {
	f := p.inReply(id, form, description, nil)
	f.script = change
	return f
}

// edited changes the JSON of each frame, or of the body.
func edited(f func(text string) string) edit {
	return func(r *reply.Reply) bool { return r.Edit(f) }
}

// ofStream limits a form to streaming responses.
func (f *Form) ofStream() *Form {
	f.Streaming = true
	return f
}

// and adds a change of the bytes.
func (f *Form) and(change edit) *Form {
	f.edit = change
	return f
}

// Forms returns all forms, the usual one of each quirk first.
func Forms() []Form {
	var all []Form
	for _, f := range slices.Concat(anyQuirks, chatQuirks, responsesQuirks, messagesQuirks, geminiQuirks) {
		all = append(all, *f)
	}
	for ending, names := range endings {
		for i := range all {
			if slices.Contains(names, all[i].name()) {
				all[i].Ending = ending
			}
		}
	}
	return all
}

// Applicable returns the forms that would change a response. It does not change p.
func Applicable(p *reply.Response) (found []Info) {
	for _, f := range Forms() {
		again := *p
		if _, shown := Render(&again, []Form{f}); shown[0] {
			found = append(found, f.Info)
		}
	}
	return found
}

// Parse parses a quirk as ID, ID:FORM, ID@N or ID:FORM@N. N is the number of the
// response, from 1. An ID alone is the first form.
func Parse(s string) (Form, error) {
	name, at, one := strings.Cut(s, "@")
	id, formName, named := strings.Cut(name, ":")
	response := 0
	if one {
		n, err := strconv.Atoi(at)
		if err != nil || n < 1 {
			return Form{}, fmt.Errorf("quirk %q: invalid response %q: want a number from 1", s, at)
		}
		response = n
	}
	var forms []string
	for _, f := range Forms() {
		if f.ID != id {
			continue
		}
		if !named || formName != "" && f.Form == formName {
			f.Response = response
			return f, nil
		}
		forms = append(forms, f.Form)
	}
	if forms == nil {
		return Form{}, fmt.Errorf("quirk %q: unknown quirk %q", s, id)
	}
	return Form{}, fmt.Errorf("quirk %q: %s has no form %q: want one of %s", s, id, formName, strings.Join(forms, ", "))
}

// Find returns the form that info describes, or else one that shows nothing.
func Find(info Info) Form {
	for _, f := range Forms() {
		if f.ID == info.ID && f.Form == info.Form {
			f.Response = info.Response
			return f
		}
	}
	return Form{}
}

// applies reports whether a response may show f.
func (f *Form) applies(p *reply.Response) bool {
	return (f.Response == 0 || f.Response == p.Key.Response+1) &&
		slices.Contains(f.Protocols, p.Protocol.Name()) && (!f.Streaming || p.Request.ResponseMode == llm.Streaming)
}

// Render renders a response with quirks. It reports for each whether it is shown.
func Render(p *reply.Response, quirks []Form) (r *reply.Reply, shown []bool) {
	p.Sign()
	shown = EditScript(p, quirks)
	r = p.Render()
	for i, q := range quirks {
		if q.applies(p) && q.edit != nil {
			shown[i] = q.edit(r) || shown[i]
		}
	}
	return r, shown
}

// EditScript applies the edits of the scripted response alone.
func EditScript(p *reply.Response, quirks []Form) (shown []bool) {
	shown = make([]bool, len(quirks))
	for i, q := range quirks {
		shown[i] = q.applies(p) && q.script != nil && q.script(p, &p.Script)
	}
	return shown
}

// Edits of scripted responses leave responses alone that are written as events.

// scriptedCalls returns a copy of the calls, each with its arguments in one string.
func scriptedCalls(t *fake.Response) []fake.Call {
	if t.Events != nil {
		return nil
	}
	calls := slices.Clone(t.Calls)
	for i := range calls {
		c := &calls[i]
		c.Arguments, c.Chunks = c.Arguments+strings.Join(c.Chunks, ""), nil
	}
	return calls
}

func truncateLastCall(t *fake.Response) bool {
	calls := scriptedCalls(t)
	n := len(calls) - 1
	if n < 0 || len(calls[n].Arguments) < 2 {
		return false
	}
	calls[n].Arguments, calls[n].OmitEnd = truncateArguments(calls[n].Arguments), true
	t.Calls = calls
	return true
}

// truncateArguments removes the last bytes of arguments of two bytes or more.
func truncateArguments(args string) string { return firstBytes(args, max(len(args)-3, 1)) }

func firstHalf(text string) string { return firstBytes(text, len(text)/2) }

// firstBytes returns at most n bytes of a string, up to a character boundary.
func firstBytes(text string, n int) string {
	for n > 0 && !utf8.RuneStart(text[n]) {
		n--
	}
	return text[:n]
}

// lastCalls returns the last message of the request that has calls, and their ids; -1 if
// none has.
func lastCalls(p *reply.Response) (at int, ids []string) {
	for i, m := range slices.Backward(p.Request.Messages) {
		for _, c := range m.Calls() {
			ids = append(ids, c.ID)
		}
		if ids != nil {
			return i, ids
		}
	}
	return -1, nil
}

func eachCall(t *fake.Response, f func(i int, c *fake.Call)) bool {
	t.Calls = slices.Clone(t.Calls)
	for i := range t.Calls {
		f(i, &t.Calls[i])
	}
	return len(t.Calls) > 0
}

// clearContent removes the content of a response.
func clearContent(t *fake.Response) {
	*t = fake.Response{
		Delay: t.Delay, EventInterval: t.EventInterval, Usage: t.Usage, ResponseID: t.ResponseID, Model: t.Model,
		FinishReason: llm.FinishStop, Error: t.Error, Err: t.Err, Stall: t.Stall,
	}
}
