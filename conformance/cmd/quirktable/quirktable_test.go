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

// committed reads the page, and what it is made of.
func committed(t *testing.T) (text string, all []player, list []row) {
	t.Helper()
	root, err := top()
	if err != nil {
		t.Fatal(err)
	}
	if all, err = players(root); err != nil {
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

// again is what makes the page current.
const again = "run go run ./cmd/quirktable in conformance"

// The page names the clients at the versions that are in use, and has every quirk in
// the table of each protocol.
func TestCurrent(t *testing.T) {
	text, all, list := committed(t)
	if want := clientTable(all); !strings.Contains(text, want) {
		t.Errorf("the clients of %s are others now: %s\n%s", page, again, want)
	}
	said := cells(text)
	for at := range said {
		if !slices.ContainsFunc(list, func(r row) bool { return r.name == at[1] }) {
			t.Errorf("%s, %s: there is no %s: %s", page, at[0], at[1], again)
		}
	}
	for _, title := range titles {
		for _, r := range list {
			there := said[[3]string{title.title, r.name, ours.name}] != ""
			if there != slices.Contains(r.form.Protocols, title.protocol) || there && !strings.Contains(text, "| "+r.name+" | "+r.form.Description+" |") {
				t.Errorf("%s, %s: %s is there: %t, or is told in other words: %s", page, title.title, r.name, there, again)
			}
		}
	}
}

// sample has a quirk a protocol, and the plain scenario.
var sample = []string{"none", "QO-05@1", "QR-05:completed@1", "QA-11@1", "QG-03@1"}

// What the page says of a few quirks is what comes of them now.
func TestSample(t *testing.T) {
	if _, err := node.Dir(); err != nil {
		if os.Getenv("LOOPTAPE_NPM") != "" {
			t.Fatal(err)
		}
		t.Skip(err)
	}
	text, all, list := committed(t)
	few := slices.DeleteFunc(list, func(r row) bool { return !slices.Contains(sample, r.name) })
	if len(few) != len(sample) {
		t.Fatalf("of %q there are %d rows", sample, len(few))
	}
	if raceDetector {
		t.Log("without eino: the model for Anthropic of eino-ext v0.1.15 has a data race of its own")
		all = slices.DeleteFunc(all, func(p player) bool { return p.name == "eino" })
	}
	said := cells(text)
	found, err := bench{jobs: 2, log: t.Output(), why: true}.play(t.Context(), all, few)
	if err != nil {
		t.Fatal(err)
	}
	for _, r := range few {
		for _, title := range titles {
			for _, p := range all {
				want, got := said[[3]string{title.title, r.name, p.name}], cell(found, p.name, r, title.protocol)
				if want != got {
					t.Errorf("%s, %s, %s: %s says %q, and it is %q: %s", title.title, r.name, p.name, page, want, got, again)
				}
			}
		}
	}
}

// The cells of rows that are not played again stay as they are.
func TestKept(t *testing.T) {
	text, all, list := committed(t)
	found, err := kept(text, all, list)
	if err != nil {
		t.Fatal(err)
	}
	if got := document(all, list, found); got != text {
		t.Errorf("the page that is made of its own cells is another: %s", again)
	}
	if _, err := kept(text, all[1:], list); err == nil {
		t.Error("there are other clients, and nothing is said of it")
	}
}

// A row that is not there is an error, and so is a form that no golden shows.
func TestRows(t *testing.T) {
	if _, err := rows(t.TempDir()); err == nil {
		t.Error("there are no scenarios, and nothing is said of it")
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
			t.Errorf("%s stands twice, or is not %s", r.name, formName(r.form))
		}
		names[name] = true
	}
	if len(names) != len(wire.Quirks()) {
		t.Errorf("there are %d forms, and %d rows", len(wire.Quirks()), len(names))
	}
}

func TestVerdict(t *testing.T) {
	broken := func(ids ...string) wire.Report {
		r := wire.Report{Counts: map[string]int{}}
		for _, id := range ids {
			r.Counts[id]++
		}
		return r
	}
	right, bad := end{text: "It rains."}, end{failed: "boom"}
	for name, c := range map[string]struct {
		got    outcome
		should end
		want   string
	}{
		"right":               {outcome{end: right, shown: true}, right, ok},
		"another text":        {outcome{end: end{text: "It snows."}, shown: true}, right, wrong},
		"an error":            {outcome{end: bad, shown: true}, right, failed},
		"an error it had":     {outcome{end: bad, shown: true}, end{failed: "bang"}, ok},
		"no error":            {outcome{end: right, shown: true}, bad, wrong},
		"not shown":           {outcome{end: right}, right, none},
		"hangs":               {outcome{hung: true, shown: true}, right, hangs},
		"broken":              {outcome{end: right, shown: true, Report: broken("INV-24", "INV-01")}, right, "INV-01 INV-24"},
		"stopped early":       {outcome{end: end{}, shown: true, Report: broken("INV-07")}, right, "INV-07"},
		"stopped by an error": {outcome{end: bad, shown: true, Report: broken("INV-07")}, right, failed},
		"hangs, unanswered":   {outcome{hung: true, shown: true, Report: broken("INV-07")}, right, hangs},
		"broken, an error":    {outcome{end: bad, shown: true, Report: broken("INV-04", "INV-07")}, right, "INV-04"},
	} {
		if got := c.got.verdict(c.should); got != c.want {
			t.Errorf("%s: got %s, want %s", name, got, c.want)
		}
	}
}

func TestCell(t *testing.T) {
	r := row{name: "Q"}
	found := map[place]string{{"a", "Q", "p", true}: ok, {"a", "Q", "p", false}: wrong, {"b", "Q", "p", true}: ok, {"b", "Q", "p", false}: ok}
	if got := cell(found, "a", r, "p") + ", " + cell(found, "b", r, "p"); got != "ok / wrong, ok" {
		t.Errorf("got %s", got)
	}
	r.form.Streaming = true
	if got := cell(found, "a", r, "p"); got != ok {
		t.Errorf("got %s", got)
	}
}
