package evals

import (
	"bufio"
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

	"github.com/looptape/looptape/evals/facts"
	"github.com/looptape/looptape/llm"
	"github.com/looptape/looptape/trace/importer"
)

// Row is the stored result of a run. Its strings are UTF-8.
type Row struct {
	// Case names the task: the case in the recording, or else the first user message, or else the
	// name of the run. Long messages are shortened and get a digest.
	Case string `json:"case"`

	// Epoch distinguishes the runs of a case, from 0. It is importer.NoEpoch if the recording has
	// none; Digest distinguishes such runs, so that the order of files does not matter.
	Epoch int `json:"epoch"`

	// Cluster names what cases share; empty if each case is independent.
	Cluster string `json:"cluster,omitempty"`

	// Tags are the tags of the case in the dataset, sorted.
	Tags []string `json:"tags,omitempty"`
	// NoRun marks a case of the dataset of which there is no run. File and Line locate the case.
	NoRun bool `json:"no_run,omitempty"`

	// Run, File and Line locate the run.
	Run  string `json:"run"`
	File string `json:"file"`
	Line int    `json:"line"`

	// Digest is the digest of the content if Epoch is importer.NoEpoch.
	Digest string `json:"digest,omitempty"`
	// DigestVersion is 1 if the digest is from a score file of version 1. It differs from the
	// digest of the same run in version 2, whose members have other names.
	DigestVersion int `json:"digest_version,omitempty"`

	// Scores are the values by metric. Errors are the reasons for failed scores. A metric in
	// neither is missing.
	Scores ByName[float64] `json:"scores"`
	Errors ByName[string]  `json:"errors,omitempty"`

	// Explanations describe, by metric, what was expected and what the run did.
	Explanations ByName[string] `json:"explanations,omitempty"`

	// Findings are the rules that the run breaks, by metric.
	Findings ByName[[]string] `json:"findings,omitempty"`

	// Gradings are the responses of models that graded the run, by metric.
	Gradings ByName[Grading] `json:"gradings,omitempty"`

	// Usage is the usage of the model calls of the run and of the runs that it started. Cost is
	// in the currency of the recording; Latency is the duration. All are 0 if unknown.
	Usage   llm.Usage     `json:"usage,omitzero"`
	Cost    float64       `json:"cost,omitzero"`
	Latency time.Duration `json:"latency_ns,omitzero"`

	// Steps counts the model responses and Calls the tool calls by tool, of the run itself; see
	// package facts.
	Steps int           `json:"steps,omitzero"`
	Calls ByName[Calls] `json:"calls,omitempty"`

	part string // score file of the row, if any
}

// rowOf returns the row of a run without scores; started is the usage of the runs that it started.
// It may share memory with the run.
func rowOf(file string, run *importer.Run, started llm.Usage, d *digester) Row {
	used, f := run.Resources(), facts.Read(run)
	r := Row{
		Case: run.CaseName(), Epoch: run.Epoch,
		Cluster: validText(run.Cluster), Run: validText(run.Name), File: validText(file), Line: run.Line,
		Usage: used.Usage.Add(started), Cost: used.Cost, Latency: used.Latency,
		Steps: f.Steps, Calls: callsOf(f.Calls),
	}
	if r.Epoch == importer.NoEpoch {
		r.Digest = d.digest(run)
	}
	return r
}

// validText replaces invalid UTF-8, which JSON would change.
func validText(text string) string { return strings.ToValidUTF8(text, "\uFFFD") }

// cloneText returns valid text that shares no memory.
func cloneText(text string) string { return strings.Clone(validText(text)) }

// removeTexts removes texts that no statistic needs.
func (r *Row) removeTexts() {
	r.Explanations = nil
	for i := range r.Gradings {
		r.Gradings[i].Value.Responses = nil
	}
}

// digester computes digests. The zero value is ready for use.
type digester struct {
	hash  hash.Hash
	out   *bufio.Writer // to the hash
	names []string      // of the members of the last run, sorted
}

// digest returns the digest of a run, without its name and position.
func (d *digester) digest(run *importer.Run) string {
	if d.hash == nil {
		d.hash = sha256.New()
		d.out = bufio.NewWriter(d.hash)
	}
	isOther := func(name string) bool { return run.Meta[name] == nil }
	if len(d.names) != len(run.Meta) || slices.ContainsFunc(d.names, isOther) {
		d.names = slices.Sorted(maps.Keys(run.Meta))
	}
	d.hash.Reset()
	write := func(b []byte) { _, _ = d.out.Write(b) } // a hash returns no error
	for _, name := range d.names {
		write(strconv.AppendQuote(d.out.AvailableBuffer(), name))
		write(run.Meta[name])
	}
	for _, m := range run.Messages {
		write(m.AppendJSON(d.out.AvailableBuffer()))
	}
	for _, ev := range run.Events {
		ev.Run = ""
		write(ev.AppendJSON(d.out.AvailableBuffer()))
	}
	_ = d.out.Flush()
	return half(d.hash.Sum(nil))
}

// half returns half of a digest, enough to distinguish the runs of a case.
func half(digest []byte) string { return hex.EncodeToString(digest[:16]) }

// compare orders rows. As unsigned numbers, missing epochs are last. The position is rarely needed
// and compared last.
func (r *Row) compare(o *Row) int {
	epochs := cmp.Compare(uint(r.Epoch), uint(o.Epoch))
	if by := cmp.Or(cmp.Compare(r.Case, o.Case), epochs, cmp.Compare(r.Digest, o.Digest)); by != 0 {
		return by
	}
	return r.comparePlaces(o)
}

func (r *Row) comparePlaces(o *Row) int {
	return cmp.Or(cmp.Compare(r.File, o.File), cmp.Compare(r.Line, o.Line), cmp.Compare(r.Run, o.Run))
}

// same reports whether two neighbors are the same run.
func (r *Row) same(o *Row) bool {
	return r.Case == o.Case && r.Epoch == o.Epoch && (r.Epoch >= 0 || r.comparePlaces(o) == 0)
}

// place returns the position of the run for messages.
func (r *Row) place() string {
	text := fmt.Sprintf("%s:%d (%s", r.File, r.Line, r.Run)
	if r.part != "" {
		text += ", in the score file " + r.part
	}
	return text + ")"
}
