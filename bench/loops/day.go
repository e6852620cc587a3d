package loops

import (
	"encoding/json"

	"github.com/looptape/looptape/bench/work"
)

// dayOf returns the day in raw arguments, or -1 if it is missing.
func dayOf(args string) int {
	a := work.Arguments{Day: -1}
	if err := json.Unmarshal([]byte(args), &a); err != nil {
		return -1
	}
	return a.Day
}
