package wire

import (
	"maps"
	"slices"

	"github.com/looptape/looptape/trace/check"
)

// Report is what a Server has seen. Its JSON form is what `looptape serve --report`
// writes; members may be added to it.
type Report struct {
	Requests int `json:"requests"` // to a path that a provider has
	// Refusals are the requests that got an error because of what they were, and
	// Violations the invariants that they broke, both in the order in which they were
	// seen.
	Refusals   []Refusal   `json:"refusals"`
	Violations []Violation `json:"violations"`
	// Counts are the violations that nobody suppressed, by invariant.
	Counts map[string]int `json:"counts"`
	// Shown is in how many answers each quirk was shown, by Quirk.String.
	Shown map[string]int `json:"quirks"`
	// Unused are the turns of the script that nobody asked for.
	Unused []string `json:"unused"`
}

// Refusal is a request that got an error because of what it was.
type Refusal struct {
	Request  int    `json:"request"` // counted from 1
	Protocol string `json:"protocol"`
	Lane     string `json:"lane,omitempty"`
	// ID is that of the rule that the request broke, such as SO-01; empty if it is
	// none of those.
	ID      string `json:"id,omitempty"`
	Status  int    `json:"status"`
	Type    string `json:"type,omitempty"`  // as the provider calls it; Gemini's status word
	Param   string `json:"param,omitempty"` // where in the request
	Code    string `json:"code,omitempty"`
	Message string `json:"message"`
}

// Violation is an invariant that a request broke.
type Violation struct {
	Request    int    `json:"request"` // counted from 1
	Lane       string `json:"lane,omitempty"`
	Invariant  string `json:"invariant"`
	Message    string `json:"message"`
	Hint       string `json:"hint"`
	Suppressed string `json:"suppressed,omitempty"` // why it does not count
}

// Held reports whether every request was one that its provider takes and kept the
// invariants.
func (r *Report) Held() bool { return len(r.Refusals) == 0 && len(r.Counts) == 0 }

// Report returns what the Server has seen until now. None of its members is nil.
func (s *Server) Report() Report {
	s.mu.Lock()
	defer s.mu.Unlock()
	r := s.report
	r.Refusals = append([]Refusal{}, r.Refusals...)
	r.Violations = append([]Violation{}, r.Violations...)
	r.Shown = map[string]int{}
	for _, q := range s.cfg.Quirks {
		r.Shown[q.String()] = 0
	}
	maps.Copy(r.Shown, s.report.Shown)
	r.Counts = map[string]int{}
	for _, v := range r.Violations {
		if v.Suppressed == "" {
			r.Counts[v.Invariant]++
		}
	}
	r.Unused = append([]string{}, s.cfg.Model.Unused()...)
	return r
}

// violated notes the invariants that a request broke.
func (x *exchange) violated(found ...check.Violation) {
	s := x.server
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, v := range found {
		x.broke = true
		s.report.Violations = append(s.report.Violations, Violation{
			Request: x.n, Lane: x.lane, Invariant: v.Invariant, Message: v.Message, Hint: v.Hint, Suppressed: s.cfg.Suppress[v.Invariant],
		})
	}
}

// invalid notes that a refused request was not valid for its protocol, unless a
// more specific invariant was broken: what is wrong with its credential, with the
// name of the model or with the script is none of the loop's.
func (x *exchange) invalid(e *refusal) {
	if x.broke || e.script || slices.Contains([]string{"SO-16", "SO-17", "SA-21", "SG-16", "SG-17"}, e.id) {
		return
	}
	i := slices.IndexFunc(check.Catalogue(), func(info check.Info) bool { return info.ID == "INV-24" })
	v := check.Violation{Invariant: "INV-24", Message: "the request is refused: " + e.message, Hint: check.Catalogue()[i].Hint}
	if e.id != "" {
		v.Message = "the request is refused by " + e.id + ": " + e.message
	}
	x.violated(v)
}
