package wire

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/looptape/looptape/fake"
	"github.com/looptape/looptape/llm"
)

// Quirk is a way in which real providers differ from their documents, to be shown
// by a Server. ParseQuirk makes one; the zero value shows nothing.
type Quirk struct {
	form *quirkForm
	turn int // from 1; 0 is each
}

// QuirkForm describes one form of a quirk.
type QuirkForm struct {
	ID          string `json:"id"`   // such as QO-03
	Form        string `json:"form"` // what tells it from the quirk's other forms; empty for the usual one
	Description string `json:"says"` // what is on the wire
	// Protocols are those that it applies to, by the names of protocol.Protocol.
	Protocols []string `json:"protocols"`
	// Streamed says that only streams can show it.
	Streaming bool `json:"streamed"`
}

// quirkForm is a form and what shows it. Each of its functions may be nil, and
// reports whether there was anything to change.
type quirkForm struct {
	QuirkForm
	// turn changes what the model says, before it is encoded. The turn is a copy
	// whose slices are shared: they are replaced, never written to.
	turn func(p *play, t *fake.Response) bool
	// reply changes the bytes.
	reply func(p *play, r *reply) bool
}

// inTurn is a form that changes what the model says.
func inTurn(f QuirkForm, change func(t *fake.Response) bool) quirkForm {
	return quirkForm{QuirkForm: f, turn: func(_ *play, t *fake.Response) bool { return change(t) }}
}

// inReply is a form that changes the bytes of an answer.
func inReply(f QuirkForm, change func(r *reply) bool) quirkForm {
	return quirkForm{QuirkForm: f, reply: func(_ *play, r *reply) bool { return change(r) }}
}

// The names of the protocols.
const (
	chat      = "openai-chat"
	responses = "openai-responses"
	messages  = "anthropic-messages"
	generate  = "gemini"
)

// quirkForms returns all forms, the usual one of a quirk first.
func quirkForms() []quirkForm {
	return slices.Concat(anyQuirks, chatQuirks, responsesQuirks, messagesQuirks, geminiQuirks)
}

// Quirks lists the quirks that a Server can show.
func Quirks() []QuirkForm {
	var out []QuirkForm
	for _, f := range quirkForms() {
		out = append(out, f.QuirkForm)
	}
	return out
}

// ParseQuirk reads a quirk as ID, ID:FORM, ID@TURN or ID:FORM@TURN, with turns
// counted from 1; without a turn it is shown in all. An ID alone is the first form.
func ParseQuirk(s string) (Quirk, error) {
	name, at, one := strings.Cut(s, "@")
	id, formName, named := strings.Cut(name, ":")
	q := Quirk{}
	if one {
		n, err := strconv.Atoi(at)
		if err != nil || n < 1 {
			return Quirk{}, fmt.Errorf("quirk %q: the turn is %q and has to be a number from 1", s, at)
		}
		q.turn = n
	}
	var forms []string
	for _, f := range quirkForms() {
		if f.ID != id {
			continue
		}
		if !named || formName != "" && f.Form == formName {
			q.form = &f
			return q, nil
		}
		forms = append(forms, f.Form)
	}
	if forms == nil {
		return Quirk{}, fmt.Errorf("quirk %q: there is no quirk %q", s, id)
	}
	return Quirk{}, fmt.Errorf("quirk %q: %s has no form %q; it has %s", s, id, formName, strings.Join(forms, ", "))
}

// String returns what ParseQuirk reads.
func (q Quirk) String() string {
	if q.form == nil {
		return ""
	}
	s := q.form.ID
	if q.form.Form != "" {
		s += ":" + q.form.Form
	}
	if q.turn > 0 {
		s += "@" + strconv.Itoa(q.turn)
	}
	return s
}

// applies reports whether q is to be shown in an answer.
func (q Quirk) applies(p *play) bool {
	return q.form != nil && (q.turn == 0 || q.turn == p.place.Response+1) &&
		slices.Contains(q.form.Protocols, p.proto.Name()) && (!q.form.Streaming || p.request.ResponseMode == llm.Streaming)
}
