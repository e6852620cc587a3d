package scenario

import (
	"bytes"
	"context"
	"errors"
	"slices"
	"strconv"

	"github.com/looptape/looptape/fake"
	"github.com/looptape/looptape/llm"
	"github.com/looptape/looptape/loop"
	"github.com/looptape/looptape/loop/explore"
	"github.com/looptape/looptape/loop/middleware"
	"github.com/looptape/looptape/loop/store"
)

// keeper keeps the state of explored runs in a store: their messages, and their requests for approvals. One save or
// load can fail, or the process ends at a save. The state then begins in a new process.
type keeper struct {
	store.Memory
	x            *exploration
	c            *explore.Choices
	acted        bool
	ended        bool // the process
	saves, loads int
	log          *middleware.StoreLog
	approvals    *middleware.ApprovalStore
	stored       []llm.Message // when the last run began
}

var storeUses = []string{"", "keeps the state"}

var (
	errStore        = errors.New("no connection to the store")
	errProcessEnded = errors.New("the process has ended")
)

// newKeeper returns the store of a run, if it has one.
func (x *exploration) newKeeper(c *explore.Choices) *keeper {
	if !c.MayFault() || c.Fault("store", "", storeUses) == 0 {
		return nil
	}
	return &keeper{x: x, c: c, approvals: new(middleware.ApprovalStore)}
}

// act chooses what the store does. It does one thing in a run.
func (k *keeper) act(at string, n *int, options ...string) string {
	*n++
	if k.acted {
		return ""
	}
	o := options[k.c.Order("store", at+" "+strconv.Itoa(*n), options)]
	k.acted = o != ""
	return o
}

// Load implements [store.Store].
func (k *keeper) Load(ctx context.Context, key string) ([]byte, int64, error) {
	if k.act("load", &k.loads, "", "fails") == "fails" {
		return nil, 0, errStore
	}
	return k.Memory.Load(ctx, key)
}

// Save implements [store.Store].
func (k *keeper) Save(ctx context.Context, key string, value []byte, version int64) (int64, error) {
	if k.ended {
		return 0, errProcessEnded
	}
	action := k.act("save", &k.saves, "", "fails", "fails although it has saved", "ends the process before it saves", "ends the process after it has saved")
	switch action {
	case "fails":
		return 0, errStore
	case "ends the process before it saves":
		return 0, k.endProcess()
	}
	saved, err := k.Memory.Save(ctx, key, value, version)
	switch action {
	case "fails although it has saved":
		return 0, errStore
	case "ends the process after it has saved":
		return 0, k.endProcess()
	}
	return saved, err
}

// endProcess cancels the run: nothing that it does afterwards is stored.
func (k *keeper) endProcess() error {
	k.ended = true
	k.x.world.End(context.Canceled)
	return errProcessEnded
}

// begin returns the agent for a run that continues with what the store has. It loads again if that fails.
func (k *keeper) begin(agent *loop.Agent) *loop.Agent {
	ctx := context.Background()
	k.log = &middleware.StoreLog{Store: k, Name: "log"}
	var err error
	if k.stored, err = k.log.Load(ctx); err != nil {
		k.stored, _ = k.log.Load(ctx)
	}
	if k.approvals.Load(ctx, k, "approvals") != nil {
		_ = k.approvals.Load(ctx, k, "approvals")
	}
	agent, err = agent.With(func(cfg *loop.Config) {
		log := middleware.LogMessagesFrom(len(k.stored), k.log.Log)
		others := cfg.Middleware
		if len(others) > 0 && others[0].Name == log.Name { // of the run before
			others = others[1:]
		}
		cfg.Middleware = slices.Concat([]loop.Middleware{log}, others)
	})
	if err != nil {
		panic(err) // the configuration is valid
	}
	return agent
}

// check reports messages of the store that are not the first ones of the conversation, or that are missing
// although no save failed and the run added some.
func (k *keeper) check(conversation []llm.Message, added int, report reporter) {
	stored, err := (&middleware.StoreLog{Store: &k.Memory, Name: "log"}).Load(context.Background())
	if err != nil {
		report("INV-05", "the stored messages cannot be loaded: %v", err)
		return
	}
	if n := len(stored); n > len(conversation) || !sameConversation(stored, conversation[:n]) {
		report("INV-05", "the %d stored messages are not the first ones of the conversation, which has %d", n, len(conversation))
	} else if n < len(conversation) && !k.acted && added > 0 {
		report("INV-05", "%d of %d messages are stored, although no save failed", n, len(conversation))
	}
}

// nextProcess continues with the stored messages in a new process, if there is anything to do. Without another fault,
// the conversation is that of a process that does not end.
func (k *keeper) nextProcess(agent *loop.Agent, first loop.Input, report reporter) {
	x := k.x
	k.ended = false
	x.processes = append(x.processes, len(x.events))
	agent = k.begin(agent)
	in := loop.Input{ID: "continued", Sink: first.Sink, Messages: k.stored}
	if n := len(k.stored); n == 0 {
		in.Messages = first.Messages
	} else if last := k.stored[n-1]; last.Role == llm.RoleAssistant && len(last.Calls()) == 0 {
		return
	}
	if pending(k.stored) {
		in.Resume = &loop.Resume{Of: "r1"}
	}
	ctx := x.world.Renew()
	x.ctx = ctx
	run := agent.Start(ctx, in)
	x.consume(ctx, run, k.c)
	res, err := run.Wait()
	_, byMiddleware := errors.AsType[*loop.MiddlewareError](err)
	if _, is := errors.AsType[*loop.HistoryError](err); is && !byMiddleware {
		report("INV-01", "the stored messages are no history: %v", err)
	}
	x.conversation = slices.Concat(in.Messages, res.Messages)
	k.check(x.conversation, len(res.Messages), report)
	if len(k.c.Taken()) == 2 && x.repeats() && !sameConversation(x.conversation, x.plainConversation()) {
		report("INV-27", "the conversation of a process that ended and one that continued it has %d messages, and differs from that without an end, which has %d",
			len(x.conversation), len(x.plainConversation()))
	}
}

// plainConversation returns the conversation of a run without a fault.
func (x *exploration) plainConversation() []llm.Message {
	if x.plain == nil {
		other := &exploration{script: x.script, world: fake.NewWorld(x.script)}
		other.configure()
		defer other.Close()
		explore.Replay(other, []explore.Choice{{At: "store", Option: storeUses[1]}})
		x.plain = other.conversation
	}
	return x.plain
}

func sameConversation(a, b []llm.Message) bool {
	return slices.EqualFunc(a, b, func(m, n llm.Message) bool { return bytes.Equal(m.AppendJSON(nil), n.AppendJSON(nil)) })
}

// pending reports whether the last calls of messages lack results.
func pending(messages []llm.Message) bool {
	answered := map[string]bool{}
	for _, m := range slices.Backward(messages) {
		for _, p := range m.Parts {
			if r, is := p.(llm.ToolResult); is {
				answered[r.ID] = true
			}
		}
		if m.Role == llm.RoleAssistant {
			return slices.ContainsFunc(m.Calls(), func(c llm.ToolCall) bool { return !answered[c.ID] })
		}
	}
	return false
}

// repeats reports whether a process that is killed and continued has the conversation of one that is not: nothing
// depends on the number of calls or steps before.
func (x *exploration) repeats() bool {
	return len(x.script.Loop) == 0 && x.adjust == nil &&
		!slices.ContainsFunc(x.script.Tools, func(t fake.Tool) bool { return t.Client || len(t.Calls) > 0 })
}

// keepApprovals stores the requests for approvals of an exploration with a store.
func (x *exploration) keepApprovals(a *middleware.Approvals) {
	if x != nil && x.keeper != nil {
		a.Store, a.Checkpoint = x.keeper.approvals, x.keeper.approvals.Save
	}
}
