package wire_test

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/sebdah/goldie/v2"

	"github.com/looptape/looptape/fake/wire"
	"github.com/looptape/looptape/llm"
	"github.com/looptape/looptape/loop/scenario"
	"github.com/looptape/looptape/trace"
)

// shown is a form of a quirk in a scenario, with the facts that hold in every protocol and
// response mode of the form.
type shown struct {
	quirk    string // as ParseQuirk reads it
	scenario string // "" is calls
	// stalls reports that a response with the quirk does not end.
	stalls bool

	// same reports that the projected trace equals that of the run without the quirk;
	// the facts below are then not needed.
	same     bool
	ran      string // the calls whose tools were called, in order
	failed   string // the calls that got an error result, in order
	requests int    // model calls; 0 means one more than there are steps with tool calls
	stop     trace.Reason
	warnings string // the codes, in order
	more     func(t *testing.T, o *played)
}

// showing are all forms, one list per file.
func showing() []shown {
	return slices.Concat(chatShown, responsesShown, anyShown, messagesShown, geminiShown)
}

// TestQuirkGoldens plays each form of each quirk in each protocol and response mode
// that it applies to. It compares the edited responses with testdata/quirks, which
// shows them as a diff from the unedited ones:
// go test ./fake/wire -run TestQuirkGoldens -update rewrites the files.
func TestQuirkGoldens(t *testing.T) {
	t.Parallel()
	for _, s := range showing() {
		t.Run(strings.ReplaceAll(s.quirk, ":", "-"), func(t *testing.T) {
			t.Parallel()
			s.test(t)
		})
	}
}

// modes are the response modes, by their names in goldens.
var modes = []string{"streaming", "non-streaming"}

func (s shown) test(t *testing.T) {
	q := parseQuirks(t, s.quirk)[0]
	form := s.form(q)
	s.scenario = s.name()
	var diffs []string
	titles := map[string][]string{}
	for _, protocol := range form.Protocols {
		for _, mode := range modes {
			if form.Streaming && mode != "streaming" {
				continue
			}
			title := protocol + " " + mode
			plain := playedOnce(t, s, protocol, mode)
			o := playedOnce(t, s, protocol, mode, q)
			t.Run(title, func(t *testing.T) {
				if o.report.Shown[q.String()] == 0 {
					t.Error("no response shows the quirk")
				}
				o.checkInvariants(t)
				s.facts(t, o, plain)
			})
			list, numbers := o.edits(plain)
			for _, diff := range list {
				if titles[diff] == nil {
					diffs = append(diffs, diff)
				}
				titles[diff] = append(titles[diff], title+" "+strings.Join(numbers[diff], " "))
			}
		}
	}
	text := fmt.Sprintf("%s: %s.\nScenario: %s.\n", q, form.Description, s.scenario)
	for _, diff := range diffs {
		text += "\n-- " + strings.Join(titles[diff], ", ") + " --\n" + diff
	}
	if diffs == nil {
		text += "\nNo byte of the response differs.\n"
	}
	g := goldie.New(t, goldie.WithFixtureDir("testdata/quirks"), goldie.WithNameSuffix(".txt"), goldie.WithDiffEngine(goldie.ColoredDiff))
	g.Assert(t, strings.ReplaceAll(s.quirk, ":", "-"), []byte(text))
}

// parseQuirks parses the quirks of a list that spaces separate.
func parseQuirks(t testing.TB, list string) (quirks []wire.Quirk) {
	t.Helper()
	for _, s := range strings.Fields(list) {
		q, err := wire.ParseQuirk(s)
		if err != nil {
			t.Fatal(err)
		}
		quirks = append(quirks, q)
	}
	return quirks
}

// runs contains the runs of playedOnce.
var runs sync.Map // of *played, by what was played

// playedOnce is shown.play, but tests with the same quirk share one run.
func playedOnce(t *testing.T, s shown, protocol, mode string, quirks ...wire.Quirk) *played {
	t.Helper()
	key := fmt.Sprint(s.name(), s.stalls, protocol, mode, quirks)
	if o, ok := runs.Load(key); ok {
		return o.(*played) //nolint:forcetypeassert // nothing else is stored
	}
	o, _ := runs.LoadOrStore(key, s.play(t, protocol, mode, quirks...))
	return o.(*played) //nolint:forcetypeassert // nothing else is stored
}

// form describes the form.
func (s shown) form(q wire.Quirk) wire.Quirk {
	name, _, _ := strings.Cut(q.String(), "@")
	i := slices.IndexFunc(wire.Quirks(), func(f wire.Quirk) bool { return name == strings.TrimSuffix(f.ID+":"+f.Form, ":") })
	return wire.Quirks()[i]
}

// play plays the scenario.
func (s shown) play(t *testing.T, protocol, mode string, quirks ...wire.Quirk) *played {
	t.Helper()
	if s.stalls {
		return playInBubble(t, loadScenario(t, s.name()), protocol, responseModes[mode], quirks...)
	}
	return play(t, s.name(), protocol, responseModes[mode], quirks...)
}

// name is that of the scenario.
func (s shown) name() string {
	if s.scenario == "" {
		return "calls"
	}
	return s.scenario
}

func (s shown) facts(t *testing.T, o, plain *played) {
	t.Helper()
	if s.more != nil {
		s.more(t, o)
	}
	if s.same {
		if diff := cmp.Diff(projected(plain.Result), projected(o.Result)); diff != "" {
			t.Errorf("the projected trace (-without +with the quirk):\n%s", diff)
		}
		return
	}
	var ran, failed, warnings []string
	rounds, requests := 1, 0
	for _, ev := range o.Events {
		switch b := ev.Body.(type) {
		case trace.ToolStart:
			ran = append(ran, b.ToolCallID)
		case trace.Warning:
			warnings = append(warnings, b.Code)
		case trace.ModelRequest:
			requests++
		}
	}
	for _, m := range o.Run.Messages {
		if m.Role == llm.RoleTool {
			rounds++
		}
		for _, p := range m.Parts {
			if r, ok := p.(llm.ToolResult); ok && r.IsError {
				failed = append(failed, r.ID)
			}
		}
	}
	if s.requests == 0 {
		s.requests = rounds
	}
	if s.stop == "" {
		s.stop = trace.ReasonEndTurn
	}
	want := []any{s.ran, s.failed, s.warnings, s.requests, s.stop}
	got := []any{strings.Join(ran, " "), strings.Join(failed, " "), strings.Join(warnings, " "), requests, o.Run.StopReason}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("tools entered, error results, warnings, requests, stop (-want +got):\n%s", diff)
	}
}

func projected(o *scenario.Result) string { return trace.FormatText(trace.Project(o.Events)) }

// TestQuirkFormsCovered checks that every form is in the table above, and every id of the
// list of quirks has a form.
func TestQuirkFormsCovered(t *testing.T) {
	var want, got []string
	for _, f := range wire.Quirks() {
		want = append(want, strings.TrimSuffix(f.ID+":"+f.Form, ":"))
	}
	for _, s := range showing() {
		q, err := wire.ParseQuirk(s.quirk)
		if err != nil {
			t.Fatal(err)
		}
		name, _, _ := strings.Cut(q.String(), "@")
		got = append(got, name)
	}
	slices.Sort(want)
	slices.Sort(got)
	if diff := cmp.Diff(want, slices.Compact(got)); diff != "" {
		t.Errorf("forms (-in the code +in the table):\n%s", diff)
	}
	for _, group := range []struct {
		prefix string
		last   int
	}{{"QO", 31}, {"QR", 10}, {"QA", 14}, {"QG", 12}, {"QT", 11}} {
		for n := range group.last {
			id := fmt.Sprintf("%s-%02d", group.prefix, n+1)
			if !slices.ContainsFunc(wire.Quirks(), func(f wire.Quirk) bool { return f.ID == id }) {
				t.Errorf("the quirk %s of the list has no form", id)
			}
		}
	}
}

// Each scenario without quirks has the wire form of testdata/plain and the same result in
// every protocol, in every response mode and in process (INV-12).
func TestPlain(t *testing.T) {
	files, err := filepath.Glob("testdata/scenarios/*.yaml")
	if err != nil || len(files) == 0 {
		t.Fatalf("no scenarios: %v", err)
	}
	for _, path := range files {
		name := strings.TrimSuffix(filepath.Base(path), ".yaml")
		t.Run(name, func(t *testing.T) {
			inProcess, err := scenario.Run(t.Context(), loadScenario(t, name), nil)
			if err != nil {
				t.Fatal(err)
			}
			want := projected(inProcess)
			var text strings.Builder
			for _, k := range protocols {
				for _, mode := range modes {
					o := play(t, name, k.name, responseModes[mode])
					o.checkInvariants(t)
					title := k.name + " " + mode
					got := comparableTrace(o.Result)
					if diff := cmp.Diff(want, got); diff != "" {
						t.Errorf("%s (-in process +on the wire):\n%s", title, diff)
					}
					text.WriteString(o.golden(title))
				}
			}
			g := goldie.New(t, goldie.WithFixtureDir("testdata/plain"), goldie.WithNameSuffix(".txt"), goldie.WithDiffEngine(goldie.ColoredDiff))
			g.Assert(t, name, []byte(text.String()))
		})
	}
}
