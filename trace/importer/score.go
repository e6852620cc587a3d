package importer

import (
	"cmp"
	"encoding/json"
	"errors"
	"math"
	"strconv"
)

// Score is one that a recording carries of a run.
type Score struct {
	Name  string  // of what was scored or who did it: reward, match
	Value float64 // true is 1, false is 0
	// Raw is the value as the recording has it, as JSON.
	Raw json.RawMessage
	// Err says why there is no Value.
	Err error
}

// NoEpoch is the epoch of a run whose recording does not say it.
const NoEpoch = -1

// recordedScores are the names of members in which a run's object carries a score.
var recordedScores = []string{"reward", "score"}

// tell takes from what is said beside the messages what case and epoch a run is, and
// how it was scored.
func (r *Run) tell() {
	r.Case = cmp.Or(scalar(r.Meta["task_id"]), scalar(r.Meta["case"]), scalar(r.Meta["id"]))
	for _, name := range []string{"trial", "epoch"} {
		if r.Epoch = epochOf(r.Meta[name]); r.Epoch != NoEpoch {
			break
		}
	}
	for _, name := range recordedScores {
		if raw := r.Meta[name]; !isNull(raw) {
			r.Scores = append(r.Scores, scoreOf(name, raw))
		}
	}
}

// scoreOf reads a score that is a number or a truth value.
func scoreOf(name string, raw json.RawMessage) Score {
	s := Score{Name: name, Raw: raw}
	switch string(raw) {
	case "true":
		s.Value = 1
	case "false":
	default:
		v, ok := number(string(raw))
		if !ok {
			s.Err = errors.New("it is neither a number nor true or false")
		}
		s.Value = v
	}
	return s
}

// number reads a number that is finite.
func number(text string) (v float64, ok bool) {
	v, err := strconv.ParseFloat(text, 64)
	if err != nil || math.IsInf(v, 0) || math.IsNaN(v) {
		return 0, false
	}
	return v, true
}
