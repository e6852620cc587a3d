// Package quirk contains the documented deviations of providers, by protocol. A [Form]
// edits a scripted response before it is encoded, or the bytes of the response.
package quirk

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

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
	Response    int // that shows the quirk, from 1; 0 means all
}

// Form is a form of a quirk with its edits. Each of them may be nil. They report
// whether they changed anything. The zero value shows nothing.
type Form struct {
	Info
	script scriptEdit
	edit   edit
}

// scriptEdit changes a scripted response before it is encoded. The response is a copy
// with shared slices: an edit replaces them.
type scriptEdit = func(p *reply.Response, s *fake.Response) bool

// edit changes the bytes of a response.
type edit = func(p *reply.Response, r *reply.Reply) bool

// inScript is a form that changes the scripted response.
func inScript(f Info, change func(s *fake.Response) bool) Form {
	return Form{Info: f, script: func(_ *reply.Response, s *fake.Response) bool { return change(s) }}
}

// inReply is a form that changes the bytes of a response.
func inReply(f Info, change func(r *reply.Reply) bool) Form {
	return Form{Info: f, edit: func(_ *reply.Response, r *reply.Reply) bool { return change(r) }}
}

// inStream limits a form to streaming responses.
func inStream(f Info) Info {
	f.Streaming = true
	return f
}

// Forms returns all forms, the usual one of each quirk first.
func Forms() []Form {
	return slices.Concat(anyQuirks, chatQuirks, responsesQuirks, messagesQuirks, geminiQuirks)
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
	all := Forms()
	i := slices.IndexFunc(all, func(f Form) bool { return f.ID == info.ID && f.Form == info.Form })
	if i < 0 {
		return Form{}
	}
	all[i].Response = info.Response
	return all[i]
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
			shown[i] = q.edit(p, r) || shown[i]
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
