package agentloop_test

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/looptape/looptape/fake"
	"github.com/looptape/looptape/loop/preset/agentloop"
)

// TestNewWritesLayers checks that the two layers of the configuration are in the registry
// when onAgentCreate is called (AL-81).
func TestNewWritesLayers(t *testing.T) {
	for _, c := range []struct {
		cfg  agentloop.Config
		want []string
	}{
		{agentloop.Config{System: "role", Context: "task"}, []string{
			"agentloop.system 10 [system] agent-loop role", "agentloop.context 100 [system] agent-loop task",
		}},
		{agentloop.Config{System: "role"}, []string{"agentloop.system 10 [system] agent-loop role"}},
		{agentloop.Config{Context: "task"}, []string{"agentloop.context 100 [system] agent-loop task"}},
		{agentloop.Config{}, nil},
	} {
		var got []string
		c.cfg.Hooks = new(agentloop.Bus)
		c.cfg.Hooks.Subscribe(func(_ context.Context, ev agentloop.Event) error {
			for _, l := range ev.Data.(*agentloop.Loop).History().Layers().Own() {
				got = append(got, fmt.Sprint(l.Name, " ", l.Priority, " ", l.Tags, " ", l.Owner, " ", l.Text()))
			}
			return nil
		})
		if _, err := agentloop.New(t.Context(), fake.NewModel(), &c.cfg); err != nil {
			t.Fatal(err)
		}
		same(t, fmt.Sprintf("layers with the system prompt %q and the context %q", c.cfg.System, c.cfg.Context), c.want, got)
	}
	l, err := agentloop.New(t.Context(), fake.NewModel(), &agentloop.Config{System: "role", Context: "task"})
	if err != nil {
		t.Fatal(err)
	}
	l.History().SetSystem("old")
	var got []string
	for _, layer := range l.History().Layers().Visible() {
		got = append(got, fmt.Sprint(layer.Name, " ", layer.Priority))
	}
	same(t, "layers in order", []string{"agentloop.system 10", "_legacy_system 50", "agentloop.context 100"}, got)
	same(t, "the system prompt", []string{"role", "old", "task"}, strings.Fields(l.History().System()))
}
