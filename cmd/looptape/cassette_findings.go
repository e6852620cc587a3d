package main

import (
	"fmt"
	"strconv"
	"strings"
)

// findings is the result of verify and the output of --format json.
type findings struct {
	Files    int       `json:"files"`
	Findings []finding `json:"findings"`
	Updated  []updated `json:"updated,omitempty"`
}

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
)

// lostHint is the advice for a file that cannot be loaded or repaired.
const lostHint = "follow the finding; otherwise record it again or restore it from version control"

// hints returns the advice for each kind of finding.
func hints() map[string]string {
	return map[string]string{
		kindLoad:    "after a manual edit: looptape cassette verify --update-checksums; otherwise record it again or restore it from version control",
		kindSecret:  "looptape cassette scrub redacts known names and forms; --secret names more, --not-secret names exceptions; revoke a secret that was committed",
		kindStale:   "record it again",
		kindJournal: "looptape cassette convert FILE.tape.journal -o FILE.tape makes a cassette of it; then remove the journal",
		kindUnused:  "remove it and update the checksums, or record again; remove a file that no test opens",
	}
}

func (v *verifier) print(format string) error {
	if format == "json" {
		return printJSON(v.w.out, v.findings)
	}
	text := ""
	for _, s := range v.Updated {
		text += s.File + ": checksums updated:\n  " + strings.Join(s.Changed, "\n  ") + "\n"
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
	if err := printTable(v.w, []string{"count", "kind", "advice"}, advice); err != nil {
		return err
	}
	return printResultLine(v.w, fmt.Sprintf("%s verified: %s", count(v.Files, "file"), count(len(v.Findings), "finding")), v.status() == nil)
}
