package loops

import (
	"encoding/json"

	"github.com/looptape/looptape/bench/work"
)

// dayOf reads the day from raw arguments; -1 if there is none.
func dayOf(args string) int {
	a := work.Args{Day: -1}
	if err := json.Unmarshal([]byte(args), &a); err != nil {
		return -1
	}
	return a.Day
}
