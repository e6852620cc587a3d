package importer

import (
	"encoding/json"
	"reflect"

	"github.com/looptape/looptape/trace"
)

// CaseEvent is the name of the custom event of a trace that tells what a run is about:
// its case, epoch and cluster, and what should come of it.
const CaseEvent = "looptape.about"

// about is the data of an CaseEvent.
type about struct {
	Case    string    `json:"case,omitempty"`
	Epoch   *int      `json:"epoch,omitempty"` // nil if it is not said
	Cluster string    `json:"cluster,omitempty"`
	Want    *Expected `json:"want,omitempty"` // nil if it says nothing
}

// About is the event that tells what the run is about: for another trace of the same case.
func (r *Run) About() trace.Custom {
	a := about{Case: r.Case, Cluster: r.Cluster}
	if r.Epoch != NoEpoch {
		a.Epoch = &r.Epoch
	}
	if !reflect.ValueOf(r.Expected).IsZero() {
		a.Want = &r.Expected
	}
	data, _ := json.Marshal(a) // texts, numbers, and JSON that was read
	return trace.Custom{Name: CaseEvent, Data: data}
}

// told takes what an CaseEvent tells. One that cannot be read tells nothing.
func (r *Run) told(ev trace.Custom) {
	var a about
	if ev.Name != CaseEvent || json.Unmarshal(ev.Data, &a) != nil {
		return
	}
	r.Case, r.Cluster = a.Case, a.Cluster
	if a.Epoch != nil && *a.Epoch >= 0 {
		r.Epoch = *a.Epoch
	}
	if a.Want != nil {
		r.Expected = *a.Want
	}
}
