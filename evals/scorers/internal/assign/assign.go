// Package assign pairs the expected calls with those of a run.
package assign

import (
	"fmt"
	"math"
	"slices"
)

// Pairs returns the largest sum of weights of pairs of rows and columns, each in at most one pair.
// If ordered, the pairs are in the same order in rows and columns. Weights are 0 or more. Pairs
// returns an error if there are too many of them.
func Pairs(weights [][]float64, columns int, ordered bool) (float64, error) {
	if ordered {
		return common(weights, columns), nil
	}
	return best(weights)
}

// maxSteps bounds the work of one assignment: the smaller number of calls squared times
// the larger.
const maxSteps = 1e8

// best returns the largest sum of weights of pairs. It is the Hungarian algorithm (Kuhn 1955,
// Munkres 1957) with potentials and shortest augmenting paths: n²·m steps for n rows and m columns,
// n ≤ m, of those that have a weight at all.
func best(weights [][]float64) (total float64, err error) {
	rows := paired(weights)
	n := len(rows)
	if n == 0 {
		return 0, nil
	}
	m := len(rows[0])
	if float64(n)*float64(n)*float64(m) > maxSteps {
		return 0, fmt.Errorf("%d calls that may be %d of those made are too many to find the best assignment", n, m)
	}
	h := &hungarian{rows, make([]float64, n), make([]float64, m+1), slices.Repeat([]int{-1}, m+1)}
	for i := range n {
		h.augment(i)
	}
	for col, row := range h.row[:m] {
		if row >= 0 {
			total += rows[row][col]
		}
	}
	return total, nil
}

// paired returns the weights of the rows and columns that have any, with no more rows than
// columns.
func paired(weights [][]float64) [][]float64 {
	some := func(w float64) bool { return w > 0 }
	none := func(row []float64) bool { return !slices.ContainsFunc(row, some) }
	for range 2 {
		weights = slices.Clone(weights)
		weights = transposed(slices.DeleteFunc(weights, none))
	}
	if len(weights) > 0 && len(weights) > len(weights[0]) {
		return transposed(weights)
	}
	return weights
}

func transposed(rows [][]float64) [][]float64 {
	if len(rows) == 0 {
		return nil
	}
	cols := make([][]float64, len(rows[0]))
	for j := range cols {
		for i := range rows {
			cols[j] = append(cols[j], rows[i][j])
		}
	}
	return cols
}

// hungarian is an assignment in progress. Its last column represents the row being assigned.
type hungarian struct {
	weights      [][]float64
	ofRow, ofCol []float64 // potentials
	row          []int     // of each column, or -1
}

// augment assigns one more row along the shortest path of columns.
func (h *hungarian) augment(row int) {
	m := len(h.ofCol) - 1
	dist := slices.Repeat([]float64{math.Inf(1)}, m)
	from := make([]int, m)
	done := make([]bool, m+1)
	col := m
	h.row[col] = row
	for h.row[col] >= 0 {
		done[col] = true
		next := h.relax(col, dist, from, done)
		h.shift(dist[next], dist, done)
		col = next
	}
	for col != m {
		h.row[col] = h.row[from[col]]
		col = from[col]
	}
	h.row[m] = -1
}

// relax updates the distances from the row of a column and returns the nearest column.
func (h *hungarian) relax(col int, dist []float64, from []int, done []bool) (next int) {
	i := h.row[col]
	next = -1
	for j := range dist {
		if done[j] {
			continue
		}
		if cost := -h.weights[i][j] - h.ofRow[i] - h.ofCol[j]; cost < dist[j] {
			dist[j], from[j] = cost, col
		}
		if next < 0 || dist[j] < dist[next] {
			next = j
		}
	}
	return next
}

// shift moves the potentials by the distance of the nearest column.
func (h *hungarian) shift(by float64, dist []float64, done []bool) {
	for j := range h.ofCol {
		if done[j] {
			h.ofRow[h.row[j]] += by
			h.ofCol[j] -= by
		} else { // the last column is always done
			dist[j] -= by
		}
	}
}

// common returns the largest sum of weights of pairs in the same order in rows and columns: for
// weights of 0 and 1 the length of the longest common subsequence. It takes a step per pair.
func common(weights [][]float64, columns int) float64 {
	best := make([]float64, columns+1)
	for _, row := range weights {
		diagonal := 0.0
		for j, w := range row {
			diagonal, best[j+1] = best[j+1], max(best[j+1], best[j], diagonal+w)
		}
	}
	return best[columns]
}
