package importer

import (
	"encoding/json"
	"strconv"
	"strings"

	"github.com/looptape/looptape/internal/jsonio"
	"github.com/looptape/looptape/llm"
)

// sample reads a sample of a log of Inspect: the EvalSample of
// https://inspect.aisi.org.uk/reference/inspect_ai.log.html, of any version that has the
// members it looks for.
func sample(d *jsonio.Dec, run *Run) {
	if !d.Object() {
		return
	}
	var messages jsonio.Dec
	refer := false
	run.Meta = map[string]json.RawMessage{}
	for first := true; ; {
		key, ok := d.Key(&first)
		if !ok {
			break
		}
		if key == "messages" {
			messages = *d // what they refer to stands behind them
			refer = refersTo(d.Raw())
			continue
		}
		run.Meta[key] = json.RawMessage(d.Raw())
	}
	if run.Case = scalar(run.Meta["id"]); run.Case == "" {
		d.Fail("the sample has no id")
	}
	if d.Err() != nil {
		return
	}
	run.Epoch = epochOf(run.Meta["epoch"])
	run.Name = "sample-" + run.Case
	if run.Epoch != NoEpoch {
		run.Name += "/epoch-" + strconv.Itoa(run.Epoch)
	}
	run.Want = wanted(run.Meta["target"])
	run.Scores = sampleScores(run.Meta)
	conv := conversation{inspect: true}
	if refer {
		conv.attached = attachments(run.Meta)
	}
	run.Answer = conv.completion(run.Meta["output"])
	if messages.Peek() == 0 || messages.Null() {
		return
	}
	run.Messages = conv.list(&messages)
	if messages.Err() != nil {
		*d = messages // tells the place of what is wrong
	}
}

// completion returns the final text that an output names: its completion or, from before
// there was one, the text of its first choice.
func (c *conversation) completion(output json.RawMessage) string {
	if text, ok := textOf(memberOf(output, "completion")); ok {
		return c.resolve(text)
	}
	for _, choice := range elementsOf(memberOf(output, "choices")) {
		d := jsonio.NewDec(jsonio.View(memberOf(choice, "message")))
		return c.message(&d).Text()
	}
	return ""
}

// A text that begins with one of these names the text that is meant. It stands among the
// attachments of its sample, once for all that refer to it.
const (
	attachmentScheme = "attachment://"
	oldScheme        = "tc://"
)

// refersTo reports whether a text of JSON refers to attachments.
func refersTo(text string) bool {
	return strings.Contains(text, `"`+attachmentScheme) || strings.Contains(text, `"`+oldScheme)
}

// attachments returns those of a sample, or of its transcript, as it was before.
func attachments(meta map[string]json.RawMessage) map[string]string {
	raw, ok := meta["attachments"]
	if !ok {
		raw = memberOf(meta["transcript"], "content")
	}
	texts := map[string]string{}
	for name, value := range membersOf(raw) {
		if text, ok := textOf(value); ok {
			texts[name] = text
		}
	}
	return texts
}

// resolve returns the text that a text refers to, or the text itself.
func (c *conversation) resolve(text string) string {
	name, ok := strings.CutPrefix(text, attachmentScheme)
	if !ok {
		name, ok = strings.CutPrefix(text, oldScheme)
	}
	if meant, found := c.attached[name]; ok && found {
		return meant
	}
	return text
}

// inspectPart reads a content part: a Content of
// https://inspect.aisi.org.uk/reference/inspect_ai.model.html. One of a kind that llm has
// no word for is kept whole, as the "value" of an llm.Unknown whose own kind begins with
// "inspect.".
func (c *conversation) inspectPart(d *jsonio.Dec) llm.Part {
	whole := json.RawMessage(d.Raw())
	kind, _ := textOf(memberOf(whole, "type"))
	text, ok := textOf(memberOf(whole, kind))
	text = c.resolve(text)
	var refusal, redacted bool
	var rest opaque
	for key, value := range membersOf(whole) {
		switch {
		case key == "type" || key == kind:
		case key == "refusal":
			refusal = string(value) == "true"
		default:
			redacted = redacted || key == "redacted" && string(value) == "true"
			rest.raw(key, string(value))
		}
	}
	switch {
	case ok && kind == "text":
		return llm.Text{Text: text, Refusal: refusal, Opaque: rest.json()}
	case ok && kind == "reasoning" && redacted:
		return llm.Reasoning{Opaque: whole} // its text is for the provider only
	case ok && kind == "reasoning":
		return llm.Reasoning{Text: text, Opaque: rest.json()}
	case ok && kind == "image":
		return picture(text, rest.json())
	}
	return unknown("inspect."+kind, string(whole))
}

// sampleScores returns the scores of a sample: one a scorer or, of a scorer that gives
// several values by name, one a value, called scorer/name. Before there could be several
// scorers, theirs had no name.
func sampleScores(meta map[string]json.RawMessage) (scores []Score) {
	scores = appendGrades(scores, "score", memberOf(meta["score"], "value"))
	for scorer, score := range membersOf(meta["scores"]) {
		scores = appendGrades(scores, scorer, memberOf(score, "value"))
	}
	return scores
}

// appendGrades appends what a scorer gave; null is nothing.
func appendGrades(scores []Score, name string, value json.RawMessage) []Score {
	if isNull(value) {
		return scores
	}
	if value[0] != '{' {
		return append(scores, scoreOf(name, value))
	}
	for key, v := range membersOf(value) {
		if !isNull(v) {
			scores = append(scores, scoreOf(name+"/"+key, v))
		}
	}
	return scores
}
