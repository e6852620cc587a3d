package importer

import (
	"cmp"
	"encoding/json"
	"errors"
	"math"
	"strconv"

	"github.com/looptape/looptape/internal/jsonio"
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
		if n, err := strconv.Atoi(scalar(r.Meta[name])); err == nil && n >= 0 {
			r.Epoch = n
			break
		}
	}
	for _, name := range recordedScores {
		if raw := r.Meta[name]; raw != nil && string(raw) != "null" {
			r.Scores = append(r.Scores, scoreOf(name, raw))
		}
	}
}

// scoreOf reads a score that is a number or a truth value.
func scoreOf(name string, raw json.RawMessage) Score {
	s := Score{Name: name, Raw: raw}
	d := jsonio.NewDec(jsonio.View(raw))
	switch d.Peek() {
	case 't':
		s.Value = 1
	case 'f':
	default:
		v, err := strconv.ParseFloat(string(raw), 64)
		if err != nil || math.IsInf(v, 0) || math.IsNaN(v) {
			s.Err = errors.New("it is neither a number nor true or false")
			break
		}
		s.Value = v
	}
	return s
}
