package format

import (
	"cmp"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/looptape/looptape/internal/jsonio"
	"github.com/looptape/looptape/llm"
	"github.com/looptape/looptape/trace/importer/internal/message"
	"github.com/looptape/looptape/trace/importer/internal/tree"
)

// SniffInspect recognizes logs of Inspect, in JSON or as a ZIP.
func SniffInspect(h *Head) (Layout, bool) {
	for _, magic := range []string{"PK\x03\x04", "PK\x05\x06"} { // the latter for no entries
		if strings.HasPrefix(string(h.Bytes[:min(len(magic), len(h.Bytes))]), magic) {
			return Layout{Zip: true}, true
		}
	}
	return Layout{Path: []string{"samples"}}, h.Object && h.Has("eval") && h.Has("version", "status", "plan", "samples")
}

// InspectSamples returns how many samples a log with this head must have: those that were completed and, if the
// evaluation succeeded, all of it. The ids of the samples, if the head has them, limit both.
func InspectSamples(head map[string]json.RawMessage) int {
	number := func(raw json.RawMessage, names ...string) int {
		n, _ := strconv.Atoi(tree.Scalar(raw, names...))
		return n
	}
	named := number(head["results"], "completed_samples")
	if tree.Scalar(head["status"]) == "success" {
		named = max(named, number(head["results"], "total_samples"))
	}
	ids := 0
	for range tree.Elements(head["eval"], "dataset", "sample_ids") {
		ids++
	}
	if ids > 0 {
		named = min(named, ids*max(1, number(head["eval"], "config", "epochs")))
	}
	return named
}

// Inspect reads a sample of a log: an EvalSample of
// https://inspect.aisi.org.uk/reference/inspect_ai.log.html, of any version.
func Inspect(d *jsonio.Dec, run *Run) {
	s := NewSample()
	s.read(d, run, "messages", s.reader.List)
}

// Sample reads a sample of Inspect. Its messages may refer to texts in attachments.
type Sample struct {
	reader      message.Reader
	meta        map[string]json.RawMessage // of the sample, once it is read
	attachments map[string]string          // by name; nil until a string refers to one
	images      map[string]llm.Media       // decoded, by the text or the reference
	messages    map[int]llm.Message        // of a chunked sample, by number
	events      tree.List                  // of a chunked sample
	texts       tree.Object                // the attachments of a chunked sample, by number
	missing     []string                   // references to attachments that the sample does not have
}

// NewSample returns a reader of one sample.
func NewSample() *Sample {
	s := &Sample{}
	s.reader.Part, s.reader.Resolve = s.part, s.resolve
	return s
}

// read reads a sample whose messages are in the member with this name.
func (s *Sample) read(d *jsonio.Dec, run *Run, name string, messages func(*jsonio.Dec) []llm.Message) {
	var list jsonio.Dec
	run.Members(d, func() {
		list = *d // read later: the attachments follow
		d.Raw()
	}, name)
	if run.Case = tree.Scalar(run.Meta["id"]); run.Case == "" {
		d.Fail("the sample has no id")
	}
	if d.Err() != nil {
		return
	}
	run.Epoch = EpochOf(run.Meta["epoch"])
	run.Name = "sample-" + run.Case
	if run.Epoch != NoEpoch {
		run.Name += "/epoch-" + strconv.Itoa(run.Epoch)
	}
	run.Expected = ExpectedOf(run.Meta["target"])
	// The first versions had one scorer without a name.
	run.inspectScores("score", "score", run.Meta["score"])
	run.reportNotObject("scores", run.Meta["scores"])
	for scorer, score := range tree.Members(run.Meta["scores"]) {
		run.inspectScores("scores."+scorer, scorer, score)
	}
	s.meta = run.Meta
	run.Answer = s.completion(run.Meta["output"])
	defer func() {
		for _, text := range s.missing {
			run.ReportUnknown("", "the sample does not have the attachment %q", text)
		}
	}()
	if list.Peek() != 0 && !list.Null() {
		run.Messages = messages(&list)
	}
	if list.Err() != nil {
		*d = list // has the place of the error
		return
	}
	s.reportChoices(run, tree.Member(run.Meta["output"], "choices"))
}

// reportChoices reports the choices of an output that the messages do not have. The text of the first one is the answer.
func (s *Sample) reportChoices(run *Run, choices json.RawMessage) {
	for n, choice := range run.Objects("output.choices", choices) {
		m := tree.Member(choice, "message")
		calls := tree.Member(m, "tool_calls")
		isRead := message.IsEmpty(calls) || !message.HasOtherCalls(calls, run.Messages)
		if n > 0 {
			reader := message.Reader{Part: s.part, Resolve: s.resolve}
			d := jsonio.NewDec(jsonio.View(m))
			read := reader.Add(nil, &d)
			isRead = len(read) == 1 && slices.ContainsFunc(run.Messages, func(m llm.Message) bool { return said(&m) == said(&read[0]) })
		}
		if !isRead {
			run.ReportUnknown("output.choices["+strconv.Itoa(n)+"]", "the message is not one of the run, and it is not read")
		}
	}
}

// inspectScores adds the value of a score, at a path within the run. Of an object, each member is a score with the
// name scorer/member.
func (r *Run) inspectScores(path, name string, score json.RawMessage) {
	r.reportNotObject(path, score)
	value := tree.Member(score, "value")
	if value == nil && tree.Without(score) != nil {
		r.ReportUnknown(path, "the score has no value; it has the members %s", tree.Names(score))
	}
	if len(value) == 0 || value[0] != '{' {
		r.addScore(name, value)
		return
	}
	for key, v := range tree.Members(value) {
		r.addScore(name+"/"+key, v)
	}
}

// completion returns the final answer that an output has: its completion or, in older
// versions, the text of its first choice.
func (s *Sample) completion(output json.RawMessage) (text string) {
	if text, ok := tree.Text(output, "completion"); ok {
		return s.resolve(text)
	}
	d := jsonio.NewDec(jsonio.View(tree.Member(tree.Element(tree.Member(output, "choices"), "0"), "message")))
	for _, m := range s.reader.Add(nil, &d) {
		text += m.Text()
	}
	return text
}

// resolve returns the text of an attachment if the text refers to one, or the text itself.
// The second scheme is from older versions.
func (s *Sample) resolve(text string) string {
	name, ok := strings.CutPrefix(text, "attachment://")
	if !ok {
		name, ok = strings.CutPrefix(text, "tc://")
	}
	if !ok {
		return text
	}
	if s.attachments == nil {
		s.attachments = map[string]string{}
		raw, found := s.meta["attachments"]
		if !found { // older versions
			raw = tree.Member(s.meta["transcript"], "content")
		}
		for name, value := range tree.Members(raw) {
			if text, ok := tree.Text(value); ok {
				s.attachments[name] = text
			}
		}
	}
	if attached, found := s.attachments[name]; found {
		return attached
	}
	if !slices.Contains(s.missing, text) {
		s.missing = append(s.missing, text)
	}
	return text
}

// image returns the image at a URL or in an attachment, which it decodes once.
func (s *Sample) image(text string, rest json.RawMessage) llm.Part {
	m, ok := s.images[text]
	if !ok {
		m = message.Image(s.resolve(text), nil)
		if s.images == nil {
			s.images = map[string]llm.Media{}
		}
		s.images[text] = m
	}
	m.Opaque = rest
	return m
}

// part reads a Content of https://inspect.aisi.org.uk/reference/inspect_ai.model.html. A
// part of a kind that llm does not have is kept whole; see [message.Unknown].
func (s *Sample) part(d *jsonio.Dec) llm.Part {
	whole := json.RawMessage(d.Raw())
	kind, _ := tree.Text(whole, "type")
	text, ok := tree.Text(whole, kind)
	var refusal, redacted bool
	var rest tree.Object
	for key, value := range tree.Members(whole) {
		switch {
		case key == "type" || key == kind:
		case key == "refusal":
			refusal = tree.IsTrue(value)
		default:
			redacted = redacted || key == "redacted" && tree.IsTrue(value)
			rest.Add(key, value)
		}
	}
	switch {
	case ok && kind == "text":
		return llm.Text{Text: s.resolve(text), Refusal: refusal, Opaque: rest.JSON()}
	case ok && kind == "reasoning" && redacted:
		return llm.Reasoning{Opaque: whole} // only the provider can read its text
	case ok && kind == "reasoning":
		summary := tree.Scalar(whole, "summary") // of a reasoning that the provider does not show
		return llm.Reasoning{Text: s.resolve(cmp.Or(text, summary)), Opaque: rest.JSON()}
	case ok && kind == "image":
		return s.image(text, rest.JSON())
	}
	return message.Unknown("inspect."+kind, string(whole))
}

// Attachments reads a list of attachments of a chunked sample. The first has the number n.
func (s *Sample) Attachments(d *jsonio.Dec, n int) {
	if s.attachments == nil {
		s.attachments = map[string]string{}
	}
	for i := range d.Elements() {
		from := *d
		number := strconv.Itoa(n + i)
		if s.attachments[number] = d.String(); d.Err() == nil {
			s.texts.Raw(number, from.Raw())
		}
	}
}

// Events reads a list of events of a chunked sample, which come in order.
func (s *Sample) Events(d *jsonio.Dec, _ int) {
	for range d.Elements() {
		if raw := d.Raw(); d.Err() == nil {
			s.events.Add(json.RawMessage(raw))
		}
	}
}

// Messages reads a list of messages of a chunked sample. The first has the number n.
func (s *Sample) Messages(d *jsonio.Dec, n int) {
	if s.messages == nil {
		s.messages = map[int]llm.Message{}
	}
	for i, m := range s.reader.List(d) {
		s.messages[n+i] = m
	}
}

// Chunked reads a chunked sample, which refers to its messages by number, once its messages
// and attachments are read. Metadata may be nil.
func (s *Sample) Chunked(d *jsonio.Dec, run *Run, metadata json.RawMessage) {
	if s.attachments == nil {
		s.attachments = map[string]string{}
	}
	found := false
	s.read(d, run, "message_refs", func(refs *jsonio.Dec) []llm.Message {
		found = true
		return s.referenced(refs)
	})
	if !found {
		d.Fail("the sample has no message_refs")
	}
	for name, value := range map[string]json.RawMessage{"metadata": metadata, "attachments": s.texts.JSON()} {
		if value != nil && run.Meta != nil {
			run.Meta[name] = value
		}
	}
	if s.events != nil && run.Meta != nil {
		run.Meta["events"] = s.events.JSON()
	}
}

// referenced returns the messages in a list of ranges. A range has the number of its first
// message and the number after its last.
func (s *Sample) referenced(refs *jsonio.Dec) (messages []llm.Message) {
	const maxMessages = 1 << 20 // a few bytes can refer to any number of messages
	for range refs.Elements() {
		var ends []int
		for range refs.Elements() {
			ends = append(ends, int(refs.Int()))
		}
		if len(ends) != 2 {
			refs.Fail("expected the numbers of the first message and of the one after the last")
			return messages
		}
		for n := ends[0]; n < ends[1]; n++ {
			m, ok := s.messages[n]
			if !ok {
				refs.Fail(fmt.Sprintf("the message %d is missing or could not be read", n))
				return messages
			}
			if len(messages) == maxMessages {
				refs.Fail(fmt.Sprintf("the sample refers to more than %d messages", maxMessages))
				return messages
			}
			messages = append(messages, m)
		}
	}
	return messages
}
