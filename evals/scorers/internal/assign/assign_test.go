package assign

import (
	"fmt"
	"testing"

	"pgregory.net/rapid"
)

// brute is the best of all assignments, by trying them.
func brute(weights [][]float64, used []bool) float64 {
	if len(weights) == 0 {
		return 0
	}
	best := brute(weights[1:], used)
	for j, w := range weights[0] {
		if !used[j] {
			used[j] = true
			best = max(best, w+brute(weights[1:], used))
			used[j] = false
		}
	}
	return best
}

// subsequence is the best of all pairs in order, by trying them.
func subsequence(weights [][]float64, from int) float64 {
	if len(weights) == 0 {
		return 0
	}
	best := subsequence(weights[1:], from)
	for j := from; j < len(weights[0]); j++ {
		best = max(best, weights[0][j]+subsequence(weights[1:], j+1))
	}
	return best
}

// The assignment is the best there is, and so is the subsequence.
func TestAssign(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		rows, cols := rapid.IntRange(0, 7).Draw(t, "rows"), rapid.IntRange(0, 7).Draw(t, "columns")
		quarters := rapid.Map(rapid.IntRange(0, 4), func(n int) float64 { return float64(n) / 4 })
		weights := make([][]float64, rows)
		for i := range weights {
			weights[i] = rapid.SliceOfN(quarters, cols, cols).Draw(t, "row")
		}
		if got, err := Pairs(weights, cols, false); err != nil || got != brute(weights, make([]bool, cols)) {
			t.Errorf("Pairs(%v) = %v, %v; want %v", weights, got, err, brute(weights, make([]bool, cols)))
		}
		if got, err := Pairs(weights, cols, true); err != nil || got != subsequence(weights, 0) {
			t.Errorf("Pairs(%v) in order = %v, %v; want %v", weights, got, err, subsequence(weights, 0))
		}
	})
}

// Work is bounded by the pairs that can be; what can be no pair costs nothing.
func TestAssignBound(t *testing.T) {
	square := func(n int, w float64) [][]float64 {
		rows := make([][]float64, n)
		for i := range rows {
			rows[i] = make([]float64, n)
			for j := range rows[i] {
				rows[i][j] = w
			}
		}
		return rows
	}
	if got, err := Pairs(square(100, 1), 100, false); err != nil || got != 100 {
		t.Errorf("of 100 calls: got %v, %v", got, err)
	}
	_, err := Pairs(square(465, 1), 465, false)
	if want := "465 calls that may be 465 of those made are too many to find the best assignment"; fmt.Sprint(err) != want {
		t.Errorf("of 465 calls: got %v, want %q", err, want)
	}
	sparse := square(600, 0)
	sparse[3][599], sparse[4][599], sparse[4][7] = 1, 1, 0.5
	if got, err := Pairs(sparse, 600, false); err != nil || got != 1.5 {
		t.Errorf("of 3 pairs: got %v, %v, want 1.5", got, err)
	}
}
