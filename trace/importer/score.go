package importer

import (
	"cmp"
	"encoding/json"
	"errors"
	"math"
	"strconv"
	"strings"
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
	r.Case = cmp.Or(scalar(r.Meta["task_id"]), scalar(r.Meta["case"]), scalar(r.Meta["instance_id"]), scalar(r.Meta["id"]))
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

// scoreOf reads a score: a number, a truth value, or a text for either. Texts mean what
// they do in Inspect (value_to_float in inspect_ai/scorer/_metric.py), but for those that
// it takes for 0 with a warning, which are errors here.
func scoreOf(name string, raw json.RawMessage) Score {
	s := Score{Name: name, Raw: raw}
	text := asText(raw)
	switch text {
	case "C":
		s.Value = 1
	case "P":
		s.Value = 0.5
	case "I", "N":
	case "NaN": // as Python writes what is no number
		s.Err = errors.New("there is no value (NaN)")
	default:
		s.Value, s.Err = scored(text)
	}
	return s
}

// scored reads a score that is no grade.
func scored(text string) (float64, error) {
	switch strings.ToLower(text) {
	case "yes", "true":
		return 1, nil
	case "no", "false":
		return 0, nil
	}
	v, err := strconv.ParseFloat(text, 64)
	if err != nil || math.IsInf(v, 0) || math.IsNaN(v) {
		return 0, errors.New("it is no number, no truth value, and none of C, I, P and N")
	}
	return v, nil
}
