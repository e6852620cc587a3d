package main

import (
	"bytes"
	"cmp"
	"compress/gzip"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/looptape/looptape/cmd/looptape/internal/cli"
	"github.com/looptape/looptape/cmd/looptape/internal/cli/clitest"
)

// talk is a conversation, as the recordings of all formats can have it.
type talk []entry

// entry is a message: of the user, of the assistant, or the results of the calls before it.
type entry struct {
	role    string // user, assistant or tool
	text    string
	calls   []plannedCall
	results []plannedResult
}

type plannedCall struct{ id, name, arguments string }

type plannedResult struct{ id, name, text string }

// conversation returns a valid conversation of a few tasks, which the format can represent.
func conversation(r *rand.Rand, f *recordedFormat) talk {
	words := []string{"Refund order 17.", "¿Qué tiempo hace?", "a\nb", "{}", "完了", "<b>", "error: none", "0"}
	word := func() string { return words[r.IntN(len(words))] }
	var t talk
	id := 0
	for range 1 + r.IntN(3) {
		t = append(t, entry{role: "user", text: word()})
		if f.shows&userInARow != 0 && r.IntN(4) == 0 {
			t = append(t, entry{role: "user", text: word()})
		}
		for range 1 + r.IntN(3) {
			a := entry{role: "assistant"}
			if r.IntN(2) == 0 {
				a.text = word()
			}
			results := entry{role: "tool"}
			n := 1 + r.IntN(3)
			if f.shows&parallelCalls == 0 {
				n = 1
			}
			for i := range n {
				id++
				c := plannedCall{"call_" + strconv.Itoa(id), "tool_" + string(rune('a'+i)), fmt.Sprintf(`{"n":%d,"q":%q}`, r.IntN(9), word())}
				a.calls = append(a.calls, c)
				text := word()
				if r.IntN(8) == 0 {
					text = ""
				}
				results.results = append(results.results, plannedResult{c.id, c.name, text})
			}
			t = append(t, a, results)
		}
		t = append(t, entry{role: "assistant", text: word()})
	}
	return append(t, entry{role: "user", text: word()})
}

func (t talk) clone() talk {
	c := slices.Clone(t)
	for i := range c {
		c[i].calls, c[i].results = slices.Clone(c[i].calls), slices.Clone(c[i].results)
	}
	return c
}

// pick returns the index of a random entry that ok accepts; -1 without one.
func (t talk) pick(r *rand.Rand, ok func(entry) bool) int {
	var list []int
	for i, e := range t {
		if ok(e) {
			list = append(list, i)
		}
	}
	if list == nil {
		return -1
	}
	return list[r.IntN(len(list))]
}

func hasResults(n int) func(entry) bool { return func(e entry) bool { return len(e.results) >= n } }

func hasCalls(n int) func(entry) bool { return func(e entry) bool { return len(e.calls) >= n } }

// fault plants a fault in a conversation. It reports whether it could. With exchanged in needs, the
// fault is in the requests alone.
type fault struct {
	name      string
	invariant string
	needs     int // what only some formats can represent
	plant     func(r *rand.Rand, t *talk) bool
}

var faultsToPlant = []fault{
	{"drop a result", "INV-01", 0, func(r *rand.Rand, t *talk) bool {
		i := t.pick(r, hasResults(1))
		list := (*t)[i].results
		n := r.IntN(len(list))
		if (*t)[i].results = slices.Delete(list, n, n+1); len(list) == 1 {
			*t = slices.Delete(*t, i, i+1)
		}
		return true
	}},
	{"double a result", "INV-01", callIDs | resultParts | resultsAsSent, func(r *rand.Rand, t *talk) bool {
		i := t.pick(r, hasResults(1))
		list := (*t)[i].results
		(*t)[i].results = append(list, list[r.IntN(len(list))])
		return true
	}},
	{"rename the id of a result", "INV-01", callIDs | resultParts, func(r *rand.Rand, t *talk) bool {
		i := t.pick(r, hasResults(1))
		(*t)[i].results[r.IntN(len((*t)[i].results))].id = "call_0"
		return true
	}},
	{"rename the id of a call", "INV-01", callIDs | resultParts, func(r *rand.Rand, t *talk) bool {
		i := t.pick(r, hasCalls(1))
		(*t)[i].calls[r.IntN(len((*t)[i].calls))].id = "call_0"
		return true
	}},
	{"drop a call", "INV-01", callIDs | resultParts, func(r *rand.Rand, t *talk) bool {
		i := t.pick(r, hasCalls(1))
		list := (*t)[i].calls
		n := r.IntN(len(list))
		if (*t)[i].calls = slices.Delete(list, n, n+1); len(list) == 1 && (*t)[i].text == "" {
			(*t)[i].text = "ok"
		}
		return true
	}},
	{"drop the message with the calls", "INV-01", resultMessages, func(r *rand.Rand, t *talk) bool {
		i := t.pick(r, hasCalls(1))
		*t = slices.Delete(*t, i, i+1)
		return true
	}},
	{"put a message of the user before the results", "INV-02", resultMessages | resultsAsSent, func(r *rand.Rand, t *talk) bool {
		i := t.pick(r, hasResults(1))
		*t = slices.Insert(*t, i, entry{role: "user", text: "Be quick."})
		return true
	}},
	{"reorder the results", "INV-03", callIDs | parallelCalls | resultParts, func(r *rand.Rand, t *talk) bool {
		i := t.pick(r, hasResults(2))
		if i < 0 {
			return false
		}
		list := (*t)[i].results
		n := r.IntN(len(list) - 1)
		list[n], list[n+1] = list[n+1], list[n]
		return true
	}},
	{"use the id of a call twice in a message", "INV-04", repeatedIDs | parallelCalls, func(r *rand.Rand, t *talk) bool {
		i := t.pick(r, hasCalls(2))
		if i < 0 {
			return false
		}
		(*t)[i].calls[1].id, (*t)[i+1].results[1].id = (*t)[i].calls[0].id, (*t)[i].calls[0].id
		return true
	}},
	{"use the id of a call again", "INV-04", repeatedIDs, func(_ *rand.Rand, t *talk) bool {
		first := t.pick(rand.New(rand.NewPCG(0, 0)), hasCalls(1))
		for i := first + 2; i < len(*t); i++ {
			if len((*t)[i].calls) > 0 {
				(*t)[i].calls[0].id, (*t)[i+1].results[0].id = (*t)[first].calls[0].id, (*t)[first].calls[0].id
				return true
			}
		}
		return false
	}},
	{"empty the id of a call", "INV-04", emptyIDs, func(r *rand.Rand, t *talk) bool {
		i := t.pick(r, hasCalls(1))
		(*t)[i].calls[0].id, (*t)[i+1].results[0].id = "", ""
		return true
	}},
	{"cut the beginning", "INV-01", resultMessages, func(r *rand.Rand, t *talk) bool {
		i := t.pick(r, hasResults(1))
		*t = (*t)[i:]
		return true
	}},
	{"drop the last results", "INV-01", sentRequests, func(r *rand.Rand, t *talk) bool {
		i := len(*t) - 1
		for !hasResults(1)((*t)[i]) {
			i--
		}
		*t = (*t)[:i+1]
		if n := r.IntN(len((*t)[i].results)); n > 0 {
			(*t)[i].results = (*t)[i].results[:n]
		} else {
			*t = (*t)[:i]
		}
		return true
	}},
	{"add an empty message of the assistant", "INV-24", emptyMessages, func(r *rand.Rand, t *talk) bool {
		i := t.pick(r, func(e entry) bool { return e.role == "assistant" && len(e.calls) == 0 })
		(*t)[i].text = ""
		return true
	}},
	{"send other arguments back", "INV-05", exchanged, func(r *rand.Rand, t *talk) bool {
		calls := (*t)[t.pick(r, hasCalls(1))].calls
		calls[r.IntN(len(calls))].arguments = `{"n":10,"q":"x"}`
		return true
	}},
	{"send another tool back", "INV-05", exchanged, func(r *rand.Rand, t *talk) bool {
		i := t.pick(r, hasCalls(1))
		n := r.IntN(len((*t)[i].calls))
		(*t)[i].calls[n].name, (*t)[i+1].results[n].name = "other", "other"
		return true
	}},
	{"send another id of a call back, with its result", "INV-05", exchanged | callIDs, func(r *rand.Rand, t *talk) bool {
		i := t.pick(r, hasCalls(1))
		n := r.IntN(len((*t)[i].calls))
		(*t)[i].calls[n].id, (*t)[i+1].results[n].id = "call_0", "call_0"
		return true
	}},
	{"send another text back", "INV-05", exchanged, func(r *rand.Rand, t *talk) bool {
		(*t)[t.pick(r, hasText)].text = "Something else."
		return true
	}},
	{"omit the text before a call", "INV-05", exchanged, func(r *rand.Rand, t *talk) bool {
		i := t.pick(r, func(e entry) bool { return hasText(e) && len(e.calls) > 0 })
		if i >= 0 {
			(*t)[i].text = ""
		}
		return i >= 0
	}},
}

func hasText(e entry) bool { return e.role == "assistant" && e.text != "" }

// variation changes a valid conversation so that it stays valid.
type variation struct {
	name  string
	needs int
	vary  func(r *rand.Rand, t *talk)
	// sent is not nil if only the requests differ. It returns the messages before an index.
	sent func(r *rand.Rand, t talk) func(at int) talk
}

var variations = []variation{
	{name: "none", needs: 0, vary: func(*rand.Rand, *talk) {}},
	{name: "end with a response", needs: 0, vary: func(_ *rand.Rand, t *talk) { *t = (*t)[:len(*t)-1] }},
	{name: "end with calls", needs: openCalls, vary: func(r *rand.Rand, t *talk) { *t = (*t)[:t.pick(r, hasCalls(1))+1] }},
	{name: "begin with the system prompt", needs: systemMessages, vary: func(_ *rand.Rand, t *talk) {
		*t = slices.Insert(*t, 0, entry{role: "system", text: "Be brief."})
	}},
	{name: "two responses in a row", needs: userInARow, vary: func(r *rand.Rand, t *talk) {
		i := t.pick(r, func(e entry) bool { return e.role == "assistant" && len(e.calls) == 0 })
		*t = slices.Insert(*t, i, entry{role: "assistant", text: "Let me see."})
	}},
	{name: "results in two messages", needs: resultMessages | userInARow, vary: func(r *rand.Rand, t *talk) {
		if i := t.pick(r, hasResults(2)); i >= 0 {
			list := (*t)[i].results
			(*t)[i].results = list[:1]
			*t = slices.Insert(*t, i+1, entry{role: "tool", results: list[1:]})
		}
	}},
	{name: "equal calls", needs: callIDs | parallelCalls, vary: func(r *rand.Rand, t *talk) {
		if i := t.pick(r, hasCalls(2)); i >= 0 {
			calls, results := (*t)[i].calls, (*t)[i+1].results
			calls[1].name, calls[1].arguments, results[1].name = calls[0].name, calls[0].arguments, calls[0].name
		}
	}},
	{name: "other ids", needs: callIDs, vary: func(_ *rand.Rand, t *talk) {
		for _, e := range *t {
			for i := range e.calls {
				e.calls[i].id = "toolu/é:" + e.calls[i].id
			}
			for i := range e.results {
				e.results[i].id = "toolu/é:" + e.results[i].id
			}
		}
	}},
	{name: "another system prompt in each request", needs: exchanged | systemMessages, sent: func(_ *rand.Rand, t talk) func(int) talk {
		return func(at int) talk {
			return slices.Insert(t[:at:at], 0, entry{role: "system", text: "It is step " + strconv.Itoa(at) + "."})
		}
	}},
	{name: "a summary", needs: exchanged, sent: func(r *rand.Rand, t talk) func(int) talk {
		return after(t, 1+t[1:].pick(r, isUser), func(rest talk) talk {
			return append(talk{{role: "user", text: "In short: it rained."}, {role: "assistant", text: "I see."}}, rest...)
		})
	}},
	{name: "a summary after the first message", needs: exchanged, sent: func(r *rand.Rand, t talk) func(int) talk {
		return after(t, 1+t[1:].pick(r, isUser), func(rest talk) talk {
			return append(talk{t[0], {role: "assistant", text: "In short: it rained."}}, rest...)
		})
	}},
	{name: "the first steps are omitted", needs: exchanged, sent: func(r *rand.Rand, t talk) func(int) talk {
		return after(t, t.pick(r, hasCalls(1)), func(rest talk) talk { return append(talk{t[0]}, rest...) })
	}},
	{name: "earlier results are replaced", needs: exchanged, sent: func(r *rand.Rand, t talk) func(int) talk {
		k := t.pick(r, isUser)
		return after(t, k, func(rest talk) talk {
			short := t[:k].clone()
			for _, e := range short {
				for i := range e.results {
					e.results[i].text = "omitted"
				}
			}
			return append(short, rest...)
		})
	}},
	{name: "arguments and text in another form", needs: exchanged, sent: func(_ *rand.Rand, t talk) func(int) talk {
		t = t.clone()
		for i, e := range t {
			for n, c := range e.calls {
				var v struct {
					N int
					Q string
				}
				if err := json.Unmarshal([]byte(c.arguments), &v); err != nil {
					panic(err)
				}
				e.calls[n].arguments = fmt.Sprintf(`{ "q": %q, "n": %d.0 }`, v.Q, v.N)
			}
			if hasText(e) {
				t[i].text += "\n"
			}
		}
		return unchanged(t)
	}},
}

func isUser(e entry) bool { return e.role == "user" }

// after returns the messages before an index, which replace changes from the requests after k on: it
// gets those from k on.
func after(t talk, k int, replace func(rest talk) talk) func(at int) talk {
	return func(at int) talk {
		if at <= k {
			return t[:at]
		}
		return replace(t[k:at:at])
	}
}

// fileVariations are other forms of the same file.
var fileVariations = []func(text string) string{
	func(text string) string { return text },
	func(text string) string {
		if json, ok := strings.CutSuffix(text, "}\n"); ok {
			return json + "}"
		}
		return text
	},
	func(text string) string {
		var indented bytes.Buffer
		if err := json.Indent(&indented, []byte(text), "", "  "); err != nil {
			return text // one record per line, or YAML
		}
		return indented.String()
	},
	func(text string) string {
		var compressed bytes.Buffer
		w := gzip.NewWriter(&compressed)
		_, err := w.Write([]byte(text))
		if err := errors.Join(err, w.Close()); err != nil {
			panic(err)
		}
		return compressed.String()
	},
}

// checked is what check reports for a file.
type checked struct {
	Violations []struct{ Invariant, Level, Message string }
	Unreadable []struct{ Error string }
}

func checkText(t *testing.T, dir, text string) (c checked) {
	t.Helper()
	file := filepath.Join(dir, "run.json")
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	w, out, _ := clitest.Terminal(nil)
	if status := execute([]string{"check", "--format", "json", file}, w); status > cli.Usage {
		t.Fatalf("exit status %d", status)
	}
	if err := json.Unmarshal(out.Bytes(), &c); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	return c
}

// TestPlantedFaults plants faults in valid conversations of every format and counts what check
// finds (recall) and what else it reports (precision). LOOPTAPE_FAULTS is the number of
// conversations for each format.
func TestPlantedFaults(t *testing.T) {
	n := faultCount(t)
	for _, f := range recordedFormats() {
		t.Run(f.name, func(t *testing.T) {
			t.Parallel()
			m := measured{dir: t.TempDir(), format: &f, planted: map[string]int{}, found: map[string]int{}}
			r := rand.New(rand.NewPCG(1, uint64(n)))
			shown := slices.DeleteFunc(slices.Clone(faultsToPlant), func(x fault) bool { return f.shows&x.needs != x.needs })
			varied := slices.DeleteFunc(slices.Clone(variations), func(v variation) bool { return f.shows&v.needs != v.needs })
			for i, planted := 0, 0; planted < n; i++ {
				valid := conversation(r, &f)
				faulty := valid.clone()
				if x := shown[i%len(shown)]; x.plant(r, &faulty) {
					planted++
					m.faulty(t, &x, valid.clone(), faulty)
					v, text := varied[i/len(shown)%len(varied)], ""
					if v.sent != nil {
						text = f.exchange(valid, v.sent(r, valid))
					} else {
						v.vary(r, &valid)
						text = f.write(valid)
					}
					m.valid(t, v.name, fileVariations[r.IntN(len(fileVariations))](text))
				}
			}
			t.Log(m.row(2 * n))
		})
	}
}

// faultCount returns LOOPTAPE_FAULTS, or the number for a test without it.
func faultCount(t *testing.T) int {
	text := cmp.Or(os.Getenv("LOOPTAPE_FAULTS"), "40")
	n, err := strconv.Atoi(text)
	if err != nil {
		t.Fatal(err)
	}
	return n
}

// measured counts what check reports for a format.
type measured struct {
	dir            string
	format         *recordedFormat
	planted, found map[string]int // by invariant
	other          int
}

func (m *measured) valid(t *testing.T, variation, text string) {
	if c := checkText(t, m.dir, text); len(c.Violations)+len(c.Unreadable) > 0 {
		t.Errorf("a valid conversation, variation %q: %v\n%s", variation, c, text)
		m.other++
	}
}

func (m *measured) faulty(t *testing.T, x *fault, valid, faulty talk) {
	text := ""
	if x.needs&exchanged != 0 {
		text = m.format.exchange(valid, unchanged(faulty))
	} else {
		text = m.format.write(faulty)
	}
	m.planted[x.invariant]++
	c := checkText(t, m.dir, text)
	hit := false
	for _, v := range c.Violations {
		hit = hit || v.Invariant == x.invariant
		if v.Invariant != x.invariant || v.Invariant == "INV-05" && v.Level != "note" {
			m.other++
			t.Errorf("%s: also %v\n%s", x.name, v, text)
		}
	}
	if !hit {
		t.Errorf("%s: %s is not reported: %v\n%s", x.name, x.invariant, c, text)
		return
	}
	m.found[x.invariant]++
}

// row returns a row of the table in docs/checking.md: found faults of all planted ones by
// invariant, and other reports.
func (m *measured) row(conversations int) string {
	row := "| " + m.format.name
	for _, id := range []string{"INV-01", "INV-02", "INV-03", "INV-04", "INV-05", "INV-24"} {
		cell := ""
		if m.planted[id] > 0 {
			cell = fmt.Sprintf("%d of %d", m.found[id], m.planted[id])
		}
		row += " | " + cell
	}
	return fmt.Sprintf("%s | %d in %d |", row, m.other, conversations)
}
