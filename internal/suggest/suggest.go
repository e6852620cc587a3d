// Package suggest finds the known word that is most similar to a misspelled one.
package suggest

import "fmt"

// Hint returns "did you mean …? " with the most similar known word. It returns an empty
// string if all words differ in more than a third of their letters.
func Hint(word string, known []string) string {
	best, at := "", 0
	for _, k := range known {
		if d := distance(word, k); d <= (len(k)+2)/3 && (best == "" || d < at) {
			best, at = k, d
		}
	}
	if best == "" {
		return ""
	}
	return fmt.Sprintf("did you mean %q? ", best)
}

// distance returns the Levenshtein distance: the number of letters to insert, delete or
// replace.
func distance(a, b string) int {
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		diagonal := row[0]
		row[0] = i + 1
		for j := range len(b) {
			cost := diagonal
			if a[i] != b[j] {
				cost++
			}
			diagonal = row[j+1]
			row[j+1] = min(cost, row[j+1]+1, row[j]+1)
		}
	}
	return row[len(b)]
}
