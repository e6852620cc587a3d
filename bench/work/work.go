// Package work is the scripted work that every loop of this benchmark does: a
// number of steps, each a model turn with the same number of tool calls, and
// then a final text. It is the same for all: the same names, ids, arguments and
// texts, in the order of the script. Package loops puts it into each library's
// own types.
package work

import "fmt"

// The texts of the work.
const (
	Prompt = "Find out about the weather."
	Tool   = "weather"
	About  = "Tells the weather of a city on a day."
	Answer = "Sunny, 21 degrees." // what every call returns
	Final  = "It is sunny everywhere."
	Input  = 100 // tokens of a turn
	Output = 20
)

// Schema is the JSON Schema of the tool's arguments, for tools that take them
// raw.
const Schema = `{"type":"object","properties":{"city":{"type":"string"},"day":{"type":"integer"}},"required":["city","day"]}`

// Args are the arguments of the tool, for tools that take them typed.
type Args struct {
	City string `json:"city"`
	Day  int    `json:"day"`
}

// Call is one call of the script.
type Call struct {
	ID   string
	Raw  string // the JSON of Args
	Args Args
}

// Work is the script.
type Work struct {
	Steps [][]Call // the calls of each step
}

// New returns the work of n steps of k calls. No two calls have the same id or
// the same arguments, so that no loop takes one for a repetition.
func New(n, k int) *Work {
	w := &Work{Steps: make([][]Call, n)}
	for i := range w.Steps {
		w.Steps[i] = make([]Call, k)
		for j := range w.Steps[i] {
			a := Args{City: "Oslo", Day: i*k + j}
			w.Steps[i][j] = Call{
				ID:   fmt.Sprintf("call_%d_%d", i, j),
				Raw:  fmt.Sprintf(`{"city":%q,"day":%d}`, a.City, a.Day),
				Args: a,
			}
		}
	}
	return w
}

// Calls is how many calls there are.
func (w *Work) Calls() int {
	n := 0
	for _, s := range w.Steps {
		n += len(s)
	}
	return n
}
