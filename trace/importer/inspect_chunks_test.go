package importer_test

import (
	"bytes"
	"fmt"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/klauspost/compress/zstd"

	"github.com/looptape/looptape/trace/importer"
)

// chunkedSample are the entries of a chunked sample, and then others; those with the name of a
// chunk replace it.
func chunkedSample(others ...entry) []entry {
	pieces := []entry{
		{name: "samples/a/1_epoch_2/sample.json", text: `{"id":"a/1","epoch":2,"input":"x","target":"yo","output":{"completion":"attachment://1"},"scores":{"m":{"value":"C"}},"message_refs":[[0,2],[3,4],[0,1]],"sequences":{}}`},
		{name: "samples/a/1_epoch_2/metadata.json", text: `{"level":NaN}`},
		{name: "samples/a/1_epoch_2/skeleton.json", text: `{`},
		{name: "samples/a/1_epoch_2/messages/2.json", text: `[{"role":"system","content":"another"},{"role":"user","content":[{"type":"image","image":"attachment://2"},{"type":"image","image":"attachment://2","detail":"low"}]}]`},
		{name: "samples/a/1_epoch_2/messages/0.json", text: "[" + hi + `,{"role":"assistant","content":[{"type":"text","text":"attachment://1"},{"type":"text","text":"attachment://9"}]}]`},
		{name: "samples/a/1_epoch_2/events/2.json", text: `[{"event":"tool","result":"attachment://0"}]`},
		{name: "samples/a/1_epoch_2/events/0.json", text: `[{"event":"model","output":{"usage":{"input_tokens":7}}},{"event":"info","data":NaN}]`},
		{name: "samples/a/1_epoch_2/events/uuids.json", text: `{`},
		{name: "samples/a/1_epoch_2/calls/0.json", text: `{`},
		{name: "samples/a/1_epoch_2/events/stats.json", text: `{`},
		{name: "samples/a/1_epoch_2/attachments/0.json", text: `["zero","yo"]`},
		{name: "samples/a/1_epoch_2/attachments/2.json", text: `["data:image/png;base64,AAAA"]`},
	}
	for _, other := range others {
		pieces = slices.DeleteFunc(pieces, func(e entry) bool { return e.name == other.name })
	}
	return append(pieces, others...)
}

func TestInspectChunks(t *testing.T) {
	in := zipOf(t, chunkedSample(sampleTwo, logHeader)...)
	want := []string{`sample-a/1/epoch-2 case="a/1" epoch=2 want=["yo"] answer="yo" m=1`, `sample-2/epoch-1 case="2" epoch=1`}
	if diff := cmp.Diff(want, readData(t, bytes.NewReader(in))); diff != "" {
		t.Errorf("runs (-want +got):\n%s", diff)
	}
	want = []string{
		`{"role":"user","parts":[{"type":"text","text":"hi"}]}`,
		`{"role":"assistant","parts":[{"type":"text","text":"yo"},{"type":"text","text":"attachment://9"}]}`,
		`{"role":"user","parts":[{"type":"media","media_type":"image/png","data":"AAAA"},{"type":"media","media_type":"image/png","data":"AAAA","opaque":{"detail":"low"}}]}`,
		`{"role":"user","parts":[{"type":"text","text":"hi"}]}`,
		`{"role":"assistant","parts":[{"type":"text","text":"yo"}]}`,
	}
	if diff := cmp.Diff(want, ownJSON(t, bytes.NewReader(in))); diff != "" {
		t.Errorf("messages (-want +got):\n%s", diff)
	}
	src, err := importer.Open("file", bytes.NewReader(in))
	if err != nil {
		t.Fatal(err)
	}
	for run, err := range src.Runs() {
		if err != nil {
			t.Fatal(err)
		}
		meta := map[string]string{}
		for key, value := range run.Meta {
			meta[key] = string(value)
		}
		wantMeta := map[string]string{
			"id": `"a/1"`, "epoch": "2", "input": `"x"`, "target": `"yo"`, "output": `{"completion":"attachment://1"}`,
			"scores": `{"m":{"value":"C"}}`, "sequences": "{}", "metadata": `{"level":"NaN"}`,
			"attachments": `{"0":"zero","1":"yo","2":"data:image/png;base64,AAAA"}`,
			"events":      `[{"event":"model","output":{"usage":{"input_tokens":7}}},{"event":"info","data":"NaN"},{"event":"tool","result":"attachment://0"}]`,
		}
		if diff := cmp.Diff(wantMeta, meta); diff != "" {
			t.Errorf("meta (-want +got):\n%s", diff)
		}
		break
	}
}

func TestInspectChunksBroken(t *testing.T) {
	t.Parallel()
	const folder = "samples/a/1_epoch_2/"
	piece := func(name, text string) entry { return entry{name: folder + name, text: text} }
	whole, two := "sample-a/1/epoch-2@1 user:hi assistant:yoattachment://9 user: user:hi", "sample-2/epoch-1@1 assistant:yo"
	bomb := piece("attachments/7.json", `["`+strings.Repeat(" ", 20<<20)+`"]`)
	bomb.method = zstd.ZipMethodWinZip
	more := piece("messages/7.json", "["+strings.Repeat(" ", 20<<20)+"]")
	more.method = zstd.ZipMethodWinZip
	for name, c := range map[string]struct {
		entry
		want []string
	}{
		"a message": {piece("messages/2.json", "[{\"role\":\"user\"},\n7]"), []string{
			"! file:2: " + folder + "messages/2.json: [1]: expected an object",
			"sample-a/1/epoch-2@1 user:hi assistant:yoattachment://9 …! file:1: " + folder + "sample.json: message_refs[1]: the message 3 is missing or could not be read"}},
		"another's message": {piece("messages/4.json", "["), []string{
			"! file:1: " + folder + "messages/4.json: [0]: the text ends too early", whole}},
		"no first messages": {piece("messages/0.json", "{}"), []string{
			"! file:1: " + folder + "messages/0.json: expected an array",
			"! file:1: " + folder + "sample.json: message_refs[0]: the message 0 is missing or could not be read"}},
		"attachments":           {piece("attachments/2.json", `["data:",7]`), []string{"! file:1: " + folder + "attachments/2.json: [1]: expected a string", whole}},
		"events":                {piece("events/2.json", `[{"event":"x"},{]`), []string{"! file:1: " + folder + "events/2.json: [1]: expected a member's name in double quotes", whole}},
		"metadata":              {piece("metadata.json", "{\n"), []string{"! file:2: " + folder + "metadata.json: the text ends too early", whole}},
		"no sample":             {piece("sample.json", "7"), []string{"! file:1: " + folder + "sample.json: expected an object"}},
		"a sample without id":   {piece("sample.json", `{"message_refs":[]}`), []string{"! file:1: " + folder + "sample.json: the sample has no id"}},
		"a sample that is {}":   {piece("sample.json", `{}`), []string{"! file:1: " + folder + "sample.json: the sample has no id"}},
		"no references":         {piece("sample.json", `{"id":1}`), []string{"! file:1: " + folder + "sample.json: the sample has no message_refs"}},
		"references, broken":    {piece("sample.json", `{"id":1,"message_refs":[[0,1],[2]]}`), []string{"sample-1@1 user:hi …! file:1: " + folder + "sample.json: message_refs[1]: expected the numbers of the first message and of the one after the last"}},
		"references, negative":  {piece("sample.json", `{"id":1,"message_refs":[[-1,1]]}`), []string{"! file:1: " + folder + "sample.json: message_refs[0]: the message -1 is missing or could not be read"}},
		"references, endless":   {piece("sample.json", `{"id":1,"message_refs":[[3,1],[0,9223372036854775807]]}`), []string{"sample-1@1 user:hi assistant:yoattachment://9 system:another user: …! file:1: " + folder + "sample.json: message_refs[1]: the message 4 is missing or could not be read"}},
		"a sample further down": {piece("b/c/1.json", `{"id":7}`), []string{whole, "sample-7@1"}},
		"a sample at the top":   {entry{name: "samples/sample.json", text: `{"id":7}`}, []string{whole, "! file:1: samples/sample.json: the sample has no message_refs"}},
		"invalid numbers":       {piece("messages/x.json", "["), []string{whole}},
	} {
		t.Run(name, func(t *testing.T) {
			_, got := read(t, bytes.NewReader(zipOf(t, chunkedSample(c.entry, sampleTwo)...)))
			if diff := cmp.Diff(append(c.want, two), got); diff != "" {
				t.Errorf("runs (-want +got):\n%s", diff)
			}
		})
	}
	t.Run("bombs", func(t *testing.T) {
		_, got := read(t, bytes.NewReader(zipOf(t, chunkedSample(bomb, more, sampleTwo)...)))
		want := []string{"! file: " + folder + "messages/7.json: the limit of 32 MiB for a sample is exceeded", whole, two}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("runs (-want +got):\n%s", diff)
		}
	})
	t.Run("many references", func(t *testing.T) {
		refs := strings.Repeat("[0,2],", 1<<19)
		src, err := importer.Open("file", bytes.NewReader(zipOf(t, chunkedSample(piece("sample.json", `{"id":1,"message_refs":[`+refs+`[0,1]]}`))...)))
		if err != nil {
			t.Fatal(err)
		}
		for run, err := range src.Runs() {
			if want := fmt.Sprintf("message_refs[%d]: the sample refers to more than %d messages", 1<<19, 1<<20); err == nil || !strings.HasSuffix(err.Error(), want) || len(run.Messages) != 1<<20 || !run.Partial {
				t.Errorf("%d messages, error %v, want the suffix %q", len(run.Messages), err, want)
			}
		}
	})
}

func TestInspectChunksUnknown(t *testing.T) {
	in := zipOf(t, chunkedSample(entry{name: "samples/a/1_epoch_2/messages/x.json", text: "["}, entry{name: "samples/a/1_epoch_2/scores/0.json", text: "[]"})...)
	_, runs, failed, unknown := readAll(t, "file", in)
	var got []string
	for _, err := range unknown {
		got = append(got, err.Error())
	}
	want := []string{
		`file:1: the sample does not have the attachment "attachment://9" (in sample-a/1/epoch-2)`,
		"file:1: samples/a/1_epoch_2/messages/x.json: the entry of the sample is unknown and is not read (in sample-a/1/epoch-2)",
		"file:1: samples/a/1_epoch_2/scores/0.json: the entry of the sample is unknown and is not read (in sample-a/1/epoch-2)",
	}
	if diff := cmp.Diff(want, got); diff != "" || failed != nil || len(runs) != 1 {
		t.Errorf("%d runs, errors %v, unknown (-want +got):\n%s", len(runs), failed, diff)
	}
}

// An attachment that many messages refer to is decoded once.
func TestInspectPicture(t *testing.T) {
	const times, size = 1000, 1 << 20
	in := inspectLog(`{"id":1,"messages":[` + strings.TrimSuffix(strings.Repeat(`{"role":"user","content":[{"type":"image","image":"attachment://k"}]},`, times), ",") +
		`],"attachments":{"k":"data:image/png;base64,` + strings.Repeat("A", size) + `"}}`)
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	_, got := read(t, strings.NewReader(in))
	runtime.ReadMemStats(&after)
	if want := "sample-1@1" + strings.Repeat(" user:", times); len(got) != 1 || got[0] != want {
		t.Errorf("got %.100q, want %.100q", got, want)
	}
	if mib := (after.TotalAlloc - before.TotalAlloc) >> 20; mib > 50 {
		t.Errorf("%d MiB were allocated", mib)
	}
}
