package watch_test

import (
	"encoding/json"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/looptape/looptape/llm"
	"github.com/looptape/looptape/trace/importer"
	"github.com/looptape/looptape/trace/watch"
)

// planted is a fault in the last request of a recording. Plant changes the request, and reports
// whether it could. A fault is an error of the invariant, except in the protocols of notes.
type planted struct {
	name, invariant string
	notes           []string
	plant           func(messages []llm.Message) ([]llm.Message, bool)
	// echo is true for a fault in the message that repeats the first response of the recording, the
	// first of the messages for plant.
	echo bool
	ids  bool // the calls must have ids of the provider
}

var allProtocols = []string{"openai-chat", "openai-responses", "anthropic-messages", "gemini"}

var plantedFaults = []planted{
	{name: "a result is dropped", invariant: "INV-01", plant: editResults(func(parts []llm.Part) []llm.Part { return parts[1:] }, 1)},
	{name: "a result is doubled", invariant: "INV-01", plant: editResults(func(parts []llm.Part) []llm.Part { return append(slices.Clone(parts), parts[0]) }, 1)},
	{name: "a result has another id", invariant: "INV-01", plant: editResults(func(parts []llm.Part) []llm.Part { return renameResult(parts, "other") }, 1)},
	{name: "a result has the id of the next one", invariant: "INV-01", plant: editResults(func(parts []llm.Part) []llm.Part { return renameResult(parts, parts[1].(llm.ToolResult).ID) }, 2)},
	{name: "two results are swapped", invariant: "INV-03", notes: allProtocols, plant: editResults(func(parts []llm.Part) []llm.Part {
		parts = slices.Clone(parts)
		parts[0], parts[1] = parts[1], parts[0]
		return parts
	}, 2)},
	{name: "a call has another id", invariant: "INV-01", plant: renameCall},
	{name: "text of the user is before the results", invariant: "INV-02", notes: []string{"openai-responses"}, plant: func(list []llm.Message) ([]llm.Message, bool) {
		at := slices.IndexFunc(list, isResults)
		return slices.Insert(slices.Clone(list), max(0, at), llm.User("Wait.")), at > 0
	}},
	{name: "a signature is changed", invariant: "INV-22", plant: changeSecret},
	{name: "the arguments of a call are changed", invariant: "INV-05", notes: allProtocols, echo: true, plant: changeCall(func(c *llm.ToolCall) bool {
		c.Arguments = `{"changed":1}`
		return true
	})},
	{name: "the tool of a call is changed", invariant: "INV-05", notes: allProtocols, echo: true, plant: changeCall(func(c *llm.ToolCall) bool {
		c.Name += "_2"
		return true
	})},
	{name: "a call and its result have another id", invariant: "INV-05", notes: allProtocols, echo: true, ids: true, plant: changeCall(func(c *llm.ToolCall) bool {
		c.ID += "_2"
		return true
	})},
	{name: "a text is changed", invariant: "INV-05", notes: allProtocols, echo: true, plant: func(list []llm.Message) ([]llm.Message, bool) {
		echo, ok := editParts(list[:1], func(p llm.Part) (llm.Part, bool) {
			t, ok := p.(llm.Text)
			ok = ok && strings.TrimSpace(t.Text) != ""
			t.Text += " Changed."
			return t, ok
		})
		return append(echo, list[1:]...), ok
	}},
}

// changeCall changes the first call, and its id in its result.
func changeCall(change func(*llm.ToolCall) bool) func([]llm.Message) ([]llm.Message, bool) {
	return func(list []llm.Message) ([]llm.Message, bool) {
		var was, is string
		echo, ok := editParts(list[:1], func(p llm.Part) (llm.Part, bool) {
			c, ok := p.(llm.ToolCall)
			if !ok || c.ProviderExecuted {
				return nil, false
			}
			was = c.ID
			ok = change(&c)
			is = c.ID
			return c, ok
		})
		list = append(echo, list[1:]...)
		for i, m := range list {
			m.Parts = slices.Clone(m.Parts)
			for j, p := range m.Parts {
				if r, isResult := p.(llm.ToolResult); isResult && r.ID == was {
					r.ID = is
					m.Parts[j] = r
				}
			}
			list[i] = m
		}
		return list, ok
	}
}

func isResults(m llm.Message) bool {
	return m.Role == llm.RoleTool && len(m.Parts) > 0 && !slices.ContainsFunc(m.Parts, func(p llm.Part) bool { _, ok := p.(llm.ToolResult); return !ok })
}

// editResults changes the parts of the last message that has this number of results.
func editResults(edit func([]llm.Part) []llm.Part, least int) func([]llm.Message) ([]llm.Message, bool) {
	return func(list []llm.Message) ([]llm.Message, bool) {
		list = slices.Clone(list)
		for i, m := range slices.Backward(list) {
			if isResults(m) && len(m.Parts) >= least {
				if m.Parts = edit(m.Parts); len(m.Parts) == 0 {
					return slices.Delete(list, i, i+1), true
				}
				list[i] = m
				return list, true
			}
		}
		return nil, false
	}
}

func renameResult(parts []llm.Part, id string) []llm.Part {
	parts = slices.Clone(parts)
	r := parts[0].(llm.ToolResult)
	r.ID = id
	parts[0] = r
	return parts
}

func renameCall(list []llm.Message) ([]llm.Message, bool) {
	return editParts(list, func(p llm.Part) (llm.Part, bool) {
		c, ok := p.(llm.ToolCall)
		c.ID += "x"
		return c, ok && !c.ProviderExecuted
	})
}

var secretMember = regexp.MustCompile(`"(signature|thoughtSignature|encrypted_content|data)": *"[^"]{8}`)

func changeSecret(list []llm.Message) ([]llm.Message, bool) {
	return editParts(list, func(p llm.Part) (llm.Part, bool) {
		text := string(llm.PartOpaque(p))
		at := secretMember.FindStringIndex(text)
		if at == nil {
			return nil, false
		}
		i := at[1] - 1
		other := byte('A')
		if text[i] == other {
			other = 'B'
		}
		changed := json.RawMessage(text[:i] + string(other) + text[i+1:])
		switch p := p.(type) {
		case llm.Reasoning:
			p.Opaque = changed
			return p, true
		case llm.ToolCall:
			p.Opaque = changed
			return p, true
		default:
			return nil, false
		}
	})
}

// editParts changes the first part of the assistant that edit changes.
func editParts(list []llm.Message, edit func(llm.Part) (llm.Part, bool)) ([]llm.Message, bool) {
	list = slices.Clone(list)
	for i, m := range list {
		if m.Role != llm.RoleAssistant {
			continue
		}
		for j, p := range m.Parts {
			if changed, ok := edit(p); ok {
				m.Parts = slices.Clone(m.Parts)
				m.Parts[j] = changed
				list[i] = m
				return list, true
			}
		}
	}
	return nil, false
}

// TestPlantedInRecordings plants each fault in the last request of each recording of one run without
// violations. It is found with its invariant and nothing else is, as an error if a provider of
// the protocol rejects it.
func TestPlantedInRecordings(t *testing.T) {
	counts := map[string]int{} // by fault and protocol
	for _, folder := range []string{"fantasy-cassettes", "pydantic-ai-cassettes", "openinference-cassettes"} {
		err := filepath.WalkDir(filepath.Join(sharedDir(t), "data", folder), func(path string, entry fs.DirEntry, err error) error {
			if err == nil && !entry.IsDir() && strings.HasSuffix(strings.TrimSuffix(path, ".gz"), ".yaml") {
				plantAll(t, path, counts)
			}
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	var missing []string
	for _, f := range plantedFaults {
		for _, protocol := range allProtocols {
			if counts[f.name+", "+protocol] == 0 {
				missing = append(missing, f.name+", "+protocol)
			}
		}
	}
	if diff := cmp.Diff([]string(nil), missing); diff != "" {
		t.Errorf("faults without a recording (-want +got):\n%s", diff)
	}
}

func plantAll(t *testing.T, path string, counts map[string]int) {
	t.Helper()
	file, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = file.Close() }()
	src, err := importer.Open(path, file)
	if err != nil {
		return // it is read by the tests of package importer
	}
	var list []watch.Interaction
	for x, err := range src.Exchanges() {
		if err == nil && x.Request != nil {
			list = append(list, watch.Interaction{Number: x.Number, Protocol: x.Protocol, Request: x.Request, Response: x.Response, Accepted: x.Accepted, Body: x.Body, RequestBody: x.RequestBody})
		}
	}
	if len(list) < 2 || !slices.Contains(allProtocols, list[len(list)-1].Protocol.Name()) {
		return
	}
	if found, runs := levels(list); len(found) > 0 || runs > 1 {
		return
	}
	last := &list[len(list)-1]
	whole, protocol := last.Request, last.Protocol.Name()
	for _, f := range plantedFaults {
		from := 0
		if f.echo {
			at := slices.IndexFunc(list, func(x watch.Interaction) bool { return x.Response != nil })
			from = len(list[at].Request.Messages)
			if from >= len(whole.Messages) || f.ids && hasNoIDs(list[at].Response) {
				continue
			}
		}
		messages, ok := f.plant(whole.Messages[from:])
		messages = slices.Concat(whole.Messages[:from], messages)
		if !ok || len(whole.Extra["previous_response_id"]) > 0 {
			continue
		}
		counts[f.name+", "+protocol]++
		request := *whole
		request.Messages = messages
		last.Request = &request
		want := "error " + f.invariant
		if slices.Contains(f.notes, protocol) {
			want = "note " + f.invariant
		}
		if found, _ := levels(list); !slices.Equal(slices.Compact(found), []string{want}) {
			t.Errorf("%s: %s: found %q, want %q", path, f.name, found, want)
		}
	}
}

func hasNoIDs(r *llm.Response) bool {
	return slices.ContainsFunc(r.Message().Calls(), func(c llm.ToolCall) bool { return c.ID == "" || c.IDGenerated })
}

// levels returns the levels and invariants of the violations of a recording, and its runs.
func levels(list []watch.Interaction) (found []string, runs int) {
	var r watch.Recording
	for _, x := range list {
		violations, err := r.Add(x)
		if err != nil {
			found = append(found, err.Error())
		}
		for _, v := range violations {
			level := "error "
			if v.Note {
				level = "note "
			}
			found = append(found, fmt.Sprint(level, v.Invariant))
		}
	}
	return found, r.Runs
}
