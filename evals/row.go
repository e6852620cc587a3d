package evals

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"hash"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/looptape/looptape/evals/facts"
	"github.com/looptape/looptape/llm"
	"github.com/looptape/looptape/trace"
	"github.com/looptape/looptape/trace/importer"
)

// Row is what is kept of a run that was scored. Its texts are UTF-8.
type Row struct {
	// Case names what the run was to do: what the recording says, or else the first
	// words of the user, or else the run's name. Of words that are longer than a line
	// the beginning is kept, and a digest.
	Case string `json:"case"`

	// Epoch tells the runs of a case apart, from 0. It is importer.NoEpoch where the
	// recording does not say it. Such runs are told apart by their content, so that the
	// order of files does not matter.
	Epoch int `json:"epoch"`

	// Cluster names what cases have in common; empty where each case stands for itself.
	Cluster string `json:"cluster,omitempty"`

	// Run, File and Line say where the run stands.
	Run  string `json:"run"`
	File string `json:"file"`
	Line int    `json:"line"`

	// Digest is that of the run's content, where Epoch is importer.NoEpoch.
	Digest string `json:"digest,omitempty"`

	// Scores are the values by metric. Errors says of others why there is none. A metric
	// that is in neither is missing.
	Scores ByName[float64] `json:"scores"`
	Errors ByName[string]  `json:"errors,omitempty"`

	// Explanations say of scores, by metric, what was expected and what came.
	Explanations ByName[string] `json:"explanations,omitempty"`

	// Gradings are what models said that graded the run, by metric.
	Gradings ByName[Grading] `json:"gradings,omitempty"`

	// Usage is what the run's model calls took, those of the runs that it started among
	// them; Cost is in the money of the recording, and Latency how long the run was. All
	// are 0 where the recording does not tell them.
	Usage   llm.Usage     `json:"usage,omitzero"`
	Cost    float64       `json:"cost,omitzero"`
	Latency time.Duration `json:"latency_ns,omitzero"`

	// Steps counts the answers of the model and Calls, by the name of the tool, its tool
	// calls: those of the run itself, as package facts tells them.
	Steps int           `json:"steps,omitzero"`
	Calls ByName[Calls] `json:"calls,omitempty"`

	part string // the file of the result that it was read from, if it was
}

// CaseOf is the case of a run, as its row has it.
func CaseOf(run *importer.Run) string {
	return cloneText(cmp.Or(run.Case, shorten(firstPrompt(run)), run.Name))
}

// rowOf is the row of a run, without scores. What other rows have, too, may share memory
// with the run; see texts.
func rowOf(file string, run *importer.Run) Row {
	spent, said := run.Resources(), facts.Read(run)
	r := Row{
		Case: CaseOf(run), Epoch: run.Epoch,
		Cluster: validText(run.Cluster), Run: cloneText(run.Name), File: validText(file), Line: run.Line,
		Usage: spent.Usage, Cost: spent.Cost, Latency: spent.Latency,
		Steps: said.Steps, Calls: callsOf(said.Calls),
	}
	if r.Epoch == importer.NoEpoch {
		r.Digest = digest(run)
	}
	return r
}

// valid is a text as a file of JSON can have it: what is not UTF-8 would be another text
// when it is read again.
func validText(text string) string { return strings.ToValidUTF8(text, "\uFFFD") }

// kept is a valid text of its own.
func cloneText(text string) string { return strings.Clone(validText(text)) }

// texts are those that many rows have, one of each.
type interner map[string]string

func (t interner) one(text *string) {
	own, ok := t[*text]
	if !ok {
		own = strings.Clone(*text)
		t[own] = own
	}
	*text = own
}

// share has a row take from texts what other rows have, too.
func (t interner) share(r *Row) {
	t.one(&r.File)
	t.one(&r.Cluster)
	r.Scores.share(t)
	r.Errors.share(t)
	r.Explanations.share(t)
	r.Gradings.share(t)
	r.Calls.share(t)
}

// abridge leaves out texts that no figure is made of.
func (r *Row) removeTexts() {
	r.Explanations = nil
	for i := range r.Gradings {
		r.Gradings[i].Value.Responses = nil
	}
}

// asked is the text of the first message of the user.
func firstPrompt(run *importer.Run) string {
	messages := run.Messages
	for _, ev := range run.Events {
		if req, ok := ev.Body.(trace.ModelRequest); ok {
			messages = req.NewMessages
			break
		}
	}
	for _, m := range messages {
		if m.Role == llm.RoleUser {
			return m.Text()
		}
	}
	return ""
}

// shortened is a text, or if it is a long one, its beginning and its digest.
func shorten(text string) string {
	const most = 200 // bytes
	if len(text) <= most {
		return text
	}
	end := most - 1
	for end > 0 && !utf8.RuneStart(text[end]) {
		end--
	}
	h := sha256.New()
	h.Write([]byte(text))
	return text[:end] + "… " + sum(h)
}

// digest is that of all that the recording says of a run, but for its name and its
// place.
func digest(run *importer.Run) string {
	h := sha256.New()
	var buf []byte
	for _, key := range slices.Sorted(maps.Keys(run.Meta)) {
		h.Write(strconv.AppendQuote(buf[:0], key))
		h.Write(run.Meta[key])
	}
	for _, m := range run.Messages {
		buf = m.AppendJSON(buf[:0])
		h.Write(buf)
	}
	for _, ev := range run.Events {
		ev.Run = ""
		buf = trace.AppendEvent(buf[:0], &ev)
		h.Write(buf)
	}
	return sum(h)
}

// sum is what a digest is written as: half of it is more than enough to tell the runs
// of a case apart.
func sum(h hash.Hash) string { return hex.EncodeToString(h.Sum(nil)[:16]) }

// compare is the order of rows. The place, which takes longer to compare, is rarely
// needed.
func (r *Row) compare(o *Row) int {
	if by := cmp.Or(cmp.Compare(r.Case, o.Case), r.compareEpochs(o), cmp.Compare(r.Digest, o.Digest)); by != 0 {
		return by
	}
	return cmp.Or(cmp.Compare(r.File, o.File), cmp.Compare(r.Line, o.Line), cmp.Compare(r.Run, o.Run))
}

// compareEpochs puts runs without an epoch last.
func (r *Row) compareEpochs(o *Row) int {
	if (r.Epoch < 0) != (o.Epoch < 0) {
		return cmp.Compare(o.Epoch, r.Epoch)
	}
	return cmp.Compare(r.Epoch, o.Epoch)
}

// same reports whether two rows that follow each other are of the same run.
func (r *Row) same(o *Row) bool {
	if r.Case != o.Case || r.Epoch != o.Epoch {
		return false
	}
	return r.Epoch >= 0 || r.File == o.File && r.Line == o.Line && r.Run == o.Run
}

// place says where the run stands.
func (r *Row) place() string {
	text := fmt.Sprintf("%s:%d (%s", r.File, r.Line, r.Run)
	if r.part != "" {
		text += ", in the part " + r.part
	}
	return text + ")"
}
