package wire

import "github.com/looptape/looptape/fake"

// onGemini describes a form of Gemini's protocol.
func onGemini(id, form, says string) QuirkForm {
	return QuirkForm{ID: id, Form: form, Description: says, Protocols: []string{generate}}
}

// geminiQuirks are those of Gemini.
var geminiQuirks = []quirkForm{
	{QuirkForm: onGemini("QG-01", "", "the finish reason STOP stands beside a call"), reply: stopsAtCall},
	{QuirkForm: onGemini("QG-02", "", "an empty text comes behind the last call"), reply: emptyBehindCall},
	{QuirkForm: onGemini("QG-03", "", "the calls have no ids"), turn: namesCalls(func(int, int) string { return "" })},
	{QuirkForm: onGemini("QG-03", "id", "the calls have ids that are the provider's own"), turn: namesCalls(callID)},
	{QuirkForm: onGemini("QG-04", "", "the first call of a turn is signed, others are not"), reply: signsCall},
	{QuirkForm: onGemini("QG-04", "text", "the text of a turn is signed"), reply: signsText},
	{QuirkForm: onGemini("QG-05", "", "the request is refused as if it had other function responses than calls (SG-01)"), reply: refusesResponses},
	{QuirkForm: onGemini("QG-06", "", "the model made a malformed call, and there is no content"), turn: malformed("MALFORMED_FUNCTION_CALL", silence)},
	{QuirkForm: onGemini("QG-06", "text", "the model made a malformed call after a text"), turn: malformed("MALFORMED_FUNCTION_CALL", func(t *fake.Response) { t.Calls = nil })},
	{QuirkForm: onGemini("QG-07", "", "the candidate has no content"), turn: silent, reply: contentIs("")},
	{QuirkForm: onGemini("QG-07", "noparts", "the candidate has content without parts"), turn: silent, reply: contentIs(`{"role":"model"}`)},
	{QuirkForm: onGemini("QG-08", "", "the candidate has no parts in its content"), turn: silent, reply: contentIs(`{"parts":[],"role":"model"}`)},
	{QuirkForm: onGemini("QG-08", "blocked", "there is no candidate: the prompt was blocked"), reply: blocksPrompt},
	{QuirkForm: inStream(onGemini("QG-09", "", "the usage grows from chunk to chunk, and the last chunk leaves the output out")), reply: growingCounts},
	{QuirkForm: inStream(onGemini("QG-10", "", "the arguments of calls come in pieces, each at its path")), reply: partialArgs},
	{QuirkForm: onGemini("QG-10", "noargs", "calls without arguments have no args"), reply: leavesArgsOut},
	{QuirkForm: onGemini("QG-11", "", "the model made an unexpected call, and there is no content"), turn: malformed("UNEXPECTED_TOOL_CALL", silence)},
	{QuirkForm: onGemini("QG-11", "call", "the model made an unexpected call, which is in the content all the same"), turn: malformed("UNEXPECTED_TOOL_CALL", func(*fake.Response) {})},
	{QuirkForm: inStream(onGemini("QG-12", "", "an error comes after the first words, with status 200")), reply: unavailable(1, false)},
	{QuirkForm: inStream(onGemini("QG-12", "first", "the first try gets an error before anything of the answer, with status 200")), reply: unavailable(0, false)},
	{QuirkForm: inStream(onGemini("QG-12", "bare", "an error comes after the first words, with status 200 and outside any event")), reply: unavailable(1, true)},
	{QuirkForm: inStream(onGemini("QG-12", "barefirst", "the first try gets an error before anything of the answer, with status 200 and outside any event")), reply: unavailable(0, true)},
}
