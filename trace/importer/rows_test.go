package importer_test

import (
	"bytes"
	"fmt"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/google/go-cmp/cmp"

	"github.com/looptape/looptape/trace/importer"
)

func TestRowsDetected(t *testing.T) {
	for name, c := range map[string]struct {
		in   string
		want []string
	}{
		"lines":         {`{"prompt":"p","expected":"e","answer":"a","id":1,"score":0.5}` + "\n" + `{"question":"q","ideal":["x","y"]}`, []string{`1 case="1" epoch=-1 want=["e"] answer="a" score=0.5`, `run-2 case="" epoch=-1 want=["x" "y"]`}},
		"an array":      {`[{"input":"p","target":7,"output":{"a":1}},{"input":"p","reference":"","response":null}]`, []string{`run-1 case="" epoch=-1 want=["7"] answer="{\"a\":1}"`, `run-2 case="" epoch=-1`}},
		"one row":       {"{\n\"completion\":\"c\",\"prompt\":\"p\",\"trial\":3}", []string{`run-1 case="" epoch=3 answer="c"`}},
		"CSV":           {"prompt,expected,answer,score,case,epoch\r\n\"a, \"\"b\"\"\nc\",e,x,yes,k,2\r\n,,,,,\r\n\nq,e,,0.5,k,\n", []string{`run-1 case="k" epoch=2 want=["e"] answer="x" score=1`, `run-2 case="" epoch=-1`, `run-3 case="k" epoch=-1 want=["e"] score=0.5`}},
		"CSV, one line": {"\xef\xbb\xbfquestion,answer", nil},
		"a broken row":  {`{"prompt":"p","answer":"a"}` + "\n" + `{"prompt":"p","answer":}` + "\n7\n" + `{"prompt":"p","answer":"b","score":NaN}` + "\n", []string{`run-1 case="" epoch=-1 answer="a"`, "! file:2: answer: expected a value", "! file:3: expected an object", `run-4 case="" epoch=-1 answer="b" score: the score is NaN: it has no value`}},
		"broken CSV":    {"prompt,answer\np\np,a\np,\"a\" b\np,b\np,\"a\n\n", []string{"! file:2: the row has 1 fields: want 2, the number of columns", `run-1 case="" epoch=-1 answer="a"`, `! file:4: extraneous or missing " in quoted-field`, `run-2 case="" epoch=-1 answer="b"`, `! file:6: extraneous or missing " in quoted-field`}},
	} {
		t.Run(name, func(t *testing.T) {
			for way, s := range map[string]string{"plain": c.in, "in zstd": string(zstandard(t, c.in))} {
				src, err := importer.Open("file", iotest.OneByteReader(strings.NewReader(s)))
				if err != nil {
					t.Fatal(err)
				}
				if diff := cmp.Diff(c.want, describeRuns(src, nil)); diff != "" || src.Format.Name != "rows" {
					t.Errorf("%s: format %s, runs (-want +got):\n%s", way, src.Format.Name, diff)
				}
			}
		})
	}
	for _, in := range []string{`{"prompt":"p"}`, `{"answer":"p","expected":"x"}`, "prompt\nx", "expected,answer\nx,y", "\"prompt,answer\nx,y", "# prompt, answer"} {
		if src, err := importer.Open("file", strings.NewReader(in)); err == nil {
			t.Errorf("%q is read as %s", in, src.Format.Name)
		}
	}
}

// What was asked and what was answered are the messages.
func TestRowsMessages(t *testing.T) {
	in := `{"prompt":"p","answer":"a"}
{"input":[{"role":"system","content":"s"},` + hi + `],"output":7}
{"messages":[` + hi + "," + yo + `],"answer":"yo","prompt":"x"}
{"prompt":[1,2],"expected":"e"}
{"prompt":null,"expected":"e"}
{"response":"r"}
{"response":[{"id":"c1","type":"function","function":{"name":"f","arguments":"{}"}}]}
{"response":[{"function":"f"},{"function":7}]}
`
	want := []string{
		`{"role":"user","parts":[{"type":"text","text":"p"}]}`,
		`{"role":"assistant","parts":[{"type":"text","text":"a"}]}`,
		`{"role":"system","parts":[{"type":"text","text":"s"}]}`,
		`{"role":"user","parts":[{"type":"text","text":"hi"}]}`,
		`{"role":"assistant","parts":[{"type":"text","text":"7"}]}`,
		`{"role":"user","parts":[{"type":"text","text":"hi"}]}`,
		`{"role":"assistant","parts":[{"type":"text","text":"yo"}]}`,
		`{"role":"user","parts":[{"type":"text","text":"[1,2]"}]}`,
		`{"role":"assistant","parts":[{"type":"text","text":"r"}]}`,
		`{"role":"assistant","parts":[{"type":"tool_call","id":"c1","name":"f","arguments":"{}"}]}`,
		`{"role":"assistant","parts":[{"type":"text","text":"[{\"function\":\"f\"},{\"function\":7}]"}]}`,
	}
	if diff := cmp.Diff(want, ownJSON(t, strings.NewReader(in))); diff != "" {
		t.Errorf("messages (-want +got):\n%s", diff)
	}
}

func TestOpenRows(t *testing.T) {
	for name, c := range map[string]struct {
		in   string
		m    importer.Mapping
		want []string
	}{
		"all": {
			`{"a":{"b":["x",{"c/d~":true}]},"e":4,"p":"ask","w":["y"],"id":9,"score":1}`,
			importer.Mapping{Case: "/a/b/0", Epoch: "/e", Prompt: "/p", Expected: "/w", Answer: "/a/b/0", Scores: map[string]string{"s": "/a/b/1/c~1d~0", "e": "/e"}},
			[]string{`9 case="x" epoch=4 want=["y"] answer="x" e=4 s=1`},
		},
		"usual names": {
			`{"id":9,"score":1,"prompt":"p","trial":0}`,
			importer.Mapping{},
			[]string{`9 case="9" epoch=0 score=1`},
		},
		"values that are missing or wrong": {
			`{"c":{"x":1},"s":null}` + "\n" + `{"s":"maybe","e":"no"}` + "\n" + `{"s":"maybe","e":null}`,
			importer.Mapping{Case: "/c", Epoch: "/e", Scores: map[string]string{"s": "/s"}},
			[]string{`run-1 case="{\"x\":1}" epoch=-1`, "! file:2: invalid epoch at /e: want an integer of 0 or more", `run-3 case="" epoch=-1 s: file:3: /s: invalid score: want a number, a boolean, or one of C, I, P and N`},
		},
		"pointers to nothing": {
			`{"c":[1],"d":{"0":1}}`,
			importer.Mapping{Case: "/c/1", Prompt: "/c/00", Expected: "/c/x", Answer: "/c/0/0", Scores: map[string]string{"s": "/", "t": "/d/0"}},
			[]string{
				`run-1 case="" epoch=-1 t=1`, "! file: no row has a value at /c/1, the case", "! file: no row has a value at /c/00, the prompt",
				"! file: no row has a value at /c/x, the expected answer", "! file: no row has a value at /c/0/0, the answer", "! file: no row has a value at /, the score s",
			},
		},
		"no pointer": {
			`{}`, importer.Mapping{Case: "id"}, []string{`! file: the JSON pointer "id" to the case: missing / at the beginning`},
		},
		"a broken pointer": {
			`{}`, importer.Mapping{Scores: map[string]string{"s": "/a~2"}}, []string{`! file: the JSON pointer "/a~2" to the score s: invalid escape: write ~0 for ~ and ~1 for /`},
		},
		"CSV": {
			"k,a/b,s\nx,1,True\n,,\n\"y\nz\",2,nope\nx,3.5,1\n", importer.Mapping{Case: "/k", Epoch: "/a~1b", Scores: map[string]string{"s": "/s"}},
			[]string{
				`run-1 case="x" epoch=1 s=1`, `run-2 case="" epoch=-1`, `run-3 case="y\nz" epoch=2 s: file:4: /s: invalid score: want a number, a boolean, or one of C, I, P and N`,
				"! file:6: invalid epoch at /a~1b: want an integer of 0 or more",
			},
		},
		"a column that is not there":  {"a,b\n1,2\n", importer.Mapping{Case: "/c"}, []string{"! file:1: no column /c, the case: want one of /a, /b"}},
		"a column and something more": {"a,b\n1,2\n", importer.Mapping{Case: "/a/b"}, []string{"! file:1: no column /a/b, the case: want one of /a, /b"}},
		"names that cannot be read":   {"a,\"b\n1,2\n", importer.Mapping{}, []string{`! file:1: extraneous or missing " in quoted-field`}},
		"columns of one name":         {"a,a\n1,2\n", importer.Mapping{Case: "/a"}, []string{`run-1 case="1" epoch=-1`}},
		"nothing":                     {" \n", importer.Mapping{}, []string{"! file: " + importer.ErrEmpty.Error()}},
	} {
		t.Run(name, func(t *testing.T) {
			got := describeRuns(importer.OpenRows("file", strings.NewReader(c.in), &c.m))
			if diff := cmp.Diff(c.want, got); diff != "" {
				t.Errorf("runs (-want +got):\n%s", diff)
			}
		})
	}
}

// A CSV field without an end takes limited memory.
func TestRowsBomb(t *testing.T) {
	t.Parallel()
	endless := make([]string, 33)
	for i := range endless {
		endless[i] = strings.Repeat("a", 1<<20)
	}
	bomb := append(zstandard(t, "prompt,answer\np,a\n\""), zstandard(t, endless...)...)
	want := []string{`run-1 case="" epoch=-1 answer="a"`, "! file: reading stopped: the limit of 32 MiB in memory is exceeded: decompress the file first if it is not a decompression bomb"}
	if diff := cmp.Diff(want, readData(t, bytes.NewReader(bomb))); diff != "" {
		t.Errorf("runs (-want +got):\n%s", diff)
	}
}

// A consumer that stopped the iteration gets no other row and no error of a missing pointer.
func TestRowsLeave(t *testing.T) {
	for _, in := range []string{"a,b\n1,2\n3,4\n", "a,b\n1\n3\n", "{}\n{}\n", "{}", "[{},{}]"} {
		m := importer.Mapping{}
		if in[0] != 'a' {
			m.Case = "/x"
		}
		src, err := importer.OpenRows("file", strings.NewReader(in), &m)
		if err != nil {
			t.Fatal(err)
		}
		for run, err := range src.Runs() {
			t.Log(describeRun(run, err))
			break
		}
	}
}

func FuzzRows(f *testing.F) {
	for _, seed := range []string{
		`{"prompt":"p","answer":"a","expected":["e"],"score":1,"a":{"b":[1]}}` + "\n" + `{"prompt":7}`,
		"prompt,answer,a\n\"x\ny\",z,1\n,,\n\"", `[{"input":[` + hi + `],"output":"o"}]`,
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		readInChunks(t, b)
		m := importer.Mapping{Case: "/a/b/0", Epoch: "/a", Scores: map[string]string{"s": "/score", "x": "/a~1b"}}
		whole := describeRuns(importer.OpenRows("file", bytes.NewReader(b), &m))
		pieces := describeRuns(importer.OpenRows("file", iotest.OneByteReader(bytes.NewReader(b)), &m))
		if diff := cmp.Diff(whole, pieces); diff != "" {
			t.Errorf("%q: read byte by byte it differs (-whole +bytes):\n%s", b, diff)
		}
	})
}

// Runs are the same if they use memory of earlier ones, and else stay valid.
func TestReuseRuns(t *testing.T) {
	list := `"[` + strings.ReplaceAll(hi+","+yo, `"`, `""`) + `]"`
	in := "\xef\xbb\xbfid,,prompt,answer,score,reward,note,note\r\n" +
		"1,,\"a, \"\"b\"\"\r\nc\",x,yes,0.5,n,\r\n" +
		",,,,,,,\n\n" +
		"2,,p\np,\"a\" b\n" +
		"3," + list + "," + list + ",,no,x,,7\n" +
		"4,,q," + list + ",1,,,\n" +
		"5,," + strings.Repeat("\x01\"\"", 30_000) + ",\xff,NaN,1,,\n" +
		"6,\"{\"\"a\"\":[{\"\"role\"\":\"\"user\"\",\"\"content\"\":\"\"other\"\"}]}\",p,\"" + strings.Repeat("x", 100_000) + "\",0,1,,\n" +
		strings.Repeat("7,,short,,1,,,\n8,,,short,,,,1\n", 2000)
	for _, m := range []*importer.Mapping{nil, {Answer: "/note", Scores: map[string]string{"a": "/score", "b": "/reward", "c": "/id"}}} {
		runs := func(reuse bool) (then []string, kept []importer.Run) {
			src, err := importer.OpenRows("file", strings.NewReader(in), m)
			if err != nil {
				t.Fatal(err)
			}
			src.ReuseRuns = reuse
			for run, err := range src.Runs() {
				then, kept = append(then, fmt.Sprintf("%+v %v", run, err)), append(kept, run)
			}
			return then, kept
		}
		want, kept := runs(false)
		for i := range kept {
			if now := fmt.Sprintf("%+v", kept[i]); !strings.HasPrefix(want[i], now) {
				t.Fatalf("a later run changed run %d:\n%.2000s\n%.2000s", i, want[i], now)
			}
		}
		got, _ := runs(true)
		if len(got) != len(want) {
			t.Fatalf("got %d runs, want %d", len(got), len(want))
		}
		for i := range want {
			if got[i] != want[i] {
				t.Fatalf("run %d: got %.2000s\nwant %.2000s", i, got[i], want[i])
			}
		}
	}
}
