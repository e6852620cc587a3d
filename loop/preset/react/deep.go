package react

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/looptape/looptape/llm"
	"github.com/looptape/looptape/loop"
	"github.com/looptape/looptape/loop/files"
	"github.com/looptape/looptape/loop/middleware"
)

// DeepConfig is what createDeepAgent takes. Its zero value has the document's defaults:
// files in memory, the general-purpose tools, summaries, nobody who is asked.
type DeepConfig struct {
	Config
	SubAgents []SubAgent
	// Backend has the files; nil keeps them in memory, for this agent alone.
	Backend files.Backend
	// Approve, if set, is asked about each call before it is run, or, where InterruptOn
	// has tools, about theirs.
	Approve     middleware.HumanFunc
	InterruptOn map[string]middleware.HumanRule
	// AskUser, if set, answers questions of the model.
	AskUser middleware.AskUserFunc
	// NoFilesystem and NoGeneralPurpose leave out the tools for files, and the groups
	// web, search, text, git and shell.
	NoFilesystem, NoGeneralPurpose bool
	// GeneralPurposeAgent adds a sub-agent of the name GeneralPurposeAgentName, which
	// has the agent's own tools and system prompt. Like all sub-agents it has none of the
	// agent's Policies: where some of those keep watch over tools or answers, such as
	// permissions and guardrails, put a SubAgent of that name with its own in SubAgents.
	GeneralPurposeAgent bool
	// Summary says when conversations are summed up. A Window of 0 is that of the model,
	// if it is known.
	Summary   middleware.SummaryConfig
	NoSummary bool
	// SummaryFirst puts summaries at the beginning of the stack instead of its end.
	SummaryFirst bool
}

// SubAgent is an agent that gets tasks. It sees the task alone, works on the same files,
// is subject to the same approval, and gives no tasks. Of the agent's Policies it has none.
type SubAgent struct {
	Name        string
	Description string // what it is good for, for the model that gives it tasks
	System      string
	Tools       []loop.Tool
	Middleware  []loop.Middleware // between those for files and those that ask
	Model       llm.Model         // nil is that of the agent
	ModelName   string            // empty is the agent's
	MaxSteps    int               // 0 is DefaultMaxIterations
}

// GeneralPurposeAgentName is the name of the sub-agent that is built in.
const GeneralPurposeAgentName = "general-purpose"

// NewDeep makes an agent as createDeepAgent does: New with a stack of policies, in this
// order: tasks of its own (write_todos), files, sub-agents (task), the general-purpose
// tools, those of cfg, questions to the user, approval, summaries. cfg may be nil.
func NewDeep(model llm.Model, cfg *DeepConfig) (*Agent, error) {
	if cfg == nil {
		cfg = &DeepConfig{}
	}
	s, err := newStack(model, cfg)
	if err != nil {
		return nil, fmt.Errorf("react: %w", err)
	}
	own := cfg.Config
	own.Middleware = s.policies(cfg)
	a, err := New(model, &own)
	if err != nil {
		return nil, err
	}
	a.summarizer, a.writer = s.summarizer, cfg.Summary.Model
	return a, nil
}

// stack are the policies of a deep agent; those that it has not are empty lists.
type stack struct {
	todos, files, subagents, askUser, human, summary []loop.Middleware
	summarizer                                       *middleware.Summarizer
}

func newStack(model llm.Model, cfg *DeepConfig) (s *stack, err error) {
	s = &stack{}
	add := func(to *[]loop.Middleware, on bool, made func() (loop.Middleware, error)) {
		if !on || err != nil {
			return
		}
		p, failed := made()
		*to, err = []loop.Middleware{p}, failed
	}
	add(&s.todos, true, middleware.Todos)
	add(&s.files, !cfg.NoFilesystem, func() (loop.Middleware, error) {
		b := cfg.Backend
		if b == nil {
			b = &files.Memory{}
		}
		return middleware.Files(middleware.SharedBackend(b))
	})
	add(&s.askUser, cfg.AskUser != nil, func() (loop.Middleware, error) { return middleware.AskUser(cfg.AskUser) })
	add(&s.human, cfg.Approve != nil, func() (loop.Middleware, error) { return middleware.HumanInTheLoop(cfg.Approve, cfg.InterruptOn) })
	add(&s.summary, !cfg.NoSummary, func() (p loop.Middleware, err error) {
		c := cfg.Summary
		c.Window = cmp.Or(c.Window, window(model, cfg.ContextWindow))
		if s.summarizer, err = middleware.NewSummarizer(&c); err == nil {
			p = s.summarizer.Middleware()
		}
		return p, err
	})
	add(&s.subagents, true, func() (loop.Middleware, error) { return s.tasks(model, cfg) })
	return s, err
}

// policies are those of the agent itself.
func (s *stack) policies(cfg *DeepConfig) []loop.Middleware {
	var list []loop.Middleware
	if cfg.SummaryFirst {
		list = append(list, s.summary...)
	}
	list = slices.Concat(list, s.todos, s.files, s.subagents)
	if !cfg.NoGeneralPurpose {
		list = append(list, generalPurpose()...)
	}
	list = slices.Concat(list, cfg.Middleware, s.askUser, s.human)
	if !cfg.SummaryFirst {
		list = append(list, s.summary...)
	}
	return list
}

// tasks makes the sub-agents.
func (s *stack) tasks(model llm.Model, cfg *DeepConfig) (loop.Middleware, error) {
	list := slices.Clone(cfg.SubAgents)
	if cfg.GeneralPurposeAgent {
		list = append(list, SubAgent{
			Name: GeneralPurposeAgentName, Description: "Works on any task of several steps, with the same tools.", System: cfg.System, Tools: cfg.Tools,
		})
	}
	made := make([]middleware.SubAgent, len(list))
	for i, sub := range list {
		c := cfg.Config
		c.Log, c.OnStep, c.StopWhen, c.ToolChoice = nil, nil, nil, llm.ToolChoice{}
		c.System, c.Tools, c.MaxSteps, c.Model = sub.System, sub.Tools, sub.MaxSteps, cmp.Or(sub.ModelName, cfg.Model)
		c.Middleware = slices.Concat(s.files, sub.Middleware, s.human, s.summary)
		m := sub.Model
		if m == nil {
			m = model
		}
		a, err := New(m, &c)
		if err != nil {
			return loop.Middleware{}, fmt.Errorf("the sub-agent %q: %w", sub.Name, err)
		}
		made[i] = middleware.SubAgent{Name: sub.Name, Description: sub.Description, Agent: a.agent}
	}
	return middleware.SubAgents(made...)
}
