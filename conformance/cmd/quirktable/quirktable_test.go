package main

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/looptape/looptape/conformance/node"
	"github.com/looptape/looptape/fake/wire"
)

// committed reads the page, its clients and its rows.
func committed(t *testing.T) (text string, all []client, list []row) {
	t.Helper()
	root, err := top()
	if err != nil {
		t.Fatal(err)
	}
	if all, err = newClients(root); err != nil {
		t.Fatal(err)
	}
	if list, err = rows(root); err != nil {
		t.Fatal(err)
	}
	b, err := os.ReadFile(filepath.Join(root, page))
	if err != nil {
		t.Fatal(err)
	}
	return string(b), all, list
}

// again is the advice for a page that is not current.
const again = "run go run ./cmd/quirktable in conformance"

// TestPageIsCurrent checks that the page has the versions of the clients in use, and each quirk in
// the table of each of its protocols.
func TestPageIsCurrent(t *testing.T) {
	text, all, list := committed(t)
	if want := clientTable(all); !strings.Contains(text, want) {
		t.Errorf("the clients of %s are not current: %s\n%s", page, again, want)
	}
	output := cells(text)
	for at := range output {
		if !slices.ContainsFunc(list, func(r row) bool { return r.name == at[1] }) {
			t.Errorf("%s, %s: unknown quirk %s: %s", page, at[0], at[1], again)
		}
	}
	for _, title := range titles {
		for _, r := range list {
			there := output[[3]string{title.title, r.name, looptape.name}] != ""
			if there != slices.Contains(r.form.Protocols, title.protocol) || there && !strings.Contains(text, "| "+r.name+" | "+r.form.Description+" |") {
				t.Errorf("%s, %s: %s is listed: %t, or has another description: %s", page, title.title, r.name, there, again)
			}
		}
	}
}

// sample has one quirk per protocol, and the row without a quirk.
var sample = []string{"none", "QO-05@1", "QR-05:completed@1", "QA-11@1", "QG-03@1"}

// TestSampleIsCurrent runs a few quirks and compares the results with the page.
func TestSampleIsCurrent(t *testing.T) {
	if _, err := node.Dir(); err != nil {
		if os.Getenv("LOOPTAPE_NPM") != "" {
			t.Fatal(err)
		}
		t.Skip(err)
	}
	text, all, list := committed(t)
	few := slices.DeleteFunc(list, func(r row) bool { return !slices.Contains(sample, r.name) })
	if len(few) != len(sample) {
		t.Fatalf("rows of %q: got %d", sample, len(few))
	}
	if raceDetector {
		t.Log("without eino: the Anthropic model of eino-ext v0.1.15 has a data race")
		all = slices.DeleteFunc(all, func(p client) bool { return p.name == "eino" })
	}
	output := cells(text)
	found, err := runner{jobs: 2, log: t.Output(), why: true}.run(t.Context(), all, few)
	if err != nil {
		t.Fatal(err)
	}
	for _, r := range few {
		for _, title := range titles {
			for _, p := range all {
				want, got := output[[3]string{title.title, r.name, p.name}], cell(found, p.name, r, title.protocol)
				if want != got {
					t.Errorf("%s, %s, %s: %s has %q, got %q: %s", title.title, r.name, p.name, page, want, got, again)
				}
			}
		}
	}
}

// TestReadCellsRoundTrip checks that the cells of rows that are not run again stay the same.
func TestReadCellsRoundTrip(t *testing.T) {
	text, all, list := committed(t)
	found, err := readCells(text, all, list)
	if err != nil {
		t.Fatal(err)
	}
	if got := document(all, list, found); got != text {
		t.Errorf("the page from its own cells differs: %s", again)
	}
	if _, err := readCells(text, all[1:], list); err == nil {
		t.Error("got no error for other clients")
	}
}

// TestRowsComplete checks that each form has one row, and that missing files are an error.
func TestRowsComplete(t *testing.T) {
	if _, err := rows(t.TempDir()); err == nil {
		t.Error("got no error for missing scenarios")
	}
	root, err := top()
	if err != nil {
		t.Fatal(err)
	}
	list, err := rows(root)
	if err != nil || list[0].name != "none" {
		t.Fatalf("got %v", err)
	}
	names := map[string]bool{}
	for _, r := range list[1:] {
		name, _, _ := strings.Cut(r.name, "@")
		if names[name] || name != formName(r.form) {
			t.Errorf("%s is listed twice, or is not %s", r.name, formName(r.form))
		}
		names[name] = true
	}
	if len(names) != len(wire.Quirks()) {
		t.Errorf("got %d forms and %d rows", len(wire.Quirks()), len(names))
	}
}

func TestStatus(t *testing.T) {
	broken := func(ids ...string) wire.Report {
		r := wire.Report{Counts: map[string]int{}}
		for _, id := range ids {
			r.Counts[id]++
		}
		return r
	}
	right, bad := result{text: "It rains."}, result{failed: "boom"}
	for name, c := range map[string]struct {
		got      outcome
		expected result
		want     string
	}{
		"right":               {outcome{result: right, shown: true}, right, ok},
		"another text":        {outcome{result: result{text: "It snows."}, shown: true}, right, wrong},
		"an error":            {outcome{result: bad, shown: true}, right, failed},
		"an error it had":     {outcome{result: bad, shown: true}, result{failed: "bang"}, ok},
		"no error":            {outcome{result: right, shown: true}, bad, wrong},
		"not shown":           {outcome{result: right}, right, none},
		"hangs":               {outcome{hangs: true, shown: true}, right, hangs},
		"broken":              {outcome{result: right, shown: true, Report: broken("INV-24", "INV-01")}, right, "INV-01 INV-24"},
		"stopped early":       {outcome{result: result{}, shown: true, Report: broken("INV-07")}, right, "INV-07"},
		"stopped by an error": {outcome{result: bad, shown: true, Report: broken("INV-07")}, right, failed},
		"hangs, unanswered":   {outcome{hangs: true, shown: true, Report: broken("INV-07")}, right, hangs},
		"broken, an error":    {outcome{result: bad, shown: true, Report: broken("INV-04", "INV-07")}, right, "INV-04"},
	} {
		if got := c.got.status(c.expected); got != c.want {
			t.Errorf("%s: got %s, want %s", name, got, c.want)
		}
	}
}

func TestCell(t *testing.T) {
	r := row{name: "Q"}
	found := map[cellKey]string{{"a", "Q", "p", true}: ok, {"a", "Q", "p", false}: wrong, {"b", "Q", "p", true}: ok, {"b", "Q", "p", false}: ok}
	if got := cell(found, "a", r, "p") + ", " + cell(found, "b", r, "p"); got != "ok / wrong, ok" {
		t.Errorf("got %s", got)
	}
	r.form.Streaming = true
	if got := cell(found, "a", r, "p"); got != ok {
		t.Errorf("got %s", got)
	}
}
