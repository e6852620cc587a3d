package wire

import (
	"cmp"
	"maps"
	"net/http"
	"slices"
	"sort"
	"strings"

	"github.com/looptape/looptape/fake/wire/internal/quirk"
	"github.com/looptape/looptape/fake/wire/internal/reply"
	"github.com/looptape/looptape/fake/wire/internal/strict"
	"github.com/looptape/looptape/trace/check"
)

// ReportVersion is the version of the JSON form of a [Report].
const ReportVersion = 2

const reportFormat = "looptape-serve"

// Report is what a [Server] has received. Its JSON form is what `looptape serve --report`
// writes. Later versions may add members.
type Report struct {
	Format   string `json:"format"`   // looptape-serve
	Version  int    `json:"version"`  // of the JSON form
	Requests int    `json:"requests"` // to the path of a provider
	// RejectedRequests got an error, Violations are the invariants that requests broke.
	// Both are in the order of the requests.
	RejectedRequests []RejectedRequest `json:"rejected_requests"`
	Violations       []Violation       `json:"violations"`
	// Counts is the number of violations that are not suppressed, by invariant.
	Counts map[string]int `json:"counts"`
	// Shown is the number of responses that show each quirk, by Quirk.String.
	Shown map[string]int `json:"quirks"`
	// Applicable lists the quirks, without a number of a response, that would change a
	// response of the run, if [Config.FindQuirks].
	Applicable []string `json:"applicable_quirks,omitempty"`
	// UnmatchedRequests are not among Requests. They are in the order of the first ones.
	UnmatchedRequests []UnmatchedRequest `json:"unmatched_requests"`
	// Sessions are the names of the sessions that had requests.
	Sessions []string `json:"sessions"`
	// Unused describes in sentences the responses and attempts of the script that no
	// request selected.
	Unused []string `json:"unused"`
	// Failures describes in sentences why the run fails, in addition to the members above:
	// no request came, a response was never requested, or a request came again and again. It
	// is empty until [Server.Done].
	// A caller may add its own.
	Failures []string `json:"failures"`
	// Notes describes in sentences what is unusual and no failure: a request that came again
	// although it got a response. It is empty until [Server.Done].
	Notes []string `json:"notes"`
}

// RejectedRequest is a request that got an error because it is invalid.
type RejectedRequest struct {
	Request int `json:"request"` // from 1
	// RetryOf is the number of the first request with the same body and error; 0 means
	// that this is the first.
	RetryOf  int    `json:"retry_of,omitempty"`
	Protocol string `json:"protocol"`
	Session  string `json:"session,omitempty"`
	// ID is the id of a rule in docs/strict-server.md; empty means none of them.
	ID      string `json:"id,omitempty"`
	Status  int    `json:"status"`
	Type    string `json:"type,omitempty"`  // the provider's; Gemini's status word
	Param   string `json:"param,omitempty"` // the position in the request
	Code    string `json:"code,omitempty"`
	Message string `json:"message"`
	// BeyondScript is true if the script has no response or attempt left.
	BeyondScript bool `json:"beyond_script,omitempty"`
}

// Violation is an invariant that a request broke.
type Violation struct {
	Request    int    `json:"request"` // from 1
	Session    string `json:"session,omitempty"`
	Invariant  string `json:"invariant"`
	Message    string `json:"message"`
	Hint       string `json:"hint"`
	Suppressed string `json:"suppressed,omitempty"` // the reason; empty means that it counts
}

// UnmatchedRequest is a request whose method or path matches no provider endpoint. The
// usual reason is a wrong base URL.
type UnmatchedRequest struct {
	Method string `json:"method"`
	Path   string `json:"path"` // without the query, which may contain a key
	Times  int    `json:"times"`
	Served string `json:"served"` // the endpoints for such a client
}

// isFailure reports whether the request may have been for a model. One that counts tokens is not: clients estimate the
// count if a server has no such path. For Gemini the path is one of an unknown method (SG-16).
func (x UnmatchedRequest) isFailure() bool {
	return !strings.HasSuffix(x.Path, "/messages/count_tokens") && !strings.HasSuffix(x.Path, "/responses/input_tokens")
}

// OK reports whether no request was rejected or unmatched, no invariant was broken, and there
// are no Failures.
func (r *Report) OK() bool {
	return len(r.RejectedRequests)+len(r.Counts)+len(r.Failures) == 0 && !slices.ContainsFunc(r.UnmatchedRequests, UnmatchedRequest.isFailure)
}

// Report returns what the server has received until now. None of its members is nil.
func (s *Server) Report() Report {
	s.mu.Lock()
	defer s.mu.Unlock()
	r := s.report
	r.RejectedRequests = append([]RejectedRequest{}, r.RejectedRequests...)
	r.Violations = append([]Violation{}, r.Violations...)
	r.Shown, r.Applicable = maps.Clone(r.Shown), s.applicableQuirks()
	r.count()
	r.UnmatchedRequests = append([]UnmatchedRequest{}, r.UnmatchedRequests...)
	r.Sessions = append([]string{}, s.watch.Sessions()...)
	r.Unused, r.Failures, r.Notes = s.describeUnused(s.cfg.Model.UnusedResponses()), []string{}, []string{}
	return r
}

// Done returns the report of a server whose clients have ended. It also reports
// responses with tool calls from which no request continued (INV-07), and Failures if no
// request came, if a request came three times in a row although each time it got its complete
// response or, unless [Config.AllowUnused], if a response was never requested. It accepts
// such calls and unused responses if a response showed a quirk with the Ending "error", and
// unused responses if one with "early".
func (s *Server) Done() Report {
	r := s.Report()
	for _, p := range s.watch.Pending() {
		var names []string
		for _, c := range p.Calls {
			names = append(names, c.Name)
		}
		v := check.Violation{Invariant: "INV-07", Event: check.NoEvent, Message: "the response requested " + strings.Join(names, ", ") + ", and no request continued from it"}.WithHint()
		r.Violations = append(r.Violations, s.violation(p.Request, p.Session, v))
		if last := &r.Violations[len(r.Violations)-1]; s.ending(&r, quirk.EndsWithError) {
			last.Suppressed = cmp.Or(last.Suppressed, "a quirk ends the run with an error")
		}
	}
	sort.SliceStable(r.Violations, func(i, j int) bool { return r.Violations[i].Request < r.Violations[j].Request })
	r.count()
	again, notes := s.repeated()
	r.Notes = notes
	switch missing := s.noRequest(&r); {
	case missing != "":
		r.Failures = append(r.Failures, missing)
	case !s.cfg.AllowUnused && !s.ending(&r, quirk.EndsWithError, quirk.EndsEarly):
		r.Failures = append(r.Failures, r.Unused...)
	}
	r.Failures = append(r.Failures, again...)
	return r
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

// ending reports whether a response showed a quirk with one of these endings.
func (s *Server) ending(r *Report, some ...string) bool {
	for i, q := range s.cfg.Quirks {
		if r.Shown[q.String()] > 0 && slices.Contains(some, s.quirks[i].Ending) {
			return true
		}
	}
	return false
}

// findQuirks records the quirks that would change a response.
func (s *Server) findQuirks(p *reply.Response) {
	found := quirk.Applicable(p)
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, info := range found {
		s.applicable[Quirk(info).String()] = true
	}
}

// applicableQuirks lists what findQuirks recorded, in the order of [Quirks].
func (s *Server) applicableQuirks() (names []string) {
	if len(s.applicable) == 0 {
		return nil
	}
	for _, q := range Quirks() {
		if s.applicable[q.String()] {
			names = append(names, q.String())
		}
	}
	return names
}

// countQuirks counts the quirks of a response.
func (s *Server) countQuirks(shown []bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for i, yes := range shown {
		if yes {
			s.report.Shown[s.cfg.Quirks[i].String()]++
		}
	}
}

// addViolations reports the invariants that a request broke.
func (x *exchange) addViolations(found ...check.Violation) {
	s := x.server
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, v := range found {
		x.broke = true
		s.report.Violations = append(s.report.Violations, s.violation(x.number, x.played, v))
	}
}

func (s *Server) violation(request int, session string, v check.Violation) Violation {
	return Violation{Request: request, Session: session, Invariant: v.Invariant, Message: v.Message, Hint: v.Hint, Suppressed: s.cfg.Suppress[v.Invariant]}
}

// reject writes the error of a request and reports it.
func (x *exchange) reject(e *strict.Error) {
	e.Type = cmp.Or(e.Type, x.InvalidType())
	id := "req_" + x.key.ID()
	first := x.addSent(e.Status, e.ID).before(x.number)
	if v := rejection(e); first == 0 && !x.broke && !e.Setup && v.Invariant != "" {
		x.addViolations(v)
	}
	x.server.mu.Lock()
	x.server.report.RejectedRequests = append(x.server.report.RejectedRequests, RejectedRequest{
		Request: x.number, RetryOf: first, Protocol: x.Protocol.Name(), Session: x.played, ID: e.ID,
		Status: e.Status, Type: e.Type, Param: e.Param, Code: e.Code, Message: strings.TrimSuffix(e.Message, "\n"), BeyondScript: e.Beyond,
	})
	x.server.mu.Unlock()
	if name := x.IDHeader(); name != "" {
		x.w.Header().Set(name, id)
	}
	writeError(x.w, e.Status, e.Body(x.Endpoint, id))
}

func writeError(w http.ResponseWriter, status int, body []byte) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_, _ = w.Write(body) // the client may have disconnected
}

// noRuleHint is the hint of a request that no rule rejects.
const noRuleHint = "The error message names the header, member or value that the provider rejects, or says that the body is not JSON. Correct it in the client, or in the library that sets it."
