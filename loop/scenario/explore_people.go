package scenario

import (
	"context"
	"errors"
	"runtime"
	"slices"
	"strings"

	"github.com/looptape/looptape/llm"
	"github.com/looptape/looptape/loop"
	"github.com/looptape/looptape/loop/middleware"
	"github.com/looptape/looptape/trace"
)

// approve decides about a call.
type approve = func(context.Context, middleware.ApprovalRequest) (middleware.Approval, error)

// approverAnswer is what an approver can do in place of what the script says.
type approverAnswer struct {
	name     string
	approval middleware.Approval
}

// permissionAnswers are those of middleware.Approvals, and reviewAnswers those of middleware.HumanInTheLoop.
var (
	permissionAnswers = []approverAnswer{
		{"approves", middleware.Approval{Decision: middleware.Approve}},
		{"denies", middleware.Approval{Decision: middleware.Deny}},
		{"denies with a reason", middleware.Approval{Decision: middleware.Deny, Reason: "not today"}},
		{"skips the call", middleware.Approval{Decision: middleware.Skip}},
		{"suspends the run", middleware.Approval{Decision: middleware.Suspend}},
		{"gives the result", middleware.Approval{Decision: middleware.Approve, Override: new(loop.TextOutput("the approver's result"))}},
		{"makes an unknown decision", middleware.Approval{Decision: "perhaps"}},
	}
	reviewAnswers = []approverAnswer{
		{"approves", middleware.Approval{Decision: middleware.Approve}},
		{"edits the arguments", middleware.Approval{Decision: middleware.Edit, Arguments: `{"edited":true}`}},
		{"edits the arguments into a list", middleware.Approval{Decision: middleware.Edit, Arguments: `[1]`}},
		{"rejects", middleware.Approval{Decision: middleware.Reject}},
		{"rejects with a reason", middleware.Approval{Decision: middleware.Reject, Reason: "not today"}},
		{"responds", middleware.Approval{Decision: middleware.Respond, Reason: "I did it."}},
		{"makes an unknown decision", middleware.Approval{Decision: "perhaps"}},
	}
)

// personFaults are what a person can do in place of an answer.
var personFaults = []string{"fails", "panics", "ends the goroutine", "never answers"}

// approver returns an approver with the choices of the exploration; a nil exploration has none. The order of decisions
// is a choice. A run that is resumed gets an approval where the script suspends it.
func (x *exploration) approver(scripted approve, answers []approverAnswer) approve {
	if x == nil {
		return scripted
	}
	return func(ctx context.Context, req middleware.ApprovalRequest) (middleware.Approval, error) {
		a, err := scripted(ctx, req)
		if x.continued && a.Decision == middleware.Suspend {
			a.Decision = middleware.Approve
		}
		others := slices.DeleteFunc(slices.Clone(answers), func(o approverAnswer) bool { return o.approval == a })
		options := []string{""}
		for _, o := range others {
			options = append(options, o.name)
		}
		i, fault := x.person(ctx, "approver of", req.Call.ID, options)
		switch {
		case fault != nil:
			return middleware.Approval{}, fault
		case i > 0:
			return others[i-1].approval, nil
		}
		return a, err
	}
}

// user returns a user who replies to questions, with the choices of the exploration.
func (x *exploration) user(scripted func(context.Context, []middleware.Question) ([]string, error)) func(context.Context, []middleware.Question) ([]string, error) {
	if x == nil {
		return scripted
	}
	return func(ctx context.Context, questions []middleware.Question) ([]string, error) {
		var texts []string
		for _, q := range questions {
			texts = append(texts, q.Text)
		}
		i, err := x.person(ctx, "user asked", strings.Join(texts, " "), []string{"", "does not reply to the last question"})
		if err != nil {
			return nil, err
		}
		replies, err := scripted(ctx, questions)
		return replies[:max(len(replies)-i, 0)], err
	}
}

// person waits for the answer of a person, and returns the index of one of the options, or the error of another fault.
func (x *exploration) person(ctx context.Context, at, name string, options []string) (int, error) {
	all := slices.Concat(options, personFaults)
	i, _, err := x.world.Await(ctx, "", at+" "+name, all)
	if err != nil {
		return 0, err
	}
	switch all[i] {
	case "fails":
		return 0, errors.New("no connection to the person")
	case "panics":
		panic("the function panicked")
	case "ends the goroutine":
		runtime.Goexit()
	case "never answers":
		return 0, x.world.Hang(ctx)
	}
	return i, nil
}

// callerAnswers are what a caller can do with the pending calls of a run. Index 0 is a result for each.
var callerAnswers = []string{
	"", "answers the last call with an error", "does not answer the last call", "answers an unknown call, too", "answers the last call twice",
	"answers in reverse order", "resumes without results",
}

// resumptions are how a caller can resume a run that was suspended.
var resumptions = []string{"", "resumes with another message"}

// next returns the input of the run that continues one that ended with pending calls, if it did.
func (x *exploration) next(in *loop.Input, res *loop.Result, choose func(at, name string, options []string) int) bool {
	suspended := slices.ContainsFunc(x.events, func(ev trace.Event) bool { _, is := ev.Body.(trace.Suspended); return is })
	switch {
	case len(res.Pending) == 0:
		return false
	case suspended:
		in.Resume = &loop.Resume{Of: x.events[0].Run}
		if choose("the caller", "", resumptions) == 1 {
			in.Resume.Then = []llm.Message{llm.User("Continue.")}
		}
		in.Messages = slices.Concat(in.Messages, res.Messages)
		return true
	case res.StopReason != trace.ReasonClientTools:
		return false
	}
	options := callerAnswers
	if len(res.Pending) == 1 {
		options = slices.DeleteFunc(slices.Clone(options), func(o string) bool { return o == "answers in reverse order" })
	}
	var results []llm.Part
	for _, c := range res.Pending {
		results = append(results, llm.ToolResult{ID: c.ID, Name: c.Name, Content: []llm.Part{llm.Text{Text: "the caller's result"}}})
	}
	last, _ := results[len(results)-1].(llm.ToolResult)
	switch options[choose("the caller", "", options)] {
	case "answers the last call with an error":
		last.IsError = true
		results[len(results)-1] = last
	case "does not answer the last call":
		results = results[:len(results)-1]
	case "answers an unknown call, too":
		last.ID = "unknown_call"
		results = append(results, last)
	case "answers the last call twice":
		results = append(results, last)
	case "answers in reverse order":
		slices.Reverse(results)
	case "resumes without results":
		in.Resume, results = &loop.Resume{Of: x.events[0].Run}, nil
	}
	in.Messages = slices.Concat(in.Messages, res.Messages)
	if len(results) > 0 {
		in.Messages = append(in.Messages, llm.Message{Role: llm.RoleTool, Parts: results})
	}
	return true
}
