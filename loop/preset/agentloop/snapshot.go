package agentloop

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/looptape/looptape/llm"
	"github.com/looptape/looptape/loop"
	"github.com/looptape/looptape/loop/history"
	"github.com/looptape/looptape/loop/middleware"
)

// snapshotVersion is the version that Dump writes. Restore accepts only this version.
const snapshotVersion = 1

// Snapshot is the state of an agent in a form that encodes to JSON. It contains no
// secrets of a model client and no functions of [Config]. Times are milliseconds since
// 1970.
type Snapshot struct {
	Version   int              `json:"version"`
	System    string           `json:"system"`
	Context   string           `json:"context"`
	History   history.Snapshot `json:"history"`
	ToolNames []string         `json:"toolNames"`
	Reports   []*Report        `json:"reports"`
	Metadata  map[string]any   `json:"metadata"`
	CreatedAt int64            `json:"createdAt"`
	SavedAt   int64            `json:"savedAt"`
	// PendingToolCalls are the calls of a response that wait. They include calls that are
	// decided but not executed. A snapshot never contains a decision.
	PendingToolCalls []PendingToolCall `json:"pendingToolCalls,omitempty"`
}

// PendingToolCall is a call that waits for a decision.
type PendingToolCall struct {
	RunID     string          `json:"runId"`
	Step      int             `json:"step"`
	CallID    string          `json:"callId"`
	ToolName  string          `json:"toolName"`
	Arguments json.RawMessage `json:"arguments"`
}

// Dump returns the current state of the agent. It may be called during a run.
func (l *Loop) Dump() Snapshot {
	s := Snapshot{
		Version: snapshotVersion, Context: l.cfg.Context, Reports: l.Reports(), Metadata: l.Metadata(),
		SavedAt: l.clock.Now().UnixMilli(), ToolNames: []string{},
	}
	l.mu.Lock()
	s.System, s.CreatedAt, s.History = l.system, l.created.UnixMilli(), l.history.Export()
	if l.partial != nil {
		s.History.Entries = append(s.History.Entries, history.SnapshotEntry{Message: llm.ToolResults(l.partial...)})
	}
	for _, t := range l.tools {
		s.ToolNames = append(s.ToolNames, t.Name)
	}
	l.mu.Unlock()
	if s.Reports == nil {
		s.Reports = []*Report{}
	}
	for _, p := range l.approvals.Unresolved() {
		s.PendingToolCalls = append(s.PendingToolCalls, PendingToolCall{p.Run, p.Step, p.Call.ID, p.Call.Name, object(p.Arguments)})
	}
	return s
}

// Restore returns an agent from a snapshot. The system prompt, context, history, reports,
// metadata and pending calls come from the snapshot. All other settings come from cfg,
// which may be nil. It emits a warning for each removed tool and then for each added
// tool. It returns an error if the snapshot has another version.
func Restore(ctx context.Context, model llm.Model, s Snapshot, cfg *Config) (*Loop, error) {
	if s.Version != snapshotVersion {
		return nil, fmt.Errorf("agentloop: Restore: the snapshot has version %d: want version %d", s.Version, snapshotVersion)
	}
	h, err := history.Import(s.History)
	if err != nil {
		return nil, fmt.Errorf("agentloop: Restore: %w", err)
	}
	own := *cmp.Or(cfg, &Config{})
	own.System, own.Context, own.History = s.System, s.Context, h
	l, err := construct(model, &own)
	if err != nil {
		return nil, err
	}
	l.apply(s)
	if err := l.emit(ctx, Event{Name: OnAgentCreate, Data: l}); err != nil {
		return nil, err
	}
	return l, l.compareTools(ctx, s.ToolNames)
}

func (l *Loop) apply(s Snapshot) {
	l.created = time.UnixMilli(s.CreatedAt)
	l.reports = slices.Clone(s.Reports)
	maps.Copy(l.metadata, s.Metadata)
	var pending []middleware.ApprovalRequest
	for _, p := range s.PendingToolCalls {
		l.suspended = p.RunID
		pending = append(pending, middleware.ApprovalRequest{
			Run: p.RunID, Step: p.Step, Arguments: string(p.Arguments),
			Call: llm.ToolCall{ID: p.CallID, Name: p.ToolName, Arguments: string(p.Arguments)},
		})
	}
	l.approvals.Restore(pending)
}

func (l *Loop) compareTools(ctx context.Context, before []string) error {
	for _, name := range before {
		if !slices.ContainsFunc(l.tools, func(t loop.Tool) bool { return t.Name == name }) {
			if err := l.warn(ctx, WarnToolRemoved, "the tool "+name+" is in the snapshot, but the agent does not have it"); err != nil {
				return err
			}
		}
	}
	for _, t := range l.tools {
		if !slices.Contains(before, t.Name) {
			if err := l.warn(ctx, WarnToolAdded, "the agent has the tool "+t.Name+", which is not in the snapshot"); err != nil {
				return err
			}
		}
	}
	return nil
}
