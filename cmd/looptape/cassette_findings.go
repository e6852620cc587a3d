package main

import (
	"fmt"
	"strconv"
	"strings"
)

// verdict is what verify found; its JSON is what --format json prints.
type verdict struct {
	Files    int       `json:"files"`
	Findings []finding `json:"findings"`
	Sealed   []sealed  `json:"sealed,omitempty"`
}

// finding is something that is wrong with a recording.
type finding struct {
	File        string `json:"file"`
	Line        int    `json:"line,omitempty"`
	Interaction int    `json:"interaction,omitempty"` // from 1
	Kind        string `json:"kind"`
	Message     string `json:"message"`
	// Lost says that the file cannot be sealed again.
	Lost bool `json:"-"`
}

// sealed is a cassette that was sealed again.
type sealed struct {
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
)

// lostHint says what to do about a file that can neither be loaded nor sealed again.
const lostHint = "what the finding says; else record it again, or take it from version control"

// hints says what to do about the findings of a kind.
func hints() map[string]string {
	return map[string]string{
		kindLoad:    "after an edit by hand: looptape cassette verify --reseal; else record it again, or take it from version control",
		kindSecret:  "looptape cassette scrub takes out what a name or its form tells; --secret names more, --opaque what is none; a secret that was committed is no secret any more",
		kindStale:   "record it again",
		kindJournal: "looptape cassette convert FILE.tape.journal -o FILE.tape makes a cassette of it; then, or to give it up, remove the journal",
		kindUnused:  "remove it and seal the rest, or record again; a file that nothing opens can go",
	}
}

func (v *verifier) print(format string) error {
	if format == "json" {
		return printJSON(v.w.out, v.verdict)
	}
	text := ""
	for _, s := range v.Sealed {
		text += s.File + ": sealed; what was changed:\n  " + strings.Join(s.Changed, "\n  ") + "\n"
	}
	if _, err := fmt.Fprint(v.w.out, text); err != nil {
		return err
	}
	counts := map[string]int{}
	lost := 0
	var rows, advice [][]string
	for _, f := range v.Findings {
		place, number := f.File, ""
		if f.Line > 0 {
			place += ":" + strconv.Itoa(f.Line)
		}
		if f.Interaction > 0 {
			number = strconv.Itoa(f.Interaction)
		}
		rows = append(rows, []string{place, number, f.Kind, f.Message})
		if f.Lost {
			lost++
		} else {
			counts[f.Kind]++
		}
	}
	if lost > 0 {
		advice = append(advice, []string{strconv.Itoa(lost), kindLoad, lostHint})
	}
	for _, kind := range []string{kindLoad, kindSecret, kindStale, kindJournal, kindUnused} {
		if n := counts[kind]; n > 0 {
			advice = append(advice, []string{strconv.Itoa(n), kind, hints()[kind]})
		}
	}
	if err := printTable(v.w, []string{"file", "#", "kind", "finding"}, rows); err != nil {
		return err
	}
	if err := printTable(v.w, []string{"count", "kind", "what to do"}, advice); err != nil {
		return err
	}
	return printVerdict(v.w, fmt.Sprintf("%s verified: %s", count(v.Files, "file"), count(len(v.Findings), "finding")), v.status() == nil)
}
