package reactagent

import (
	"cmp"
	"context"
	"fmt"
	"slices"

	"github.com/looptape/looptape/llm"
	"github.com/looptape/looptape/loop"
	"github.com/looptape/looptape/loop/files"
	"github.com/looptape/looptape/loop/middleware"
)

// DeepConfig is the argument of createDeepAgent. The zero value has the defaults of the
// reference loop: files in memory, the general-purpose tools that can work (none without
// GeneralPurpose), summaries and no human approval.
type DeepConfig struct {
	Config
	SubAgents []SubAgent
	// Backend stores the files; nil stores them in memory for this agent only.
	Backend files.Backend
	// Approve, if not nil, decides about each call before it runs. If InterruptOn is not
	// empty, it decides only about calls of those tools.
	Approve     func(context.Context, middleware.ApprovalRequest) (middleware.Approval, error)
	InterruptOn map[string]middleware.ApprovalRule
	// AskUser, if not nil, answers the model's requests for user input.
	AskUser func(context.Context, []middleware.Question) ([]string, error)
	// GeneralPurpose has the middleware of the general-purpose groups, named web, search, text, git
	// and shell: those that can work, such as the result of the method Middleware of contrib/general.
	// Any other name is an error. The stack has them in this order, whatever that of the list is.
	// NewDeep omits shell unless Approve decides about calls of its tool, shell: Approve must be
	// set, and InterruptOn must be empty or have this name. Sub-agents have none of the groups.
	GeneralPurpose []loop.Middleware
	// NoFilesystem omits the tools for files. NoGeneralPurpose omits GeneralPurpose.
	NoFilesystem, NoGeneralPurpose bool
	// GeneralPurposeAgent adds a sub-agent with the name general-purpose and the
	// agent's own tools and system prompt. Like all sub-agents, it has none of the
	// agent's Middleware. If permissions or guardrails must apply to it, add a SubAgent
	// with that name and its own Middleware to SubAgents.
	GeneralPurposeAgent bool
	// Summary configures when conversations are summarized. A Window of 0 means the
	// window of the model, if it is known.
	Summary   middleware.Summarizer
	NoSummary bool
	// SummaryFirst puts summaries first in the stack instead of last.
	SummaryFirst bool
}

// SubAgent is an agent that executes tasks. It receives only the task. It has the same
// files and the same approval as the agent. It cannot delegate tasks and has none of the
// agent's Middleware.
type SubAgent struct {
	Name        string
	Description string // purpose, for the model that delegates tasks
	System      string
	Tools       []loop.Tool
	Middleware  []loop.Middleware // between that for files and that for approval
	Model       llm.Model         // nil means the agent's model
	ModelName   string            // empty means the agent's model name
	MaxSteps    int               // 0 means 24
}

// NewDeep returns an agent as createDeepAgent does. It calls [New] with this list of
// middleware: its own tasks (write_todos), files, sub-agents (task), the general-purpose
// groups, the middleware of cfg, user input, approval, summaries. cfg may be nil.
func NewDeep(model llm.Model, cfg *DeepConfig) (*Agent, error) {
	given := *cmp.Or(cfg, &DeepConfig{})
	cfg = &given // the summaries of each run read it
	s, err := newStack(model, cfg)
	if err != nil {
		return nil, fmt.Errorf("reactagent: %w", err)
	}
	own := cfg.Config
	own.Middleware = s.list(cfg)
	a, err := New(model, &own)
	if err != nil {
		return nil, err
	}
	a.summarizer, a.writer, a.window = s.summarizer, cfg.Summary.Model, s.window
	return a, nil
}

// stack is the middleware of a deep agent. The list of a disabled feature is empty.
type stack struct {
	todos, files, subagents, general, askUser, human, summary []loop.Middleware

	window     *contextWindow
	summarizer func() middleware.Summarizer
}

func newStack(model llm.Model, cfg *DeepConfig) (s *stack, err error) {
	s = &stack{todos: []loop.Middleware{middleware.Todos()}, window: &contextWindow{known: window(model, cfg.ContextWindow)}}
	add := func(to *[]loop.Middleware) func(loop.Middleware, error) {
		return func(m loop.Middleware, failed error) { *to, err = []loop.Middleware{m}, cmp.Or(err, failed) }
	}
	if !cfg.NoFilesystem {
		b := cfg.Backend
		if b == nil {
			b = &files.Memory{}
		}
		add(&s.files)(middleware.Files(func(loop.RunInfo) files.Backend { return b }))
	}
	if cfg.AskUser != nil {
		add(&s.askUser)(middleware.AskUser(cfg.AskUser))
	}
	if cfg.Approve != nil {
		add(&s.human)(middleware.HumanInTheLoop(cfg.Approve, cfg.InterruptOn))
	}
	if !cfg.NoSummary {
		s.summarizer = func() middleware.Summarizer {
			z := cfg.Summary
			z.Window = cmp.Or(int(s.window.set.Load()), z.Window, s.window.known)
			return z
		}
		add(&s.summary)(s.summaries())
	}
	if err == nil {
		s.general, err = generalPurpose(cfg)
	}
	if err == nil {
		add(&s.subagents)(s.tasks(model, cfg))
	}
	return s, err
}

// summaries returns middleware that summarizes with the context window at the start of each run.
func (s *stack) summaries() (loop.Middleware, error) {
	m, err := s.summarizer().Middleware()
	m.New = func(info loop.RunInfo) loop.Hooks {
		now, err := s.summarizer().Middleware()
		if err != nil {
			return loop.Hooks{Start: func(context.Context) (context.Context, error) { return nil, err }}
		}
		return now.New(info)
	}
	return m, err
}

func (s *stack) list(cfg *DeepConfig) []loop.Middleware {
	list := slices.Concat(s.todos, s.files, s.subagents, s.general, cfg.Middleware, s.askUser, s.human)
	if cfg.SummaryFirst {
		return slices.Concat(s.summary, list)
	}
	return append(list, s.summary...)
}

func (s *stack) tasks(model llm.Model, cfg *DeepConfig) (loop.Middleware, error) {
	list := slices.Clone(cfg.SubAgents)
	if cfg.GeneralPurposeAgent {
		list = append(list, SubAgent{
			Name: "general-purpose", Description: "Works on any task of several steps, with the same tools.", System: cfg.System, Tools: cfg.Tools,
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
