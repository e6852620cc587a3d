package importer_test

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"math"
	"os"
	"runtime"
	"slices"
	"strings"
	"testing"
	"testing/iotest"

	gocmp "github.com/google/go-cmp/cmp"

	"github.com/looptape/looptape/cassettes"
	"github.com/looptape/looptape/cassettes/convert"
	"github.com/looptape/looptape/cassettes/recording"
	"github.com/looptape/looptape/llm"
	"github.com/looptape/looptape/trace/importer"
)

// messageSeeds are seeds of FuzzFormats.
var messageSeeds = []string{
	"[" + hi + "," + yo + "]", hi + "\n" + yo, "[[" + hi + "]]", `{"messages":[` + hi + `]}` + "\n" + `{"messages":[`,
	`[{"task_id":1,"traj":[` + hi + `]}]`, `[{"role":"assistant","tool_calls":[{"id":"a","function":{"name":"f","arguments":"{}"}}]}]`,
	`[{"role":"user","content":[{"type":"image_url","image_url":{"url":"data:image/png;base64,AA=="}}]}]`,
	`[{"role":"assistant","function_call":{"name":"f","arguments":{}}},{"role":"function","name":"f","content":"x"}]`,
	"[{\"role\":\"\\ud83d\"", "\x1f\x8b", "[\"", "[[", "{", `[{"role":"user"}}`, `{"format":"looptape-trace","version":1}`,
	string(cassettes.Encode(recording.Metadata{}, nil, []*recording.Interaction{over("POST", chatURL, "{\"messages\":["+hi+"]}", "{}")})),
	"interactions:\n- request: {method: POST, url: 'http://a.b/v1/messages', body: '{\"messages\":[" + hi + "]}'}\n  response: {code: 200}\nversion: 1\n",
	httprr("POST http://a.b/v1/chat/completions HTTP/1.1\r\nContent-Length: 41\r\n\r\n"+`{"messages":[`+hi+`]}`, "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n{}"), `{"log":{"entries":[]}}`,
	"{\"candidates\":[],\"usageMetadata\":{}}\n{\"usageMetadata\":{\"n\x8b\":", cohereEvents, tau2Head + tau2Run + "," + tau2Voice + "]}",
	langfuseTrace(observation("GENERATION", "a", "b", 1, `{"contents":["hi",{"parts":[{"text":"x"}]}]}`, `{"candidates":[{"content":{"parts":[{"text":"yo"}]}}]}`), observation("AGENT", "b", "a", 2, `[[{"type":"human","content":"hi"}]]`, `"{\"toolCalls\":[{\"toolCallId\":\"c\",\"toolName\":\"f\"}]}"`)),
}

func httprr(sent, got string) string {
	return fmt.Sprintf("httprr trace v1\n%d %d\n%s%s", len(sent), len(got), sent, got)
}

// fuzzSeeds are recordings of all formats.
func fuzzSeeds(tb testing.TB) (seeds []string) {
	tb.Helper()
	seeds = slices.Concat(messageSeeds, adkSeeds, aiSDKSeeds, inspectSeeds, telemetrySeeds, toolSeeds, slices.Collect(maps.Values(examples)))
	seeds = append(seeds, string(recorded(tb)))
	protocols := requests()
	for _, name := range slices.Sorted(maps.Keys(protocols)) {
		x := over("POST", "https://api.cohere.com"+bodies[name].path, protocols[name], bodies[name].response)
		for _, format := range convert.Formats() {
			if file, _, err := convert.Write(format, recording.Metadata{}, []*recording.Interaction{x}); err == nil {
				seeds = append(seeds, string(file))
			}
		}
	}
	return seeds
}

// FuzzFormats reads any input as a recording in any format: it must not crash, must report what it
// cannot read, must find the same with any sizes of reads, and must hold no more in memory than a
// multiple of the input. With LOOPTAPE_FORMAT in the environment, it reads all inputs as of this
// format; .ci/soak does so for each.
func FuzzFormats(f *testing.F) {
	names := importer.FormatNames()
	for _, seed := range fuzzSeeds(f) {
		n := 0
		if src, err := importer.Open("file", strings.NewReader(seed)); err == nil {
			n = max(0, slices.Index(names, src.Format.Name))
		}
		f.Add(uint8(n), []byte(seed))
	}
	only := os.Getenv("LOOPTAPE_FORMAT")
	if only != "" && !slices.Contains(names, only) {
		f.Fatalf("unknown format %q: want one of %s", only, strings.Join(names, ", "))
	}
	f.Fuzz(func(t *testing.T, n uint8, b []byte) {
		format := cmp.Or(only, names[int(n)%len(names)])
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		readAs(t, b, func(r io.Reader) (*importer.Source, error) { return importer.OpenAs("file", format, r) })
		runtime.ReadMemStats(&after)
		const base, factor = 1 << 30, 20_000
		if allocated := after.TotalAlloc - before.TotalAlloc; allocated > uint64(base+factor*len(b)) {
			t.Errorf("%s: %d bytes are allocated for an input of %d", format, allocated, len(b))
		}
	})
}

// Each format has seeds. .ci/soak reads the names of the formats from the log.
func TestFuzzSeeds(t *testing.T) {
	missing := map[string]bool{}
	for _, name := range importer.FormatNames() {
		missing[name] = true
		t.Logf("format %s", name)
	}
	for _, seed := range fuzzSeeds(t) {
		if src, err := importer.Open("file", strings.NewReader(seed)); err == nil {
			delete(missing, src.Format.Name)
		}
	}
	for name := range missing {
		t.Errorf("the format %s has no seed", name)
	}
}

// readInChunks is readAs for a recording whose format is recognized.
func readInChunks(t *testing.T, b []byte) {
	readAs(t, b, func(r io.Reader) (*importer.Source, error) { return importer.Open("file", r) })
}

// readAs checks that any input is read without a crash, that the errors name what cannot be
// read, and that chunks, with runs in the same memory, give the same.
func readAs(t *testing.T, b []byte, open func(io.Reader) (*importer.Source, error)) {
	format, whole := readWith(open, bytes.NewReader(b))
	again, pieces := readWith(func(r io.Reader) (*importer.Source, error) {
		src, err := open(r)
		if err == nil {
			src.ReuseRuns = true
		}
		return src, err
	}, iotest.OneByteReader(bytes.NewReader(b)))
	if format != again || gocmp.Diff(whole, pieces) != "" {
		t.Errorf("%q: read byte by byte it is %s %q, whole %s %q", b, again, pieces, format, whole)
	}
	lists := format == "messages" || format == "message-lines"
	if len(whole) == 0 && lists {
		t.Errorf("%q: neither a run nor an error", b)
	}
	src, err := open(bytes.NewReader(b))
	if err != nil {
		return
	}
	for run, err := range src.Runs() {
		if run.Partial && err == nil && format != "trace" {
			t.Errorf("%q: run %s is partial without a reason", b, run.Name)
		}
		for _, m := range run.Messages {
			writeAndRead(t, m)
		}
		for _, s := range run.Scores {
			if s.Err == nil && (math.IsNaN(s.Value) || math.IsInf(s.Value, 0)) {
				t.Errorf("%q: the score %s is %v", b, s.Name, s.Value)
			}
		}
		for key, value := range run.Meta {
			if !json.Valid(value) {
				t.Errorf("%q: %q in the metadata of the run is not JSON: %s", b, key, value)
			}
		}
	}
	if src, err = open(bytes.NewReader(b)); err == nil && src.Format.HTTP {
		for run, err := range src.Conversations() {
			if err == nil {
				_ = run.Resources()
			}
		}
	}
}

// writeAndRead checks that an imported message survives a trace.
func writeAndRead(t *testing.T, m llm.Message) {
	t.Helper()
	text := m.AppendJSON(nil)
	var back llm.Message
	if err := back.UnmarshalJSON(text); err != nil {
		t.Fatalf("%s: %v", text, err)
	}
	if again := back.AppendJSON(nil); !bytes.Equal(text, again) {
		t.Errorf("written %s, read and written again %s", text, again)
	}
}
