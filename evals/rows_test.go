package evals

import (
	"fmt"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"pgregory.net/rapid"

	"github.com/looptape/looptape/llm"
	"github.com/looptape/looptape/trace/importer"
)

// fullRow returns a row with a value in each field, as the zero value and an empty list differ.
func fullRow() Row {
	used := llm.Usage{InputTokens: 1, OutputTokens: 200, CacheReadInputTokens: 1 << 40, CacheCreationInputTokens: -4, ReasoningOutputTokens: 5}
	return Row{
		Case: "case\xff", Epoch: importer.NoEpoch, Cluster: "cluster", Tags: []string{"t", ""}, NoRun: true,
		Run: "run", File: "file", Line: 1 << 33, Digest: "digest", DigestVersion: 1,
		Scores:       newByName(map[string]float64{"m": 0.1, "n": -1e100, "": 1}),
		Errors:       newByName(map[string]string{"e": "error"}),
		Explanations: newByName(map[string]string{"m": strings.Repeat("long ", 50)}),
		Findings:     newByName(map[string][]string{"f": {"INV-01"}, "g": {}, "h": nil}),
		Gradings:     newByName(map[string]Grading{"m": {[]string{"yes", "no"}, used}, "n": {}}),
		Usage:        used, Cost: 0.3, Latency: -7, Steps: 3,
		Calls: newByName(map[string]Calls{"find": {N: 2, Failed: 1}}),
		part:  "part",
	}
}

// TestRows checks that rows are what they were, each field alone, all together and none.
func TestRows(t *testing.T) {
	full := fullRow()
	rows := []Row{{}, full}
	fields := reflect.ValueOf(&full).Elem()
	for i := range fields.NumField() {
		if fields.Field(i).IsZero() {
			t.Errorf("the field %s has no value", fields.Type().Field(i).Name)
		}
		one := Row{}
		if f := reflect.ValueOf(&one).Elem().Field(i); f.CanSet() {
			f.Set(fields.Field(i))
			rows = append(rows, one)
		}
	}
	rows = append(rows, Row{part: "part"}, Row{Scores: ByName[float64]{}}, Row{Case: strings.Repeat("x", lastPage+1)}, full)
	for _, digest := range []string{"00", "0123456789abcdef0123456789abcdef", "123", "AB", strings.Repeat("fe", 100)} {
		rows = append(rows, Row{Digest: digest})
	}
	r := NewRows(rows...)
	for i := range rows {
		if diff := cmp.Diff(rows[i], r.At(i), cmp.AllowUnexported(Row{})); diff != "" {
			t.Errorf("row %d (-want +got):\n%s", i, diff)
		}
	}
	i := 0
	for row := range r.scan() {
		if diff := cmp.Diff(rows[i], *row, cmp.AllowUnexported(Row{})); diff != "" {
			t.Errorf("row %d of scan (-want +got):\n%s", i, diff)
		}
		i++
	}
	for kind, has := range map[rowKinds]func(Row) bool{
		withoutRun:  func(r Row) bool { return r.NoRun },
		withTags:    func(r Row) bool { return len(r.Tags) > 0 },
		withCluster: func(r Row) bool { return r.Cluster != "" },
	} {
		var joined Rows
		joined.addAll(r)
		for _, list := range []Rows{r, joined, r.where(func(*Row) bool { return true }), r.each(func(*Row) {}), NewRows()} {
			n, want := 0, 0
			for row := range list.All() {
				if has(row) {
					want++
				}
			}
			for row := range list.scanFor(kind) {
				if !has(*row) {
					t.Errorf("kind %d: %v", kind, *row)
				}
				n++
			}
			if n != want {
				t.Errorf("kind %d: %d rows, want %d", kind, n, want)
			}
		}
	}
	two := NewRows(full)
	two.addAll(r)
	if diff := cmp.Diff(slices.Collect(NewRows(append([]Row{full}, rows...)...).All()), slices.Collect(two.All()), cmp.AllowUnexported(Row{})); diff != "" {
		t.Errorf("two lists (-want +got):\n%s", diff)
	}
}

// TestSizeOfRows checks that members that a row does not have take no memory, and a digest that of its bits.
func TestSizeOfRows(t *testing.T) {
	row := Row{Case: "c", Epoch: importer.NoEpoch, Digest: strings.Repeat("0a", 16), Steps: 1, Scores: newByName(map[string]float64{"m": 1})}
	rows := NewRows(row)
	if size, most := rows.pages[0].Len(), 40; size > most {
		t.Errorf("a row takes %d bytes, want %d at most", size, most)
	}
}

// TestSortRows checks that rows are sorted as the library sorts them, also if they are sorted, reversed, shuffled
// or few.
func TestSortRows(t *testing.T) {
	for n := range 9 {
		for shift := range n + 1 {
			for _, factor := range []int{1, -1, 5} {
				var want []Row
				for i := range n {
					want = append(want, Row{Case: strings.Repeat(fmt.Sprint((((i*factor+shift)%7)+7)%7), 1+shift*100), Line: i})
				}
				checkSort(t, want)
			}
		}
	}
}

// TestSortNames sorts cases whose names have a common beginning.
func TestSortNames(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		name := rapid.OneOf(rapid.StringN(0, 3, 12), rapid.StringMatching(`[ab\x00\xff]{0,12}`))
		row := rapid.Custom(func(t *rapid.T) Row {
			return Row{Case: name.Draw(t, "case"), Epoch: rapid.IntRange(-1, 2).Draw(t, "epoch"), Line: rapid.IntRange(0, 2).Draw(t, "line")}
		})
		begin, rows := rapid.StringN(0, 9, 36).Draw(t, "begin"), rapid.SliceOfN(row, 0, 30).Draw(t, "rows")
		for i := range rows {
			rows[i].Case = begin + rows[i].Case
		}
		checkSort(t, rows)
	})
}

func checkSort(t rapid.TB, rows []Row) {
	sorted := NewRows(rows...)
	sorted.sort()
	slices.SortFunc(rows, func(a, b Row) int { return a.compare(&b) })
	if diff := cmp.Diff(rows, slices.Collect(sorted.All()), cmp.AllowUnexported(Row{}), cmpopts.EquateEmpty()); diff != "" {
		t.Fatalf("%d rows: -want +got:\n%s", len(rows), diff)
	}
}
