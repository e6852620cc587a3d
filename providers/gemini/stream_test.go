package gemini_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/looptape/looptape/llm"
	"github.com/looptape/looptape/providers/protocol"
)

// The decoder emits what comes as it comes: parts, usage, the finish.
func TestDecoderEvents(t *testing.T) {
	sum := say(`{"text":"a"},{"text":"b","thought":true,"thoughtSignature":"s"}`, "")
	for name, c := range map[string]struct {
		wire string
		want []llm.Event
	}{
		"a chunk": {
			chunks(strings.Replace(sum, `"index":0}]`, `"index":0}],"responseId":"r","usageMetadata":{"promptTokenCount":3}`, 1), `{"candidates":[{"finishReason":"STOP"}],"modelVersion":"m","usageMetadata":{"promptTokenCount":3}}`),
			[]llm.Event{
				llm.TextDelta{Text: "a"}, llm.ReasoningDelta{Text: "b", Opaque: opaque(`{"thoughtSignature":"s"}`)}, llm.Usage{InputTokens: 3},
				llm.Finish{Reason: llm.FinishStop, Raw: "STOP", ResponseID: "r", Model: "m"},
			},
		},
		"another candidate": {
			chunks(
				say(`{"text":"a"},{"functionCall":{"name":"f","willContinue":true}}`, ""),
				`{"candidates":[{"content":{"parts":[{"text":"z"},{"functionCall":{"name":"g"}}]},"finishReason":"STOP","finishMessage":"z","index":1}]}`,
				`{"candidates":[{"content":{"parts":[{"functionCall":{}}]}},{"content":{"parts":[{"text":"z"}]},"finishReason":"STOP"}]}`,
				say(`{"functionCall":{"name":"h","willContinue":true}},{"functionCall":{}}`, stop),
			),
			[]llm.Event{
				llm.TextDelta{Text: "a"}, start(1, "", "f"), delta(1, "{}"), end(1), start(2, "", "h"), delta(2, "{}"), end(2),
				llm.Finish{Reason: llm.FinishStop, Raw: "STOP"},
			},
		},
		"what is not known": {
			chunks(`{"new":[1],"candidates":[{"new":{},"content":{"new":1,"parts":[{"new":{}},{"text":"a","new":1,"partMetadata":{}},{},{"text":null},{"functionCall":{"name":"f","new":1}}]},"safetyRatings":[]}],"promptFeedback":{"safetyRatings":[]},"usageMetadata":{"trafficType":"ON_DEMAND","promptTokenCount":null,"candidatesTokenCount":"x","thoughtsTokenCount":-3,"cachedContentTokenCount":9007199254740994}}`, `{"usageMetadata":{"toolUsePromptTokenCount":9007199254740992}}`, `{"candidates":null}`, `{"candidates":[],"candidates":[{"finishReason":null,"content":null}]}`, `{"candidates":[{"finishReason":"STOP"}]}`),
			[]llm.Event{
				llm.PartDone{Part: llm.Unknown{Kind: "gemini_part", Raw: opaque(`{"type":"gemini_part","part":{"new":{}}}`)}}, llm.TextDelta{Text: "a"}, llm.PartDone{Part: call("", "f", "{}")},
				llm.Usage{InputTokens: 9007199254740992},
				llm.Finish{Reason: llm.FinishStop, Raw: "STOP", Opaque: opaque(`{"gemini_answer":{"candidate":{"new":{},"safetyRatings":[]},"response":{"new":[1]}}}`)},
			},
		},
		"complete parts": {
			chunks(say(`{"inlineData":{"mime_type":"image/png","data":"Bw"},"thought":true},{"fileData":{"mimeType":"a/b","fileUri":"u"}},{"executableCode":{"id":"e","language":"PYTHON"}},{"toolCall":{}},{"functionResponse":{"name":"f"}}`, stop)),
			[]llm.Event{
				llm.PartDone{Part: llm.Media{MediaType: "image/png", Data: []byte{7}, Opaque: opaque(`{"thought":true}`)}}, llm.PartDone{Part: llm.Media{MediaType: "a/b", URL: "u"}},
				llm.PartDone{Part: llm.ToolCall{ID: "e", Name: "code_execution", Arguments: `{"id":"e","language":"PYTHON"}`, ProviderExecuted: true, Opaque: opaque(`{"executableCode":{"id":"e","language":"PYTHON"}}`)}},
				llm.PartDone{Part: llm.ToolCall{Arguments: `{}`, ProviderExecuted: true, Opaque: opaque(`{"toolCall":{}}`)}},
				llm.PartDone{Part: llm.ToolResult{Name: "f", Content: []llm.Part{text("{}")}, Opaque: opaque(`{"gemini":{"functionResponse":{"response":{}}}}`)}},
				llm.Finish{Reason: llm.FinishStop, Raw: "STOP"},
			},
		},
		"a text next to a call": {
			chunks(say(`{"functionCall":{"name":"f"},"text":""},{"text":"","functionCall":{"name":"g"}}`, stop)),
			[]llm.Event{llm.PartDone{Part: call("", "f", "{}")}, llm.PartDone{Part: call("", "g", "{}")}, llm.Finish{Reason: llm.FinishStop, Raw: "STOP"}},
		},
		"a finish reason on every chunk": {
			chunks(say(`{"text":"a"},{"functionCall":{"name":"f","willContinue":true}}`, stop), say(`{"functionCall":{}}`, stop), say(`{"text":"b"}`, `,"finishReason":"MAX_TOKENS"`)),
			[]llm.Event{llm.TextDelta{Text: "a"}, start(1, "", "f"), delta(1, "{}"), end(1), llm.TextDelta{Text: "b"}, llm.Finish{Reason: llm.FinishLength, Raw: "MAX_TOKENS"}},
		},
		"signatures and usage after the finish": {
			chunks(say(`{"text":"a"}`, stop), say(`{"text":"","thoughtSignature":"s"}`, ""), `{"usageMetadata":{"promptTokenCount":3},"new":1}`),
			[]llm.Event{
				llm.TextDelta{Text: "a"}, llm.TextDelta{Opaque: opaque(`{"thoughtSignature":"s"}`)}, llm.Usage{InputTokens: 3},
				llm.Finish{Reason: llm.FinishStop, Raw: "STOP", Opaque: opaque(`{"gemini_answer":{"response":{"new":1}}}`)},
			},
		},
		"only a signature": {
			chunks(say(`{"thoughtSignature":"s"},{"thought":true,"thoughtSignature":"t"},{"text":"","thought":true}`, stop)),
			[]llm.Event{llm.TextDelta{Opaque: opaque(`{"thoughtSignature":"s"}`)}, llm.ReasoningDelta{Opaque: opaque(`{"thoughtSignature":"t"}`)}, llm.Finish{Reason: llm.FinishStop, Raw: "STOP"}},
		},
		"bytes that are not UTF-8": {
			"data: {\"candidates\":[{\"content\":{\"parts\":[{\"text\":\"a\xffb\"}]},\"finishReason\":\"STOP\"}]}\n\n",
			[]llm.Event{llm.TextDelta{Text: "a\ufffdb"}, llm.Finish{Reason: llm.FinishStop, Raw: "STOP"}},
		},
	} {
		_, got, err := stream(strings.NewReader(c.wire))
		if diff := cmp.Diff(c.want, got); diff != "" || err != nil {
			t.Errorf("%s: %v (-want +got):\n%s", name, err, diff)
		}
	}
}

func TestDecoderErrors(t *testing.T) {
	hello := say(`{"text":"a"}`, "")
	for name, c := range map[string]struct {
		wire, want, text string
	}{
		"not an object":            {chunks(hello, "[]"), "a chunk of the response: expected an object (byte 1)", "a"},
		"a wrong type":             {chunks(hello, say(`{"text":1}`, "")), "a chunk of the response: expected a string at candidates[0].content.parts[0].text (byte 45)", "a"},
		"candidates of a type":     {chunks(hello, `{"candidates":1}`), "a chunk of the response: expected an array at candidates (byte 15)", "a"},
		"a candidate of a type":    {chunks(hello, `{"candidates":[1]}`), "a chunk of the response: expected an object at candidates[0] (byte 16)", "a"},
		"content of a type":        {chunks(hello, `{"candidates":[{"content":1}]}`), "a chunk of the response: expected an object at candidates[0].content (byte 27)", "a"},
		"parts of a type":          {chunks(hello, `{"candidates":[{"content":{"parts":1}}]}`), "a chunk of the response: expected an array at candidates[0].content.parts (byte 36)", "a"},
		"a part of a type":         {chunks(hello, say("1", "")), "a chunk of the response: expected an object at candidates[0].content.parts[0] (byte 37)", "a"},
		"a call of a type":         {chunks(hello, say(`{"functionCall":1}`, "")), "a chunk of the response: expected an object at candidates[0].content.parts[0].functionCall (byte 53)", "a"},
		"usage of a type":          {chunks(hello, `{"usageMetadata":1}`), "a chunk of the response: expected an object at usageMetadata (byte 18)", "a"},
		"data after it":            {chunks(hello, hello+"x"), "an event of the stream: something follows the JSON value (byte 79)", "aa"},
		"cut within":               {chunks(hello, hello[:50]), "a chunk of the response: expected a member's name in double quotes at candidates[0].content.parts (byte 51)", "a"},
		"text after a finish":      {chunks(say(`{"text":"a"}`, stop), hello), protocol.ErrTruncated.Error(), "aa"},
		"a call after a finish":    {chunks(say(`{"text":"a"}`, stop), say(`{"functionCall":{"name":"f"}}`, "")), protocol.ErrTruncated.Error(), "a"},
		"a finish of no reason":    {chunks(say(`{"text":"a"}`, `,"finishReason":"FINISH_REASON_UNSPECIFIED"`)), protocol.ErrTruncated.Error(), "a"},
		"no finish":                {chunks(hello), protocol.ErrTruncated.Error(), "a"},
		"nothing":                  {"", protocol.ErrTruncated.Error(), ""},
		"a mark and no finish":     {chunks(hello, "[DONE]"), protocol.ErrTruncated.Error(), "a"},
		"an error with candidates": {chunks(`{"error":{"message":"no"},` + hello[1:]), "no response: no", "a"},
		"blocked":                  {chunks(`{"promptFeedback":{"blockReason":"SAFETY","blockReasonMessage":"bad"}}`), "no response SAFETY: bad", ""},
		"blocked too late":         {chunks(hello, `{"promptFeedback":{"blockReason":"SAFETY"}}`), protocol.ErrTruncated.Error(), "a"},
	} {
		got, _, err := stream(strings.NewReader(c.wire))
		if !strings.HasPrefix(message(err), c.want) || got.Text() != c.text {
			t.Errorf("%s: %q, %v, want %q and %s", name, got.Text(), err, c.text, c.want)
		}
	}
	if _, err := whole([]byte(hello + "]")); message(err) != "the response: something follows the JSON value (byte 79)" {
		t.Errorf("got %v", err)
	}
	if _, err := whole([]byte("[" + hello)); !errors.Is(err, protocol.ErrTruncated) {
		t.Errorf("half an array: %v", err)
	}
	if _, err := whole([]byte("[" + hello + ",1]")); message(err) != "the response: expected an object at [1] (byte 81)" {
		t.Errorf("an array of something: %v", err)
	}
	got, err := whole([]byte(`[` + hello + `,{"error":{"code":500,"message":"no","status":"INTERNAL"}}]`))
	if e := apiError(t, err); e.Status != 500 || !e.Retryable || got.Text() != "a" {
		t.Errorf("an error in an array: %q, %+v", got.Text(), e)
	}
	for _, known := range []string{`{"candidates":[]}`, `{"usageMetadata":{}}`} {
		if got, err := whole([]byte(known)); err != nil || got.FinishReason != llm.FinishUnknown || len(got.Warnings) != 1 {
			t.Errorf("%s: %+v, %v", known, got, err)
		}
	}
}

// TestPartialArguments reads arguments at JSON paths.
func TestPartialArguments(t *testing.T) {
	set := func(path, value string) string { return `{"jsonPath":` + quote(path) + value + `}` }
	str := func(path, s string) string { return set(path, `,"stringValue":`+quote(s)) }
	num := func(path, n string) string { return set(path, `,"numberValue":`+n) }
	deep := "$" + strings.Repeat(".a", 100)
	names := strings.Split("abcdefghijk", "")
	var lists, joined []string
	for _, piece := range []string{"x", "y"} {
		for _, n := range names {
			lists = append(lists, str("$."+n, n+piece))
		}
	}
	for _, n := range names {
		joined = append(joined, `"`+n+`":"`+n+"x"+n+`y"`)
	}
	for name, c := range map[string]struct{ args, want string }{
		"strings":               {str("$.a", "x") + "," + str("$.b", "\"") + "," + str("$.a", "y\n"), `{"a":"xy\n","b":"\""}`},
		"many names":            {strings.Join(lists, ","), "{" + strings.Join(joined, ",") + "}"},
		"an empty string":       {str("$.a", ""), `{"a":""}`},
		"no value":              {set("$.a", "") + "," + str("$.a", "x") + "," + set("$.a", "") + "," + num("$.b", "1") + "," + set("$.b", ""), `{"a":"x","b":1}`},
		"scalars":               {num("$.n", "-1.50e3") + "," + set("$.t", `,"boolValue":true,"new":1`) + "," + set("$.f", `,"boolValue":false`) + "," + set("$.z", `,"nullValue":"NULL_VALUE"`) + "," + num("$.n", "2"), `{"n":2,"t":true,"f":false,"z":null}`},
		"nested":                {num("$.a.b[0].c", "1") + "," + num("$.a.b[0].d", "2") + "," + num("$.a.b[1]", "3") + "," + str("$.a.b[2][0]", "x"), `{"a":{"b":[{"c":1,"d":2},3,["x"]]}}`},
		"names in quotes":       {num(`$['a b']["c.d"]`, "1") + "," + num(`$['it\'s'][0]`, "2") + "," + num(`$["é\\"]`, "3"), `{"a b":{"c.d":1},"it's":[2],"é\\":3}`},
		"a long path":           {num(deep, "1"), strings.Repeat(`{"a":`, 100) + "1" + strings.Repeat("}", 100)},
		"too long a path":       {num(deep+".a", "1"), "{"},
		"no path":               {num("", "1"), "{"},
		"only a root":           {num("$", "1"), "{"},
		"no root":               {num("a", "1"), "{"},
		"an empty name":         {num("$.", "1"), "{"},
		"an invalid name":       {num("$..a", "1"), "{"},
		"an open index":         {num("$.a[0", "1"), "{"},
		"a bad index":           {num("$.a[x]", "1"), "{"},
		"a negative index":      {num("$.a[-1]", "1"), "{"},
		"a huge index":          {num("$.a[2147483648]", "1"), "{"},
		"an index too far":      {num("$.a[1]", "1"), `{"a":[]`},
		"no bracket":            {num("$a", "1"), "{"},
		"an open quote":         {num("$['a", "1"), "{"},
		"an open bracket":       {num("$['a'", "1"), "{"},
		"a trailing backslash":  {num(`$['a\`, "1"), "{"},
		"an index of an object": {num("$[0]", "1"), "{"},
		"below a scalar":        {num("$.a", "1") + "," + num("$.a.b", "2") + "," + num("$.c", "3"), `{"a":1`},
		"a scalar below":        {num("$.a.b", "1") + "," + num("$.a", "2"), `{"a":{"b":1}`},
		"a string on a scalar":  {num("$.a", "1") + "," + str("$.a", "x"), `{"a":1`},
		"a scalar on a string":  {str("$.a", "x") + "," + num("$.a", "1"), `{"a":"x"`},
		"a name in an array":    {num("$.a[0]", "1") + "," + num("$.a.b", "1"), `{"a":[1]`},
	} {
		got, _, err := stream(strings.NewReader(chunks(
			say(`{"functionCall":{"name":"f","id":"i","willContinue":true}}`, ""),
			say(`{"functionCall":{"partialArgs":[`+c.args+`],"willContinue":true},"thoughtSignature":"late"}`, ""),
			say(`{"functionCall":{}}`, stop),
		)))
		want := stopped(call("i", "f", c.want))
		if !strings.HasSuffix(c.want, "}") || c.want == `{"a":{"b":1}` {
			want = warned(want, llm.WarnNoCallEnd)
		}
		if diff := cmp.Diff(want, got, cmpopts.EquateEmpty(), cmpopts.IgnoreFields(llm.Warning{}, "Message")); diff != "" || err != nil {
			t.Errorf("%s: %v (-want +got):\n%s", name, err, diff)
		}
	}
	var many []string
	for i := range 4097 {
		many = append(many, num("$.a"+strings.Repeat("x", i%7)+strings.Repeat("y", i/7), "1"))
	}
	for n, whole := range map[int]bool{4096: true, 4097: false} {
		got, _, err := stream(strings.NewReader(chunks(say(`{"functionCall":{"name":"f","partialArgs":[`+strings.Join(many[:n], ",")+`]}}`, stop))))
		if is := strings.HasSuffix(got.Calls()[0].Arguments, "}"); is != whole || err != nil {
			t.Errorf("%d members: whole %t, %v", n, is, err)
		}
	}
}

func TestPartialCalls(t *testing.T) {
	begin := `{"functionCall":{"name":"f","willContinue":true}}`
	one := `{"functionCall":{"partialArgs":[{"jsonPath":"$.a","numberValue":1}],"willContinue":true}}`
	last := `{"functionCall":{"partialArgs":[{"jsonPath":"$.b","numberValue":2}]}}`
	cut := func(p ...llm.Part) *llm.Response { return warned(stopped(p...), llm.WarnNoCallEnd) }
	for name, c := range map[string]struct {
		parts []string
		want  *llm.Response
	}{
		"no end":                  {[]string{begin, one}, cut(call("", "f", `{"a":1`))},
		"another begins":          {[]string{begin, one, begin, last}, cut(call("", "f", `{"a":1`), call("", "f", `{"b":2}`))},
		"a complete one comes":    {[]string{begin, `{"functionCall":{"name":"g","args":{}}}`}, cut(call("", "f", `{`), call("", "g", `{}`))},
		"a text comes":            {[]string{begin, `{"text":"t"}`, last}, stopped(call("", "f", `{"b":2}`), text("t"))},
		"the last chunk ends":     {[]string{begin, one, last}, stopped(call("", "f", `{"a":1,"b":2}`))},
		"whole arguments":         {[]string{begin, one, `{"functionCall":{"args":{"z":1}}}`}, stopped(call("", "f", `{"z":1}`))},
		"complete ones, repaired": {[]string{begin, `{"functionCall":{"partialArgs":[{"jsonPath":"x","numberValue":1}],"args":{"z":1}}}`}, stopped(call("", "f", `{"z":1}`))},
		"a signature at the end":  {[]string{begin, `{"functionCall":{},"thoughtSignature":"s"}`}, stopped(llm.ToolCall{Name: "f", Arguments: "{}", Opaque: opaque(`{"thoughtSignature":"s"}`)})},
		"no name":                 {[]string{one, last}, stopped(call("", "", `{"a":1,"b":2}`))},
		"no name, whole":          {[]string{`{"functionCall":{"args":{"a":1}}}`}, stopped(call("", "", `{"a":1}`))},
		"an end of nothing":       {[]string{`{"functionCall":{}}`}, warned(stopped(), llm.WarnNoCallStart)},
		"two in one chunk":        {[]string{begin + "," + last, begin + "," + `{"functionCall":{}}`}, stopped(call("", "f", `{"b":2}`), call("", "f", `{}`))},
	} {
		var wire []string
		for _, p := range c.parts {
			wire = append(wire, say(p, ""))
		}
		got, _, err := stream(strings.NewReader(chunks(append(wire, say("", stop))...)))
		if diff := cmp.Diff(c.want, got, cmpopts.EquateEmpty(), cmpopts.IgnoreFields(llm.Warning{}, "Message")); diff != "" || err != nil {
			t.Errorf("%s: %v (-want +got):\n%s", name, err, diff)
		}
	}
}

// Names that begin with a digit or a dash go out with an underscore and come back
// without it.
func TestNames(t *testing.T) {
	for name, wire := range map[string]string{
		"a": "a", "_": "_", "__": "__", "_a": "_a", "9": "_9", "-": "_-", "0a": "_0a", "_9": "__9", "__-x": "___-x", "a9": "a9",
	} {
		got := contents(t, "m", llm.Assistant(call("", name, "{}")))
		if want := `[{"parts":[{"functionCall":{"name":"` + wire + `","args":{}}}],"role":"model"}]`; got != want {
			t.Errorf("%s: %s", name, got)
		}
		turn, err := whole([]byte(say(`{"functionCall":{"name":"`+wire+`"}}`, stop)))
		if err != nil || turn.Calls()[0].Name != name {
			t.Errorf("%s comes back as %q, %v", wire, turn.Calls()[0].Name, err)
		}
	}
	if turn, _ := whole([]byte(say(`{"functionCall":{"name":"9a"}}`, stop))); turn.Calls()[0].Name != "9a" {
		t.Errorf("9a comes back as %q", turn.Calls()[0].Name)
	}
}

// quote is JSON of a string.
func quote(s string) string { return string(appendString(nil, s, ' ')) }

// The decoder ignores a truncated part, also one of an unknown kind.
func TestPartInterrupted(t *testing.T) {
	for _, part := range []string{`{"": "\`, `{"new": {"a": "\u00`, `{"text": "half`, `{"functionCall": {"name": "f`, `{"executableCode": "\`} {
		for _, body := range []string{`{"candidates":[{"content":{"parts":[` + part, `{"candidates":[{"content":{"parts":[{"text":"ok"},` + part} {
			if one, _, err := stream(strings.NewReader("data:" + body + "\n\n")); err == nil {
				t.Errorf("%s became %v", body, one)
			}
			if _, err := codec.DecodeRequest("/models/m:generateContent", []byte(strings.Replace(body, "candidates", "contents", 1))); err == nil {
				t.Errorf("the request %s was read", body)
			}
		}
	}
}
