package wire

import (
	"cmp"
	"maps"
	"slices"
	"strings"

	"github.com/looptape/looptape/llm"
	"github.com/looptape/looptape/trace/check"
)

// Report is what a Server has seen. Its JSON form is what `looptape serve --report`
// writes; members may be added to it.
type Report struct {
	Requests int `json:"requests"` // that reached a path of a provider
	// Refusals are the requests that got an error because of what they were, and
	// Violations the invariants that they broke, both in the order in which they were
	// seen.
	RejectedRequests []RejectedRequest `json:"refusals"`
	Violations       []Violation       `json:"violations"`
	// Counts are the violations that nobody suppressed, by invariant.
	Counts map[string]int `json:"counts"`
	// Shown is in how many answers each quirk was shown, by Quirk.String.
	Shown map[string]int `json:"quirks"`
	// Strays are the requests that are none of Requests, in the order in which they
	// were first seen.
	UnmatchedRequests []UnmatchedRequest `json:"strays"`
	// Lanes are those in which there were requests, by name.
	Sessions []string `json:"lanes"`
	// Unused are the turns of the script that nobody asked for.
	Unused []string `json:"unused"`
}

// Refusal is a request that got an error because of what it was.
type RejectedRequest struct {
	Request int `json:"request"` // counted from 1
	// RetryOf is the first request that was refused alike and had just the same body;
	// 0 if this is the first. What the request broke is told there.
	RetryOf  int    `json:"retry_of,omitempty"`
	Protocol string `json:"protocol"`
	Session  string `json:"lane,omitempty"`
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
	Session    string `json:"lane,omitempty"`
	Invariant  string `json:"invariant"`
	Message    string `json:"message"`
	Hint       string `json:"hint"`
	Suppressed string `json:"suppressed,omitempty"` // why it does not count
}

// Held reports whether every request was one that its provider takes and kept the
// invariants.
func (r *Report) OK() bool {
	return len(r.RejectedRequests)+len(r.Counts)+len(r.UnmatchedRequests) == 0
}

// Report returns what the Server has seen until now. None of its members is nil.
func (s *Server) Report() Report {
	s.mu.Lock()
	defer s.mu.Unlock()
	r := s.report
	r.RejectedRequests = append([]RejectedRequest{}, r.RejectedRequests...)
	r.Violations = append([]Violation{}, r.Violations...)
	r.Shown = map[string]int{}
	for _, q := range s.cfg.Quirks {
		r.Shown[q.String()] = 0
	}
	maps.Copy(r.Shown, s.report.Shown)
	r.count()
	r.UnmatchedRequests = append([]UnmatchedRequest{}, r.UnmatchedRequests...)
	r.Sessions = append([]string{}, s.watch.Sessions()...)
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
			Request: x.n, Session: x.played, Invariant: v.Invariant, Message: v.Message, Hint: v.Hint, Suppressed: s.cfg.Suppress[v.Invariant],
		})
	}
}

// invalid notes which invariant a refused request broke, unless that is told
// already: what is wrong with its credential, with the name of the model or with the
// script is none of the loop's.
func (x *exchange) invalid(e *refusal) {
	if x.broke || e.setup {
		return
	}
	id := ruleBreaks(e.id)
	if id == "" {
		return
	}
	v := check.Broken(id, "", check.NoEvent, "the provider refuses the request")
	if e.id == "" {
		v.Hint = noRuleHint
	} else {
		v.Message += ", by " + e.id
	}
	x.violated(v)
}

// noRuleHint is for what is refused by none of the Rules.
const noRuleHint = "The words of the refusal say which header, field or value the provider does not take, or that the body is not JSON. Correct it where the client, or a library below it, sets it."

// ruleBreaks is the invariant that a request broke which a rule refuses; empty if
// none.
func ruleBreaks(rule string) string {
	switch rule {
	case "SO-16", "SO-17", "SA-21", "SG-16", "SG-17":
		return ""
	case "SO-01", "SO-02", "SO-03", "SO-04", "SO-20", "SR-01", "SR-02", "SR-03", "SA-01", "SA-02", "SA-03", "SG-01", "SG-03":
		return "INV-01"
	case "SG-02":
		return "INV-02"
	case "SA-04":
		return "INV-04"
	case "SO-19", "SR-07", "SR-08", "SR-09", "SA-13", "SA-14", "SG-04":
		return "INV-22"
	}
	return "INV-24"
}

// Done returns the report of a Server whose clients have ended: an answer with calls
// that nobody went on from is a violation too (INV-07).
func (s *Server) Done() Report {
	r := s.Report()
	for _, p := range s.watch.Pending() {
		v := check.Broken("INV-07", "", check.NoEvent, "the answer asked for "+names(p.Calls)+", and nobody went on from it")
		r.Violations = append(r.Violations, Violation{
			Request: p.Request, Session: p.Session, Invariant: v.Invariant, Message: v.Message, Hint: v.Hint, Suppressed: s.cfg.Suppress[v.Invariant],
		})
	}
	slices.SortStableFunc(r.Violations, func(a, b Violation) int { return cmp.Compare(a.Request, b.Request) })
	r.count()
	return r
}

// names lists the tools of calls.
func names(calls []llm.ToolCall) string {
	var out []string
	for _, c := range calls {
		out = append(out, c.Name)
	}
	return strings.Join(out, ", ")
}

// count counts the violations.
func (r *Report) count() {
	r.Counts = map[string]int{}
	for _, v := range r.Violations {
		if v.Suppressed == "" {
			r.Counts[v.Invariant]++
		}
	}
}
