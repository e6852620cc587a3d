package importer_test

import (
	"bytes"
	"fmt"
	"io"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/looptape/looptape/cassettes/convert"
	"github.com/looptape/looptape/cassettes/recording"
	"github.com/looptape/looptape/trace/importer"
)

// encodingErrors returns the errors about bytes that are not UTF-8 in a file.
func encodingErrors(t *testing.T, r io.Reader) (list []string) {
	t.Helper()
	src, err := importer.Open("x", r)
	if err != nil {
		return append(list, err.Error())
	}
	for _, err := range src.Runs() {
		if err != nil && strings.Contains(err.Error(), "is not UTF-8") {
			list = append(list, err.Error())
		}
	}
	return list
}

// A byte that is not UTF-8 is an error in each format, with its place.
func TestInvalidUTF8IsReported(t *testing.T) {
	files := map[string]string{"trace": strings.Join(strings.SplitAfter(string(recorded(t)), "\n")[:2], "")}
	for name, file := range examples {
		files[name] = file
	}
	for i, stream := range streams {
		files[fmt.Sprint("stream ", i)] = stream
	}
	x := over("POST", chatURL, `{"model":"m","messages":[`+hi+`]}`, `{"choices":[{"message":`+yo+`,"finish_reason":"stop"}]}`)
	for _, format := range convert.Formats() {
		if file, _, err := convert.Write(format, recording.Metadata{}, []*recording.Interaction{x}); err == nil {
			files["HTTP "+string(format)] = string(file)
		}
	}
	for name, file := range files {
		i := strings.LastIndexByte(file, '"')
		if i < 0 { // YAML with plain and single-quoted strings
			i = strings.LastIndexByte(file, '\'')
		}
		if got := encodingErrors(t, strings.NewReader(file)); got != nil {
			t.Errorf("%s: unchanged: errors %q", name, got)
		}
		broken := file[:i] + "\xe9" + file[i:]
		got := encodingErrors(t, strings.NewReader(broken))
		at := fmt.Sprintf("x:%d: the byte 0xe9 at offset %d is not UTF-8", 1+strings.Count(file[:i], "\n"), i)
		isYAML, isOwn := strings.HasPrefix(name, "HTTP go-vcr") || name == "HTTP vcrpy", name == "trace" || name == "HTTP cassette"
		if len(got) == 0 || !isYAML && !isOwn && !strings.HasPrefix(got[len(got)-1], at) { // a codec may report it, too
			t.Errorf("%s: errors %q, want %s", name, got, at)
		}
	}
}

// A character may be split between two reads. A file may begin with a byte order mark of UTF-8.
func TestUTF8InSmallReads(t *testing.T) {
	const text = "[{\"role\":\"user\",\"content\":\"é€😀\"},\n{\"role\":\"assistant\",\"content\":\"\\ud83d é\"}]"
	for name, c := range map[string]struct{ in, want string }{
		"valid":                    {text, ""},
		"with a mark":              {"\xef\xbb\xbf" + text, ""},
		"a surrogate":              {strings.Replace(text, "€", "\xed\xa0\x80", 1), "x:1: the byte 0xed at offset 29 "},
		"half of a character":      {strings.Replace(text, "😀", "\xf0\x9f", 1), "x:1: the byte 0xf0 at offset 32 "},
		"on the second line":       {strings.Replace(text, " é", " \xe9", 1), "x:2: the byte 0xe9 at offset 78 "},
		"in the middle of a char":  {strings.Replace(text, "€", "\x82\xac", 1), "x:1: the byte 0x82 at offset 29 "},
		"half of one, at the end":  {text + " \xe2\x82", "x:2: the byte 0xe2 at offset "},
		"a compressed file":        {string(zstandard(t, strings.Replace(text, " é", " \xe9", 1))), "x:2: the byte 0xe9 at offset 78 "},
		"UTF-32 with a mark":       {"\xff\xfe\x00\x00[\x00\x00\x00", "x: the file is in UTF-32"},
		"UTF-32 in the other form": {"\x00\x00\xfe\xff\x00\x00\x00[", "x: the file is in UTF-32"},
		"UTF-32 without a mark":    {"[\x00\x00\x00]\x00\x00\x00", "x: the file is in UTF-32"},
		"UTF-16 with a mark":       {"\xff\xfe[\x00{\x00", "x: the file is in UTF-16"},
		"UTF-16 in the other form": {"\xfe\xff\x00[\x00{", "x: the file is in UTF-16"},
		"UTF-16 without a mark":    {"[\x00{\x00\"\x00", "x: the file is in UTF-16"},
		"UTF-16, the other form":   {"\x00[\x00{\x00\"", "x: the file is in UTF-16"},
	} {
		for size, reader := range map[string]io.Reader{"whole": strings.NewReader(c.in), "by bytes": iotest.OneByteReader(strings.NewReader(c.in)), "with the end": iotest.DataErrReader(bytes.NewReader([]byte(c.in)))} {
			got := encodingErrors(t, reader)
			if c.want == "" && got != nil || c.want != "" && (len(got) != 1 || !strings.HasPrefix(got[0], c.want)) {
				t.Errorf("%s, %s: errors %q, want %q", name, size, got, c.want)
			}
		}
	}
}

// An entry of a ZIP has its own error, and the other entries are checked.
func TestInvalidUTF8InZIP(t *testing.T) {
	bad := entry{name: "samples/3_epoch_1.json", text: "{\"id\":3,\n\"epoch\":1,\"input\":\"\xe9\",\"messages\":[" + hi + "]}"}
	got := encodingErrors(t, bytes.NewReader(zipOf(t, entry{name: "_journal/start.json", text: `{"version":1,"plan":{}}`}, bad, sampleOne, logHeader)))
	if len(got) != 1 || !strings.HasPrefix(got[0], "x:2: samples/3_epoch_1.json: the byte 0xe9 at offset ") {
		t.Errorf("errors %q", got)
	}
}
