package gemini_test

import (
	"bytes"
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/looptape/looptape/llm"
	"github.com/looptape/looptape/providers/protocol"
)

// sameTurn compares responses without what an encoder may omit: warnings and cache
// writes.
func sameTurn(want, got *llm.Response) string {
	return cmp.Diff(want, got, cmpopts.EquateEmpty(), cmpopts.IgnoreFields(llm.Response{}, "Warnings"))
}

func FuzzRequest(f *testing.F) {
	r, err := codec.EncodeRequest(everything())
	if err != nil {
		f.Fatal(err)
	}
	f.Add(r.Path, r.Body)
	f.Add("/models/m:generateContent", []byte(`{"contents":[{"role":"function","parts":[{"functionResponse":{"name":"a","response":{"x":[1]}}},{"text":"a"},{"new":1}],"x":1}],"tools":[{"functionDeclarations":[{"parameters":{"type":"STRING","nullable":true}}]},{"a":1}],"generationConfig":{"thinkingConfig":{"thinkingBudget":1,"thinkingLevel":"a"}},"systemInstruction":{"parts":[{"text":"a"},{}]}}`))
	f.Fuzz(func(t *testing.T, path string, body []byte) {
		req, err := codec.DecodeRequest(path, body)
		if err != nil {
			return
		}
		one, err := codec.EncodeRequest(req)
		if err != nil {
			return // of what Gemini does not take
		}
		back, err := codec.DecodeRequest(one.Path, one.Body)
		if err != nil {
			t.Fatalf("the written value cannot be read: %v\n%s", err, one.Body)
		}
		two, err := codec.EncodeRequest(back)
		if err != nil || !bytes.Equal(one.Body, two.Body) || one.Path != two.Path {
			t.Fatalf("written again, %v:\n%s\n%s", err, one.Body, two.Body)
		}
	})
}

func FuzzResponse(f *testing.F) {
	for _, q := range quirks {
		f.Add([]byte(q.body))
	}
	f.Fuzz(func(t *testing.T, body []byte) {
		turn, err := whole(body)
		if err != nil {
			return
		}
		again, err := codec.EncodeResponse(nil, answerOf(turn), turn)
		if err != nil {
			return
		}
		if _, err := whole(again); err != nil {
			t.Fatalf("the written value cannot be read: %v\n%s", err, again)
		}
	})
}

func FuzzStream(f *testing.F) {
	for _, q := range quirks {
		f.Add([]byte(q.wire))
	}
	if dir := os.Getenv("LOOPTAPE_SHARED"); dir != "" {
		files, _ := filepath.Glob(filepath.Join(dir, "data/wire/gemini/*.sse"))
		for _, name := range files {
			if data, err := os.ReadFile(name); err == nil {
				f.Add(data)
			}
		}
	}
	f.Fuzz(func(t *testing.T, body []byte) {
		one, all, err := stream(bytes.NewReader(body))
		if err != nil {
			return
		}
		again, err := write(answerOf(one), all)
		if err != nil {
			return
		}
		two, all, err := stream(bytes.NewReader([]byte(again)))
		if err != nil {
			t.Fatalf("the written value cannot be read: %v\n%s", err, again)
		}
		// Data that could not be represented the first time (arguments that are not JSON)
		// is settled now.
		third, err := write(answerOf(two), all)
		if err != nil {
			t.Fatal(err)
		}
		got, _, err := stream(bytes.NewReader([]byte(third)))
		if diff := sameTurn(two, got); diff != "" || err != nil {
			t.Fatalf("%v (-want +got):\n%s\n%s\n%s", err, diff, again, third)
		}
	})
}

func FuzzError(f *testing.F) {
	f.Add(400, []byte(`{"error":{"code":400,"message":"m","status":"INVALID_ARGUMENT","details":[{"reason":"X"},{"retryDelay":"1.5s"},{"violations":["PerDay"]}]}}`))
	f.Add(200, []byte(`[{"error":"x","error_type":"y"}]`))
	f.Fuzz(func(t *testing.T, status int, body []byte) {
		one := codec.DecodeError(status, nil, body)
		if one.Status < 400 || one.Status > 599 {
			return
		}
		two := codec.DecodeError(one.Status, nil, codec.EncodeError(one))
		three := codec.DecodeError(two.Status, nil, codec.EncodeError(two))
		if diff := cmp.Diff(two, three, cmpopts.IgnoreFields(llm.APIError{}, "RetryAfter")); diff != "" {
			t.Fatalf("(-want +got):\n%s", diff)
		}
	})
}

// recordedText is a stream of text in fifty chunks, as Gemini 2.5 sends it.
func recordedText() []byte {
	var out bytes.Buffer
	for range 50 {
		out.WriteString(`data: {"candidates": [{"content": {"parts": [{"text": "\" in Portuguese is:\n\n**Oi**\n\nYou can also say:\n\n**Olá** (This is a bit more"}],"role": "model"},"index": 0}],"usageMetadata": {"promptTokenCount": 11,"candidatesTokenCount": 37,"totalTokenCount": 651,"promptTokensDetails": [{"modality": "TEXT","tokenCount": 11}],"thoughtsTokenCount": 603},"modelVersion": "gemini-2.5-pro","responseId": "aQCzaYSIIp3Uz7IP4L7z4Qk"}` + "\r\n\r\n")
	}
	out.WriteString(chunks(say(`{"functionCall":{"name":"weather","args":{"location": "Florence, Italy"},"id":"89nz05jy"},"thoughtSignature":"`+string(bytes.Repeat([]byte("Es"), 500))+`"}`, ""), say(`{"text":""}`, stop)))
	return out.Bytes()
}

func BenchmarkDecodeStream(b *testing.B) {
	body := recordedText()
	b.SetBytes(int64(len(body)))
	b.ReportAllocs()
	for b.Loop() {
		n := 0
		if err := read(bytes.NewReader(body), func(llm.Event) { n++ }); err != nil || n == 0 {
			b.Fatal(err)
		}
	}
}

func BenchmarkEncodeStream(b *testing.B) {
	_, all, err := stream(bytes.NewReader(recordedText()))
	if err != nil {
		b.Fatal(err)
	}
	b.ReportAllocs()
	for b.Loop() {
		enc := codec.NewEncoder(protocol.ResponseMeta{ID: "r", Model: "m"})
		for _, ev := range all {
			if err := enc.Event(ev, func(string, []byte) {}); err != nil {
				b.Fatal(err)
			}
		}
		if err := enc.End(func(string, []byte) {}); err != nil {
			b.Fatal(err)
		}
	}
}
