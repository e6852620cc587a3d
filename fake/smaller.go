package fake

import (
	"iter"
	"reflect"
	"regexp"
	"slices"
	"strconv"
)

// Smaller yields scripts that do less than s, each with one change, the larger changes first. rename returns the label
// and the option that a choice of a [World] has with the smaller script.
func (s *Script) Smaller() iter.Seq2[*Script, func(at, option string) (string, string)] {
	return func(yield func(*Script, func(at, option string) (string, string)) bool) {
		try := func(change func(c *Script), rename func(at, option string) (string, string)) bool {
			c := clone(*s)
			change(&c)
			return yield(&c, rename)
		}
		_ = s.withoutSettings(try) && s.withoutResponses(try) && s.withoutCalls(try) && s.withoutTools(try) && s.withoutContents(try)
	}
}

// attempt tries a change and reports whether another one is wanted.
type attempt func(change func(c *Script), rename func(at, option string) (string, string)) bool

func sameLabel(at, option string) (string, string) { return at, option }

func (s *Script) withoutSettings(try attempt) bool {
	if s.Doc != "" || s.Cancel != nil || s.StopAfter != 0 || s.Gates != nil || slices.ContainsFunc(s.Models, func(m ModelScript) bool {
		return slices.ContainsFunc(m.Responses, func(r Response) bool { return r.Repeat > 0 || r.timed() })
	}) || slices.ContainsFunc(s.Tools, func(t Tool) bool { return t.Delay != 0 || t.Gate != "" }) {
		if !try((*Script).omitTimes, sameLabel) {
			return false
		}
	}
	if s.History != nil && !try(func(c *Script) { c.History = nil }, sameLabel) ||
		s.System != "" && !try(func(c *Script) { c.System = "" }, sameLabel) {
		return false
	}
	for i := range s.Loop {
		if !try(func(c *Script) { c.Loop = without(c.Loop, i) }, sameLabel) {
			return false
		}
	}
	for i := range s.Models {
		if i > 0 && !try(func(c *Script) { c.Models = without(c.Models, i) }, sameLabel) {
			return false
		}
	}
	return true
}

// timed reports whether a response has what a World does not use.
func (t *Response) timed() bool {
	return t.Expect != nil || t.Delay != 0 || t.Gate != "" || t.EventInterval != 0
}

// omitTimes omits what a World does not use.
func (s *Script) omitTimes() {
	s.Doc, s.Cancel, s.StopAfter, s.Gates = "", nil, 0, nil
	for i := range s.Models {
		list := slices.Clone(expand(s.Models[i].Responses))
		for j := range list {
			r := &list[j]
			r.Repeat, r.Expect, r.Delay, r.Gate, r.EventInterval = 0, nil, 0, "", 0
		}
		s.Models[i].Responses = list
	}
	for i := range s.Tools {
		s.Tools[i].Delay, s.Tools[i].Gate = 0, ""
	}
}

func (s *Script) withoutResponses(try attempt) bool {
	for i, m := range s.Models {
		n := len(m.Responses)
		if n > 2 && !try(func(c *Script) { c.Models[i].Responses = c.Models[i].Responses[:(n+1)/2] }, sameLabel) {
			return false
		}
		for j := n - 1; j >= 0 && n > 1; j-- {
			change := func(c *Script) { c.Models[i].Responses = without(c.Models[i].Responses, j) }
			rename := s.withoutPlace(m.Name, j+1)
			if !try(change, rename) || len(m.Responses[j].Calls) > 1 && !try(change, func(at, option string) (string, string) {
				return rename(earlierAnswer(at, m.Responses, j, 0), option)
			}) {
				return false
			}
		}
		for j := range m.Responses {
			if m.Responses[j].Attempts != nil && !try(func(c *Script) { c.Models[i].Responses[j] = c.Models[i].Responses[j].Attempts[0] }, sameLabel) {
				return false
			}
		}
	}
	return true
}

// ofStep is the label of a choice after an event of a step.
var ofStep = regexp.MustCompile(`^(after .* of step )(\d+)(.*)$`)

// withoutPlace renames the choices of responses of a session for a script without response k.
func (s *Script) withoutPlace(session string, k int) func(at, option string) (string, string) {
	prefix := ""
	if session != "" && session != mainSession {
		prefix = regexp.QuoteMeta(session) + " "
	}
	label := regexp.MustCompile(`^((?:model call |before the answer |after the cancel, the answer )` + prefix + `)(\d+)(, attempt \d+)?(.*)$`)
	answer := regexp.MustCompile(`^(` + prefix + `)(\d+)((?:, attempt \d+)?)$`)
	lower := func(pattern *regexp.Regexp, text string) string {
		m := pattern.FindStringSubmatchIndex(text)
		if m == nil {
			return text
		}
		n, _ := strconv.Atoi(text[m[4]:m[5]]) // of digits
		if n > k {
			n--
		}
		return text[:m[4]] + strconv.Itoa(n) + text[m[5]:]
	}
	return func(at, option string) (string, string) {
		return lower(ofStep, lower(label, at)), lower(answer, option)
	}
}

func (s *Script) withoutCalls(try attempt) bool {
	for i, m := range s.Models {
		for j, r := range m.Responses {
			for k := range r.Calls {
				if len(r.Calls) == 1 && r.Text == "" {
					continue
				}
				change := func(c *Script) {
					r := &c.Models[i].Responses[j]
					r.Calls = without(r.Calls, k)
				}
				rename := withoutCall(k + 1)
				later := func(at, option string) (string, string) {
					return rename(earlierAnswer(at, m.Responses, j, len(r.Calls)-1), option)
				}
				if !try(change, later) || !try(change, func(at, option string) (string, string) { return rename(fewerAnswers(at), option) }) {
					return false
				}
			}
		}
	}
	return true
}

var (
	callOption = regexp.MustCompile(`^call (\d+) `)
	nextAnswer = regexp.MustCompile(`^next answer (\d+)(?: #(\d+))?$`)
)

// withoutCall renames the quirks of calls for a response without call k.
func withoutCall(k int) func(at, option string) (string, string) {
	return func(at, option string) (string, string) {
		m := callOption.FindStringSubmatch(option)
		if m == nil {
			return at, option
		}
		n, _ := strconv.Atoi(m[1])
		if n > k {
			n--
		}
		return at, "call " + strconv.Itoa(n) + " " + option[len(m[0]):]
	}
}

// fewerAnswers is the label of a choice between answers if there is one answer less.
func fewerAnswers(at string) string {
	m := nextAnswer.FindStringSubmatch(at)
	if m == nil {
		return at
	}
	n, _ := strconv.Atoi(m[1])
	return "next answer " + strconv.Itoa(n-1) + at[len("next answer "+m[1]):]
}

// earlierAnswer is the label of a choice between answers if response k has only n concurrent calls: the choices of later
// responses with the same number of answers have a lower number of occurrence.
func earlierAnswer(at string, responses []Response, k, n int) string {
	m := nextAnswer.FindStringSubmatch(at)
	if m == nil || m[2] == "" {
		return at
	}
	answers, _ := strconv.Atoi(m[1])
	occurrence, _ := strconv.Atoi(m[2])
	before := 0
	for _, r := range responses[:k+1] {
		if len(r.Calls) >= answers {
			before++
		}
	}
	switch {
	case answers <= n || answers > len(responses[k].Calls) || occurrence <= before:
		return at
	case occurrence == 2:
		return "next answer " + m[1]
	}
	return "next answer " + m[1] + " #" + strconv.Itoa(occurrence-1)
}

// withoutTools omits tools that no response calls: without another one, the run would have another fault.
func (s *Script) withoutTools(try attempt) bool {
	for i, t := range s.Tools {
		if !s.calls(t.Name) && !try(func(c *Script) { c.Tools = without(c.Tools, i) }, sameLabel) {
			return false
		}
	}
	return true
}

// contents are the fields of a response that it can do without, in groups. One with calls can do without the last group.
var contents = [][]string{
	{"Usage"}, {"Reasoning", "ReasoningOpaque"}, {"TextOpaque", "Opaque"}, {"ResponseID", "Model", "RawFinishReason", "FinishMessage"},
	{"ChunkSize", "Warnings"}, {"Text", "Chunks"},
}

// omitContents omits groups of contents from response n, or from all if n is -1, and returns how many responses change.
func (s *Script) omitContents(n int, groups [][]string) (changed int) {
	at := 0
	for i := range s.Models {
		for j := range s.Models[i].Responses {
			r := &s.Models[i].Responses[j]
			isChanged := false
			for _, name := range slices.Concat(groups...) {
				v := reflect.ValueOf(r).Elem().FieldByName(name)
				needed := (name == "Text" || name == "Chunks") && len(r.Calls) == 0
				if (n < 0 || at == n) && !needed && !v.IsZero() {
					v.SetZero()
					isChanged = true
				}
			}
			if at++; isChanged {
				changed++
			}
		}
	}
	return changed
}

// withoutContents omits what responses and tools have apart from their calls.
func (s *Script) withoutContents(try attempt) bool {
	omit := func(n, least int, groups ...[]string) bool {
		c := clone(*s)
		return c.omitContents(n, groups) < least || try(func(c *Script) { c.omitContents(n, groups) }, sameLabel)
	}
	if !omit(-1, 1, contents...) {
		return false
	}
	responses := 0
	for _, m := range s.Models {
		responses += len(m.Responses)
	}
	for _, group := range contents {
		if !omit(-1, 2, group) {
			return false
		}
		for n := range responses {
			if !omit(n, 1, group) {
				return false
			}
		}
	}
	for i, t := range s.Tools {
		if t.Description != "" && !try(func(c *Script) { c.Tools[i].Description = "" }, sameLabel) ||
			t.Text != "" && !try(func(c *Script) { c.Tools[i].Text = "" }, sameLabel) {
			return false
		}
	}
	return true
}

// calls reports whether a response has a call of this tool.
func (s *Script) calls(tool string) bool {
	called := func(r Response) bool {
		return slices.ContainsFunc(r.Calls, func(c Call) bool { return c.Name == tool })
	}
	return slices.ContainsFunc(s.Models, func(m ModelScript) bool {
		return slices.ContainsFunc(m.Responses, func(r Response) bool { return called(r) || slices.ContainsFunc(r.Attempts, called) })
	})
}

// without returns a list without element i, nil if it was the only one.
func without[T any](list []T, i int) []T {
	if len(list) == 1 {
		return nil
	}
	return slices.Delete(list, i, i+1)
}
