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
	conv := conversation{inspect: true}
	conv.sample(d, run, "messages", conv.list)
}

// sample reads a sample whose messages are told by the member of a name.
func (c *conversation) sample(d *jsonio.Dec, run *Run, name string, messages func(*jsonio.Dec) []llm.Message) {
	var list jsonio.Dec
	run.members(d, func(key string) bool {
		if key != name {
			return false
		}
		list = *d // what they refer to stands behind them
		d.Raw()
		return true
	})
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
	run.Expected = wanted(run.Meta["target"])
	run.Scores = sampleScores(run.Meta)
	c.beside = run.Meta
	run.Answer = c.completion(run.Meta["output"])
	if list.Peek() == 0 || list.Null() {
		return
	}
	run.Messages = messages(&list)
	if list.Err() != nil {
		*d = list // tells the place of what is wrong
	}
}

// completion returns the final text that an output names: its completion or, from before
// there was one, the text of its first choice.
func (c *conversation) completion(output json.RawMessage) (text string) {
	if text, ok := textOf(memberOf(output, "completion")); ok {
		return c.resolve(text)
	}
	d := jsonio.NewDec(jsonio.View(memberOf(elementOf(memberOf(output, "choices"), "0"), "message")))
	for _, m := range c.add(nil, &d) {
		text += m.Text()
	}
	return text
}

// A text that begins with one of these names the text that is meant. It stands among the
// attachments of its sample, once for all that refer to it.
const (
	attachmentScheme = "attachment://"
	oldScheme        = "tc://"
)

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
	if !ok {
		return text
	}
	if c.attached == nil {
		c.attached = attachments(c.beside)
	}
	if meant, found := c.attached[name]; found {
		return meant
	}
	return text
}

// picture is an image at a URL that a text is or refers to. One that is referred to often
// is decoded once.
func (c *conversation) picture(text string, rest json.RawMessage) llm.Part {
	m, ok := c.pictures[text]
	if !ok {
		m = picture(c.resolve(text), nil)
		if c.pictures == nil {
			c.pictures = map[string]llm.Media{}
		}
		c.pictures[text] = m
	}
	m.Opaque = rest
	return m
}

// inspectPart reads a content part: a Content of
// https://inspect.aisi.org.uk/reference/inspect_ai.model.html. One of a kind that llm has
// no word for is kept whole, as the "value" of an llm.Unknown whose own kind begins with
// "inspect.".
func (c *conversation) inspectPart(d *jsonio.Dec) llm.Part {
	whole := json.RawMessage(d.Raw())
	kind, _ := textOf(memberOf(whole, "type"))
	text, ok := textOf(memberOf(whole, kind))
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
		return llm.Text{Text: c.resolve(text), Refusal: refusal, Opaque: rest.json()}
	case ok && kind == "reasoning" && redacted:
		return llm.Reasoning{Opaque: whole} // its text is for the provider only
	case ok && kind == "reasoning":
		return llm.Reasoning{Text: c.resolve(text), Opaque: rest.json()}
	case ok && kind == "image":
		return c.picture(text, rest.json())
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
