package deepagents_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/looptape/looptape/fake"
	"github.com/looptape/looptape/loop"
	"github.com/looptape/looptape/loop/middleware"
	"github.com/looptape/looptape/loop/preset/deepagents"
	"github.com/looptape/looptape/trace"
)

// join runs f for all items concurrently and returns the results in the order of the
// items.
func join[T any](items []T, f func(T) (string, error)) ([]string, error) {
	out, errs := make([]string, len(items)), make([]error, len(items))
	var wg sync.WaitGroup
	for i, item := range items {
		wg.Go(func() { out[i], errs[i] = f(item) })
	}
	wg.Wait()
	return out, errors.Join(errs...)
}

// DA-47: concurrent runs of one agent share only their inputs. Each run has its own
// active agent and its own trace, equal to that of a single run.
func TestParallelRunsDA47(t *testing.T) {
	m := &fake.Model{Responses: []fake.Response{calls("transfer_to_b"), text("done")}, IsolateConversations: true}
	root := agent("root", m)
	root.Handoffs = []*deepagents.Agent{agent("b", nil)}
	for _, vars := range []func(who string) *middleware.Vars{
		func(who string) *middleware.Vars { return middleware.NewVars(map[string]any{"user": who}) },
		func(string) *middleware.Vars { return nil },
	} {
		ask := func(who string) (string, error) {
			var mem trace.Memory
			s, err := deepagents.Execute(t.Context(), root, loop.Prompt("I am "+who), vars(who), &deepagents.Options{Loop: loop.Config{Sink: &mem, Clock: fake.NewClock()}})
			if err != nil {
				return "", err
			}
			s.Consume(nil)
			active, _ := middleware.ActiveAgent.Get(s.State())
			return active + strings.ReplaceAll(trace.FormatText(trace.Canonical(mem.Events())), who, "WHO"), nil
		}
		alone, err := ask("Zoe")
		if err != nil || !strings.HasPrefix(alone, "b") {
			t.Fatalf("got %q, %v", alone, err)
		}
		got, err := join([]string{"Ada", "Bob", "Cyd"}, ask)
		if diff := cmp.Diff([]string{alone, alone, alone}, got); diff != "" || err != nil {
			t.Errorf("%v (-want +got):\n%s", err, diff)
		}
	}
	// The values and the middleware of the caller, whose list has capacity for more.
	values, list := map[string]any{"user": "Ada"}, append(make([]loop.Middleware, 0, 8), middleware.Repair{}.Middleware())
	var streams []*deepagents.Stream
	for range 2 {
		s, err := deepagents.Execute(t.Context(), root, loop.Prompt("go"), middleware.NewVars(values), &deepagents.Options{Loop: loop.Config{Middleware: list}})
		if err != nil {
			t.Fatal(err)
		}
		streams = append(streams, s)
	}
	for i, s := range streams {
		s.Consume(nil)
		if active, _ := middleware.ActiveAgent.Get(s.State()); active != "b" || len(values) != 1 {
			t.Errorf("run %d of two: the active agent is %q, the values %v", i, active, values)
		}
	}
}

// DA-48: a pipeline of agents, one of which runs many times concurrently. The text of one
// agent is the prompt of the next, in order. A search that fails ends the pipeline.
func TestPipelineDA48(t *testing.T) {
	shape, err := middleware.OutputOf[struct {
		Searches []string `json:"searches"`
	}]()
	if err != nil {
		t.Fatal(err)
	}
	type plan struct{ Searches []string }
	for _, failing := range []bool{false, true} {
		var order []string
		var mu sync.Mutex
		step := func(a *deepagents.Agent, input string) (*deepagents.Result, error) {
			mu.Lock()
			order = append(order, a.Name)
			mu.Unlock()
			return deepagents.Generate(t.Context(), a, loop.Prompt(input), nil, nil)
		}
		lookUp := loop.Tool{Name: "look_up", Run: func(ctx context.Context, _ loop.Call) (loop.Output, error) { return loop.TextOutput("x"), ctx.Err() }}
		found := &fake.Model{Responses: []fake.Response{calls("look_up"), text("found")}, IsolateConversations: true}
		if failing {
			found.Responses[1] = fake.Response{Error: &fake.Failure{Status: 400, Message: "no search"}}
		}
		writer := fake.NewModel(text("report"))
		planner, searcher := agent("plan", fake.NewModel(text(`{"searches":["a","b","c"]}`))), agent("search", found, lookUp)
		planner.Output = shape
		got, err := func() (string, error) {
			res, err := step(planner, "Query: q")
			if err != nil {
				return "", err
			}
			var p plan
			if _, err := shape.Read(res.Text, &p); err != nil {
				return "", err
			}
			results, err := join(p.Searches, func(q string) (string, error) {
				res, err := step(searcher, "Search: "+q)
				return q + " " + res.Text, err
			})
			if err != nil {
				return "", err
			}
			report, err := step(agent("write", writer), "Results: "+strings.Join(results, ", "))
			if err != nil {
				return "", err
			}
			checked, err := step(agent("verify", fake.NewModel(text("fine"))), report.Text)
			return checked.Text, err
		}()
		want := "plan search search search write verify"
		if failing {
			want = "plan search search search"
		}
		if strings.Join(order, " ") != want || failing != (err != nil) || !failing && got != "fine" {
			t.Errorf("failing %v: got %q, %v; order %s", failing, got, err, order)
		}
		if failing {
			continue
		}
		if asked := fmt.Sprint(writer.RecordedRequests()[0].Request.Messages[0].Text()); asked != "Results: a found, b found, c found" {
			t.Errorf("the request of the writer is %q", asked)
		}
	}
}
