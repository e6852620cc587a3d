// Package work is the scripted work of each loop in this benchmark: a number of steps, each a
// model response with the same number of tool calls, and then a final text. All loops get the
// same names, ids, arguments and texts, in the same order. Package loops converts them to the
// types of each library.
package work

import "fmt"

// The texts of the work.
const (
	Prompt = "Find out about the weather."
	Tool   = "weather"
	About  = "Returns the weather of a city on a day."
	Answer = "Sunny, 21 degrees." // the result of each call
	Final  = "It is sunny everywhere."
	Input  = 100 // tokens of a response
	Output = 20
)

// Schema is the JSON Schema of the arguments, for tools with raw arguments.
const Schema = `{"type":"object","properties":{"city":{"type":"string"},"day":{"type":"integer"}},"required":["city","day"]}`

// Arguments are the arguments of the tool, for tools with typed arguments.
type Arguments struct {
	City string `json:"city"`
	Day  int    `json:"day"`
}

// Call is one call of the script.
type Call struct {
	ID        string
	Raw       string // the JSON of Arguments
	Arguments Arguments
}

// Work is the script.
type Work struct {
	Steps [][]Call // the calls of each step
}

// New returns the work of n steps of k calls. All calls have different ids and arguments, so
// that no loop treats a call as a duplicate.
func New(n, k int) *Work {
	w := &Work{Steps: make([][]Call, n)}
	for i := range w.Steps {
		w.Steps[i] = make([]Call, k)
		for j := range w.Steps[i] {
			a := Arguments{City: "Oslo", Day: i*k + j}
			w.Steps[i][j] = Call{
				ID:        fmt.Sprintf("call_%d_%d", i, j),
				Raw:       fmt.Sprintf(`{"city":%q,"day":%d}`, a.City, a.Day),
				Arguments: a,
			}
		}
	}
	return w
}

// Halves divides a string into the two deltas of a streaming response.
func Halves(text string) [2]string {
	return [2]string{text[:len(text)/2], text[len(text)/2:]}
}

// Calls returns the number of calls.
func (w *Work) Calls() int {
	n := 0
	for _, s := range w.Steps {
		n += len(s)
	}
	return n
}
