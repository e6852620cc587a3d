package wire_test

import (
	"encoding/json"
	"strings"

	"github.com/looptape/looptape/fake"
	"github.com/looptape/looptape/llm"
)

// claudeThought is thinking with a signature.
func claudeThought(text, signature string) string {
	return `{"type":"thinking","thinking":"` + text + `","signature":"` + signature + `"}`
}

const claudeRedacted = `{"type":"redacted_thinking","data":"ZGF0YQ=="}`

// claudeCall is a call, claudeOne its result.
const claudeCall = `{"type":"tool_use","id":"toolu_1","name":"f","input":{}}`

// madeForLet is the signature that the server generates for the text Let me see.
const madeForLet = "bG9vcHRhcGU6YWI3MWNmNTgyMzUwZDc5Yg=="

func thinkingRows() []strictRow {
	on, off, adaptive := `"thinking":{"type":"enabled","budget_tokens":1024}`, `"thinking":{"type":"disabled"}`, `"thinking":{"type":"adaptive"}`
	// after is a request after a response of these blocks, with a call among them.
	after := func(mode string, blocks ...string) string {
		return claudeBody("some-model", claudeUser+","+claudeMessage("assistant", blocks...)+","+claudeResults(claudeOne), mode)
	}
	// later is one in which that response is over.
	later := func(mode string, blocks ...string) string {
		return claudeBody("some-model", claudeUser+","+claudeMessage("assistant", blocks...)+","+claudeResults(claudeOne)+","+claudeSaid+","+claudeUser, mode)
	}
	let, text := claudeThought("Let me see.", madeForLet), `{"type":"text","text":"the first turn"}`
	made := []fake.Response{{Reasoning: "Let me see.", Text: "the first turn", Calls: []fake.Call{{ID: "toolu_1", Name: "f", Arguments: "{}"}}}, {Reasoning: "No.", Text: "the second turn"}}
	given := []fake.Response{{Reasoning: "Let me see.", ReasoningOpaque: json.RawMessage(`{"signature":"c2ln"}`), Text: "the first turn", Calls: []fake.Call{{ID: "toolu_1", Name: "f", Arguments: "{}"}}}}
	given2, letGiven := append(given[:1:1], fake.Response{Attempts: []fake.Response{{Text: "no"}, {Reasoning: "No.", ReasoningOpaque: json.RawMessage(`{"signature":"bm8="}`)}}}), claudeThought("Let me see.", "c2ln")
	between := []fake.Response{{Events: []llm.Event{
		llm.PartDone{Part: llm.Text{Text: "the first turn"}},
		llm.PartDone{Part: llm.Reasoning{Text: "One.", Opaque: json.RawMessage(`{"signature":"b25l"}`)}},
		llm.PartDone{Part: llm.ToolCall{ID: "srvtoolu_1", Name: "web_search", ProviderExecuted: true}},
		llm.PartDone{Part: llm.Reasoning{Text: "Two.", Opaque: json.RawMessage(`{"signature":"dHdv"}`)}},
		llm.PartDone{Part: llm.Unknown{Kind: "web_search_tool_result", Raw: json.RawMessage(claudeFound)}},
		llm.PartDone{Part: llm.Reasoning{Text: "Three.", Opaque: json.RawMessage(`{"signature":"dGhyZWU="}`)}},
		llm.PartDone{Part: llm.Reasoning{Opaque: json.RawMessage(claudeRedacted)}},
		llm.PartDone{Part: llm.ToolCall{ID: "toolu_1", Name: "f", Arguments: "{}"}},
		llm.PartDone{Part: llm.Reasoning{Text: "Four.", Opaque: json.RawMessage(`{"signature":"Zm91cg=="}`)}},
	}}}
	one, two, three, four := claudeThought("One.", "b25l"), claudeThought("Two.", "dHdv"), claudeThought("Three.", "dGhyZWU="), claudeThought("Four.", "Zm91cg==")
	asSaid := after(adaptive, text, one, claudeSearch, two, claudeFound, three, claudeRedacted, claudeCall, four)
	const (
		altered  = "messages.1.content.0: Invalid `signature` in `thinking` block"
		modified = "messages.1.content.0: `thinking` or `redacted_thinking` blocks in the latest assistant message cannot be modified. These blocks must remain as they were in the original response."
	)
	return []strictRow{
		{id: "SA-13", script: made, wrong: after(on, claudeThought("Let me see.", madeForLet[1:]), text, claudeCall), right: after(on, let, text, claudeCall), said: altered},
		{id: "SA-13", name: "another's", script: made, wrong: after(on, claudeThought("Let me see.", "c2ln"), text, claudeCall), right: after(on, claudeThought("Hm.", "c2ln"), text, claudeCall), said: altered},
		{id: "SA-13", name: "none", script: given, wrong: after(on, claudeThought("Let me see.", ""), text, claudeCall), right: after(on, letGiven, text, claudeCall), said: altered},
		{id: "SA-13", name: "of a script", script: given, wrong: after(on, claudeThought("Let me see.", "c2lnbg=="), text, claudeCall), right: after(on, letGiven, text, claudeCall), said: altered},
		{id: "SA-13", name: "of nothing in the session", script: made, wrong: after(on, claudeThought("Hm.", "bG9vcHRhcGU6MA=="), text, claudeCall), right: after(on, let, text, claudeCall), said: altered},
		{id: "SA-13", name: "the text of an earlier response", script: made, wrong: later(on, claudeThought("Let me see", madeForLet), text, claudeCall), right: later(on, let, text, claudeCall), said: altered},
		{id: "SA-13", name: "moved in an earlier response", script: made, wrong: later(on, claudeThought("Let me see", madeForLet), text, claudeCall), right: later(on, text, let, claudeCall)},
		{id: "SA-13", name: "of an attempt", script: given2, wrong: after(on, claudeThought("No.", "bm9w"), text, claudeCall), right: after(on, claudeThought("No.", "bm8="), text, claudeCall), said: altered},
		{id: "SA-14", script: made, wrong: after(on, claudeThought("Let me see!", madeForLet), text, claudeCall), right: after(on, let, text, claudeCall), said: modified},
		{id: "SA-14", name: "of a script", script: given, wrong: after(on, claudeThought("", "c2ln"), text, claudeCall), right: after(on, letGiven, text, claudeCall), said: modified},
		{id: "SA-14", name: "moved", script: made, wrong: after(adaptive, text, let, claudeCall), right: after(adaptive, let, text, claudeCall), said: strings.Replace(modified, "content.0", "content.1", 1)},
		{id: "SA-14", name: "moved after a call of the provider", script: between, wrong: after(adaptive, text, claudeSearch, one, two, claudeFound, three, claudeRedacted, claudeCall, four), right: asSaid},
		{id: "SA-14", name: "moved after a result", script: between, wrong: after(adaptive, text, one, claudeSearch, claudeFound, two, three, claudeRedacted, claudeCall, four), right: asSaid},
		{id: "SA-14", name: "moved to the front", script: between, wrong: after(adaptive, three, text, one, claudeSearch, two, claudeFound, claudeRedacted, claudeCall, four), right: asSaid},
		{id: "SA-14", name: "moved before a call", script: between, wrong: after(adaptive, text, one, claudeSearch, two, claudeFound, three, claudeRedacted, four, claudeCall), right: asSaid},
		{id: "SA-15", wrong: after(on, claudeCall), right: after(on, claudeRedacted, claudeCall)},
		{id: "SA-15", name: "after words", wrong: after(on, text, claudeThought("Hm.", "c2ln"), claudeCall), right: after(on, claudeThought("Hm.", "c2ln"), text, claudeCall)},
		{id: "SA-15", name: "adaptive", wrong: after(on, text, claudeCall), right: after(adaptive, text, claudeCall)},
		{id: "SA-15", name: "an earlier response", wrong: after(on, text, claudeCall), right: later(on, text, claudeCall)},
		{
			id: "SA-15", name: "a later step", wrong: claudeBody("some-model", strings.Join([]string{claudeUser, claudeMessage("assistant", claudeCall), claudeResults(claudeOne), claudeMessage("assistant", strings.Replace(claudeCall, "_1", "_2", 1)), claudeResults(claudeTwo)}, ","), on),
			right: claudeBody("some-model", strings.Join([]string{claudeUser, claudeMessage("assistant", claudeThought("Hm.", "c2ln"), claudeCall), claudeResults(claudeOne), claudeMessage("assistant", strings.Replace(claudeCall, "_1", "_2", 1)), claudeResults(claudeTwo)}, ","), on),
		},
		{
			id: "SA-15", name: "a step that thinks again", wrong: after(on, claudeCall),
			right: claudeBody("some-model", strings.Join([]string{claudeUser, claudeMessage("assistant", claudeCall), claudeResults(claudeOne), claudeMessage("assistant", claudeRedacted, strings.Replace(claudeCall, "_1", "_2", 1)), claudeResults(claudeTwo)}, ","), on),
		},
		{id: "SA-15", name: "words alone", wrong: after(on, text, claudeCall), right: claudeBody("some-model", claudeUser+","+claudeSaid, on)},
		{id: "SA-16", wrong: after(off, claudeThought("Hm.", "c2ln"), claudeCall), right: after(on, claudeThought("Hm.", "c2ln"), claudeCall)},
		{id: "SA-16", name: "not on", wrong: after(`"stream":false`, text, claudeThought("Hm.", "c2ln"), claudeCall), right: after(adaptive, text, claudeThought("Hm.", "c2ln"), claudeCall)},
		{id: "SA-16", name: "redacted", wrong: claudeBody("some-model", claudeUser+","+claudeMessage("assistant", claudeRedacted)), right: claudeBody("some-model", claudeUser+","+claudeMessage("assistant", claudeRedacted)+","+claudeUser)},
		{id: "SA-16", name: "of the script", script: made, wrong: after(off, let, text, claudeCall), right: after(`"stream":false`, let, text, claudeCall)},
		{id: "SA-16", name: "redacted by the script", script: between, wrong: after(off, claudeRedacted, claudeCall), right: after(`"stream":false`, claudeRedacted, claudeCall)},
	}
}
