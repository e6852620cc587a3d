package evalbeam

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/looptape/looptape/evals"
)

// In whatever order and groups parts are joined, and wherever they travel in between, they
// are the same bytes in the end.
func TestPartsJoin(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		parts := drawParts(t)
		whole := part{}
		for _, p := range parts {
			whole = join(whole, p)
		}
		want := encoded(t, whole)
		for len(parts) > 1 {
			i := rapid.IntRange(1, len(parts)-1).Draw(t, "taken")
			joined := join(parts[i], parts[0])
			if rapid.Bool().Draw(t, "travels") {
				joined = decoded(t, encoded(t, joined))
			}
			parts[i] = joined
			parts = parts[1:]
		}
		if diff := cmp.Diff(want, encoded(t, parts[0])); diff != "" {
			t.Fatalf("(-want +got):\n%s", diff)
		}
	})
}

// drawParts are parts of one scoring, of a file each.
func drawParts(t *rapid.T) (parts []part) {
	for file := range rapid.IntRange(1, 8).Draw(t, "files") {
		r := &evals.Result{Scorers: []string{"recorded"}}
		name := fmt.Sprintf("f%d", file)
		for run := range rapid.IntRange(0, 4).Draw(t, "runs") {
			score := rapid.Float64Range(-1, 1).Draw(t, "score")
			r.Rows.Add(&evals.Row{Case: name, Epoch: run, File: name, Line: run + 1, Run: "r", Scores: byName(map[string]float64{"s": score})})
		}
		for line := range rapid.IntRange(0, 2).Draw(t, "unreadable") {
			r.Unreadable = append(r.Unreadable, evals.Unreadable{File: name, Line: line, Error: "it is broken"})
		}
		parts = append(parts, part{-1, []*evals.Result{r}}, due(name))
	}
	parts = append(parts, nothing(nil))
	return rapid.Permutation(parts).Draw(t, "order")
}

func encoded(t *rapid.T, p part) string {
	text, err := p.encode()
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

func decoded(t *rapid.T, text string) part {
	p, err := decodePart([]byte(text))
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// A part that is damaged on its way is an error.
func TestPartDamaged(t *testing.T) {
	text, err := part{0, []*evals.Result{{}}}.encode()
	if err != nil {
		t.Fatal(err)
	}
	for _, text := range [][]byte{nil, text[1:], text[:len(text)-5]} {
		if _, err := decodePart(text); err == nil {
			t.Errorf("%q is read as a part", text)
		}
	}
}

// Missing or duplicate parts give no result.
func TestPartLost(t *testing.T) {
	file := part{-1, []*evals.Result{{}}}
	for text, p := range map[string]part{", 1 are missing:": join(due("a"), join(due("b"), file)), ", -1 are missing:": join(due("a"), join(file, file))} {
		if got, err := whole(p); err == nil || !strings.Contains(err.Error(), text) {
			t.Errorf("got %q, error %v; want an error with %q", got, err, text)
		}
	}
}

// byName returns the values of a map.
func byName[T any](of map[string]T) (b evals.ByName[T]) {
	text, err := json.Marshal(of)
	if err == nil {
		err = json.Unmarshal(text, &b)
	}
	if err != nil {
		panic(err)
	}
	return b
}
