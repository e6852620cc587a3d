package wire

import (
	"cmp"
	"errors"
	"fmt"
	"hash/fnv"
	"net/http"
	"slices"
	"strconv"
	"strings"

	"github.com/looptape/looptape/fake"
	"github.com/looptape/looptape/fake/wire/internal/strict"
)

// describeUnused describes in sentences responses and attempts of the script that no request
// selected.
func (s *Server) describeUnused(left []fake.Recorded) []string {
	out := []string{}
	for len(left) > 0 {
		n := 1
		for n < len(left) && follows(left[n-1], left[n]) {
			n++
		}
		out = append(out, s.neverRequested(left[0], left[n-1]))
		left = left[n:]
	}
	return out
}

// follows reports whether b is the response, or the attempt at a response, after a.
func follows(a, b fake.Recorded) bool {
	next := a
	if a.Attempt == 0 {
		next.Response++
	} else {
		next.Attempt++
	}
	return next == b
}

func (s *Server) neverRequested(first, last fake.Recorded) string {
	of := s.ofScript(first.Session)
	switch {
	case first.Attempt > 0:
		return fmt.Sprintf("%s at response %d%s never requested.", numbered("Attempt", first.Attempt, last.Attempt), first.Response+1, of+was(first == last))
	case last.Response-first.Response+1 == len(s.cfg.Model.Script(first.Session)):
		return "No response" + of + " was requested."
	}
	return numbered("Response", first.Response+1, last.Response+1) + of + was(first == last) + " never requested."
}

func numbered(noun string, first, last int) string {
	if first == last {
		return fmt.Sprintf("%s %d", noun, first)
	}
	return fmt.Sprintf("%ss %d to %d", noun, first, last)
}

func was(one bool) string {
	if one {
		return " was"
	}
	return " were"
}

// ofScript names the script of a session, and the session if several have this script.
func (s *Server) ofScript(session string) string {
	m := s.cfg.Model
	if _, own := m.Sessions[session]; own {
		return " of " + quoted(session)
	}
	of := ""
	if m.Default != "" {
		of = " of " + quoted(m.Default)
	}
	shared := slices.DeleteFunc(s.watch.Sessions(), func(name string) bool { _, own := m.Sessions[name]; return own })
	if session != m.Default && len(shared) > 1 {
		of += " in session " + quoted(session)
	}
	return of
}

// quoted returns a name in backquotes if possible.
func quoted(name string) string {
	if strconv.CanBackquote(name) {
		return "`" + name + "`"
	}
	return strconv.Quote(name)
}

// noRequest describes why the report contains no request for a response; empty means that
// it does.
func (s *Server) noRequest(r *Report) string {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case r.Requests > s.listed:
		return ""
	case slices.ContainsFunc(r.UnmatchedRequests, UnmatchedRequest.isFailure):
		return "No request for a response came: the client has a wrong base URL."
	case r.Requests > 0:
		return "No request for a response came: the client only listed the models."
	}
	return "No request came: the client uses another base URL, or ended before its first request."
}

// scriptError is the error of a request that the script does not answer. Its message has the names of the scenario.
func (s *Server) scriptError(err error, at fake.Recorded) *strict.Error {
	out := &strict.Error{Status: http.StatusBadRequest, Setup: true, Message: err.Error()}
	e, ok := errors.AsType[*fake.ScriptError](err)
	if !ok || !strings.HasPrefix(e.Problem, "no ") { // no response or no attempt is left
		return out
	}
	script := s.cfg.Model.Script(at.Session)
	where, left := numbered("response", at.Response+1, at.Response+1)+s.ofScript(at.Session), counted(len(script), "response")
	hint := ""
	switch n := len(script); {
	case at.Response < n:
		where, left = numbered("attempt", at.Attempt, at.Attempt)+" at "+where, counted(len(script[at.Response].Attempts), "attempt")
	case n > 0 && len(script[n-1].Calls) == 0 && script[n-1].Events == nil:
		hint = " The last one has no calls: a loop ends there (INV-11)."
	}
	_, request, _ := strings.Cut(e.Diff, "\n+ ")
	out.Beyond, out.Message = true, fmt.Sprintf("The program requested %s; the scenario has %s.%s\nGot %s", where, left, hint, request)
	return out
}

func counted(n int, noun string) string {
	if n != 1 {
		noun += "s"
	}
	return fmt.Sprintf("%d %s", n, noun)
}

// sent identifies a request and its error, to find requests that are sent again.
type sent struct {
	session, path, rule string // the rule of a rejected request
	status              int    // 0 means that the request got a response
	body                uint64 // its hash
}

// repeats counts equal requests with the same error or a response.
type repeats struct {
	first, last, times int
	row, longest       int // requests in a row, each after the complete response to the one before
}

// before returns the number of the first request; 0 means that it is the one with this number.
func (a *repeats) before(number int) int {
	if a.first == number {
		return 0
	}
	return a.first
}

// addSent counts a request.
func (x *exchange) addSent(status int, rule string) *repeats {
	h := fnv.New64a()
	_, _ = h.Write(x.body) // a hash takes all
	id := sent{x.session, x.Path, rule, status, h.Sum64()}
	s := x.server
	s.mu.Lock()
	defer s.mu.Unlock()
	a := s.sent[id]
	if a == nil {
		a = &repeats{first: x.number}
		s.sent[id] = a
	}
	if s.answered[x.session] != a {
		a.row = 0
	}
	delete(s.answered, x.session)
	a.last = x.number
	a.times++
	a.row++
	a.longest = max(a.longest, a.row)
	return a
}

// setAnswered records the last request of the session, whose complete response the client may have; nil means that it may
// not, and may retry.
func (x *exchange) setAnswered(a *repeats) {
	s := x.server
	s.mu.Lock()
	defer s.mu.Unlock()
	s.answered[x.session] = a
}

// repeated describes the requests that a client sent again although they got a response. Those that came again and again are
// failures: a client may send a request once more, such as after it was interrupted. The notes also describe the requests
// of web pages.
func (s *Server) repeated() (failures, notes []string) {
	const tolerated = 2 // in a row
	s.mu.Lock()
	defer s.mu.Unlock()
	var again []*repeats
	for id, a := range s.sent {
		if id.status == 0 && a.times > 1 {
			again = append(again, a)
		}
	}
	slices.SortFunc(again, func(a, b *repeats) int { return cmp.Compare(a.first, b.first) })
	notes = []string{}
	for _, a := range again {
		what := fmt.Sprintf("Request %d came %d times without a change, the last time as request %d, although it got a response.", a.first, a.times, a.last)
		if a.longest > tolerated {
			failures = append(failures, what)
		} else {
			notes = append(notes, what)
		}
	}
	if s.pages > 0 {
		notes = append(notes, fmt.Sprintf("Refused requests of web pages: %d. The first: %s.", s.pages, s.page))
	}
	return failures, notes
}
