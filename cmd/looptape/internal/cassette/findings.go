package cassette

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/looptape/looptape/cmd/looptape/internal/cli"
	"github.com/looptape/looptape/internal/tabular"
	"github.com/looptape/looptape/internal/testreport"
)

// findings is the result of verify and the output of --format json.
type findings struct {
	Files    int       `json:"files"`
	Findings []finding `json:"findings"`
	Updated  []updated `json:"updated,omitempty"`
}

var findingsJSON = cli.NewJSON("cassette-verify", 1, "cassette verify --format json", findings{})

// finding is a problem of a recording.
type finding struct {
	File        string `json:"file"`
	Line        int    `json:"line,omitempty"`
	Interaction int    `json:"interaction,omitempty"` // from 1
	Kind        string `json:"kind"`
	Message     string `json:"message"`
	// Lost means that updating the checksums cannot repair the file.
	Lost bool `json:"-"`
}

// updated is a cassette whose checksums were updated.
type updated struct {
	File    string   `json:"file"`
	Changed []string `json:"changed"`
}

// The kinds of findings.
const (
	kindLoad    = "load"
	kindSecret  = "secret"
	kindStale   = "stale"
	kindJournal = "journal"
	kindUnused  = "unused"
	kindEmpty   = "empty"
)

// advice is what to do about the findings of a kind.
type advice struct {
	kind, text string
	lost       bool // the advice for a file that cannot be repaired
}

// advices returns the advice for each kind of finding, in order.
func advices() []advice {
	const restore = "otherwise record it again or restore it from version control"
	return []advice{
		{kindLoad, "follow the finding; " + restore, true},
		{kindLoad, "after a manual edit: looptape cassette verify --update-checksums; " + restore, false},
		{kindSecret, "looptape cassette scrub redacts known names and forms; --secret names more, --not-secret names exceptions; revoke a secret that was committed", false},
		{kindStale, "record it again", false},
		{kindJournal, "looptape cassette convert FILE.tape.journal -o FILE.tape makes a cassette of it; then remove the journal", false},
		{kindUnused, "remove it and update the checksums, or record again; remove a file that no test opens", false},
		{kindEmpty, "record it again, or remove it: a test without requests needs no cassette", false},
	}
}

// print prints the findings and returns the exit status.
func (v *verifier) print(format string) error {
	status := cli.Result(len(v.Findings) > 0, len(v.unreadable) > 0)
	switch format {
	case "json":
		v.w.JSON(findingsJSON.Of(v.findings))
		return status
	case "github":
		return cli.Annotations(v.w, v.report(), status)
	}
	for _, s := range v.Updated {
		v.w.Printf("%s: checksums updated:\n  %s\n", s.File, strings.Join(s.Changed, "\n  "))
	}
	list := advices()
	counts := make([]int, len(list))
	var rows, hints [][]string
	for _, f := range v.Findings {
		place := f.File
		if f.Line > 0 {
			place += ":" + strconv.Itoa(f.Line)
		}
		rows = append(rows, []string{place, tabular.Count(f.Interaction), f.Kind, f.Message})
		counts[slices.IndexFunc(list, func(a advice) bool { return a.kind == f.Kind && a.lost == f.Lost })]++
	}
	for i, a := range list {
		if counts[i] > 0 {
			hints = append(hints, []string{strconv.Itoa(counts[i]), a.kind, a.text})
		}
	}
	v.w.Table([]string{"file", "#", "kind", "finding"}, rows)
	v.w.Table([]string{"count", "kind", "advice"}, hints)
	v.w.ResultLine(v.summary(), status == nil)
	return status
}

func (v *verifier) summary() string {
	return fmt.Sprintf("%s verified: %s", cli.Count(v.Files, "file"), cli.Count(len(v.Findings), "finding"))
}

// report returns the result for CI systems: a test for each kind of finding, and one for unreadable files.
func (v *verifier) report() *testreport.Report {
	r := &testreport.Report{Name: "looptape cassette verify", Summary: v.summary()}
	for _, a := range advices() {
		if a.lost { // the kind has another advice
			continue
		}
		kind := a.kind
		t := testreport.Test{Class: "cassettes", Name: kind}
		for _, f := range v.Findings {
			if f.Kind == kind {
				t.Findings = append(t.Findings, testreport.Finding{Type: kind, Message: f.Message, Text: f.File + ": " + kind + ": " + f.Message, File: f.File, Line: f.Line})
			}
		}
		r.Tests = append(r.Tests, t)
	}
	for _, err := range v.unreadable {
		f := testreport.Finding{Type: "unreadable", Message: err.Error(), Level: testreport.Error}
		r.Tests = append(r.Tests, testreport.Test{Class: "files", Name: "unreadable", Findings: []testreport.Finding{f}})
	}
	return r
}
