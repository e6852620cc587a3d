package importer_test

import (
	"archive/zip"
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/google/go-cmp/cmp"
	"github.com/klauspost/compress/zstd"

	"github.com/looptape/looptape/trace/importer"
)

// entry is one of a ZIP.
type entry struct {
	name, text string
	method     uint16
	flags      uint16
	raw        bool // the text is compressed already, or declared as compressed
}

func zipOf(t testing.TB, entries ...entry) []byte {
	t.Helper()
	var b bytes.Buffer
	zw := zip.NewWriter(&b)
	zw.RegisterCompressor(zstd.ZipMethodWinZip, zstd.ZipCompressor())
	for _, e := range entries {
		create := zw.CreateHeader
		header := &zip.FileHeader{Name: e.name, Method: e.method, Flags: e.flags}
		if e.raw {
			create = zw.CreateRaw
			header.CompressedSize64, header.UncompressedSize64 = uint64(len(e.text)), uint64(len(e.text))
		}
		w, err := create(header)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := io.WriteString(w, e.text); err != nil {
			t.Fatal(err)
		}
	}
	if err := zw.Close(); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

var (
	sampleOne = entry{name: "samples/1_epoch_1.json", text: `{"id":1,"epoch":1,"messages":[` + hi + `],"scores":{"m":{"value":NaN}}}`}
	sampleTwo = entry{name: "samples/2_epoch_1.json", text: `{"id":2,"epoch":1,"messages":[` + yo + `]}`}
	logHeader = entry{name: "header.json", text: `{"version":2,"eval":{"model":"m"},"results":{"stderr":NaN}}`}
)

func TestArchive(t *testing.T) {
	for name, method := range map[string]uint16{"stored": zip.Store, "deflate": zip.Deflate, "zstd": zstd.ZipMethodWinZip} {
		t.Run(name, func(t *testing.T) {
			entries := []entry{{name: "_journal/start.json", text: `{"version":1,"plan":{}}`}, sampleTwo, sampleOne, {name: "summaries.json", text: "[]"}, logHeader}
			for i := range entries {
				entries[i].method = method
			}
			file := zipOf(t, entries...)
			standing := bytes.NewReader(append([]byte("before it"), file...))
			if _, err := standing.Seek(9, io.SeekStart); err != nil {
				t.Fatal(err)
			}
			for way, r := range map[string]io.Reader{
				"a file":           bytes.NewReader(file),
				"a part of a file": standing,
				"a stream":         iotest.OneByteReader(bytes.NewReader(file)),
				"gzipped":          zipped(t, string(file)),
				"in zstd":          bytes.NewReader(zstandard(t, string(file))),
			} {
				format, got := read(t, r)
				if diff := cmp.Diff([]string{"sample-2/epoch-1@1 assistant:yo", "sample-1/epoch-1@1 user:hi"}, got); diff != "" || format != "inspect" {
					t.Errorf("%s: format %q, runs (-want +got):\n%s", way, format, diff)
				}
			}
		})
	}
}

func TestArchiveHead(t *testing.T) {
	src, err := importer.Open("file", bytes.NewReader(zipOf(t, entry{name: "_journal/start.json", text: `{"version":1,"plan":{}}`}, sampleOne, logHeader)))
	if err != nil {
		t.Fatal(err)
	}
	for run, err := range src.Runs() {
		if err != nil {
			t.Fatal(err)
		}
		got := map[string]string{}
		for key, value := range run.Head {
			got[key] = string(value)
		}
		want := map[string]string{"version": "2", "plan": "{}", "eval": `{"model":"m"}`, "results": `{"stderr":"NaN"}`}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("head (-want +got):\n%s", diff)
		}
	}
}

func TestArchiveBroken(t *testing.T) {
	t.Parallel()
	one, two := "sample-1/epoch-1@1 user:hi", "sample-2/epoch-1@1 assistant:yo"
	noLog := "! file: a ZIP without samples/*.json is not a log of Inspect: unpack it first: " + importer.ErrFormat.Error()
	long := zipOf(t, entry{name: sampleOne.name, text: "[" + strings.Repeat(" ", 32<<20), method: zstd.ZipMethodWinZip}, sampleTwo)
	flipped := zipOf(t, sampleOne, sampleTwo)
	flipped[bytes.Index(flipped, []byte("user"))] = 'U'
	whole := zipOf(t, sampleOne, sampleTwo)
	left := uint32(len(whole) - bytes.Index(whole, []byte(sampleTwo.text)))
	names := []entry{logHeader}
	for range 300 {
		names = append(names, entry{name: strings.Repeat("x", 60_000)})
	}
	for name, c := range map[string]struct {
		file []byte
		want []string
	}{
		"a message":                {zipOf(t, entry{name: "samples/1.json", text: "{\"id\":1,\n\"messages\":[{}]}"}, sampleTwo), []string{"! file:2: samples/1.json: messages[0]: the message has no role", two}},
		"a sample":                 {zipOf(t, entry{name: "samples/1.json", text: "7"}, sampleTwo), []string{"! file:1: samples/1.json: expected an object", two}},
		"a truncated entry":        {zipOf(t, entry{name: "samples/1.json", text: `{"id":1`}, sampleTwo), []string{"! file:1: samples/1.json: id: the text ends too early", two}},
		"a header":                 {zipOf(t, entry{name: "header.json", text: `{"x":}`}, sampleTwo), []string{"! file:1: header.json: x: expected a value", two}},
		"a sum":                    {flipped, []string{"! file: samples/1_epoch_1.json: zip: checksum error", two}},
		"a sample of summaries":    {zipOf(t, entry{name: "summaries.json", text: `[{"id":1,"epoch":1},{"id":2,"epoch":1},{"id":1,"epoch":2}]`}, entry{name: "_journal/summaries/1.json", text: "{"}, sampleOne, sampleTwo), []string{one, two, `! file: the summaries have the sample "samples/1_epoch_2", which has no entry in the ZIP`}},
		"a sample of the journal":  {zipOf(t, entry{name: "_journal/summaries/1.json", text: `[{"id":1,"epoch":1},{"id":2,"epoch":1},{"id":2,"epoch":1},{"id":"a/b","epoch":2}]`}, sampleOne, sampleTwo), []string{one, two, `! file: the summaries have the sample "samples/a/b_epoch_2", which has no entry in the ZIP`}},
		"summaries":                {zipOf(t, entry{name: "summaries.json", text: `{"x":}`}, sampleTwo), []string{two, "! file:1: summaries.json: x: expected a value"}},
		"no samples":               {zipOf(t, logHeader), []string{"! file: the ZIP has no entry samples/*.json, and so no runs"}},
		"another ZIP":              {zipOf(t, entry{name: "word/document.xml"}, entry{name: "../samples/1.json"}, entry{name: "/samples/1.json"}, entry{name: "samples/1.txt"}), []string{noLog}},
		"a name that leads away":   {zipOf(t, entry{name: "samples/../../1.json", text: sampleTwo.text}), []string{two}},
		"an id with slashes":       {zipOf(t, entry{name: "samples/https://a/b_epoch_1.json", text: sampleTwo.text}), []string{two}},
		"a byte order mark":        {zipOf(t, entry{name: sampleTwo.name, text: "\xef\xbb\xbf" + sampleTwo.text}), []string{two}},
		"an empty ZIP":             {zipOf(t), []string{noLog}},
		"one name twice":           {zipOf(t, entry{name: sampleTwo.name, text: "{"}, sampleTwo), []string{two}},
		"encrypted":                {zipOf(t, entry{name: sampleOne.name, flags: 1, raw: true}, sampleTwo), []string{"! file: samples/1_epoch_1.json: the entry is encrypted", two}},
		"an unknown method":        {zipOf(t, entry{name: sampleOne.name, method: 12, raw: true}, sampleTwo), []string{"! file: samples/1_epoch_1.json: unknown compression method 12: want stored, deflate (8) or zstd (93)", two}},
		"wrong type":               {zipOf(t, entry{name: sampleOne.name, method: zip.Deflate, raw: true, text: "\xff\xff"}, sampleTwo), []string{"! file: samples/1_epoch_1.json: flate: corrupt input before offset 1", two}},
		"a bomb":                   {long, []string{"! file: samples/1_epoch_1.json: the limit of 32 MiB for a sample is exceeded", two}},
		"two long ones":            {zipOf(t, longSample(1), longSample(2)), []string{"sample-1@1", "sample-2@1"}},
		"a long directory":         {zipOf(t, names...), []string{"! file: the ZIP cannot be read: the directory of the ZIP is longer than 16 MiB"}},
		"truncated":                {whole[:len(whole)-30], []string{"! file: the ZIP cannot be read: zip: not a valid zip file"}},
		"entries in one place":     {moved(whole, 42, 0), []string{`! file: the entries "samples/1_epoch_1.json" and "samples/2_epoch_1.json" of the ZIP share bytes`}},
		"an entry without end":     {moved(whole, 20, 1<<30), []string{`! file: the entry "samples/2_epoch_1.json" of the ZIP is longer than the rest of the ZIP`}},
		"an entry a byte too long": {moved(whole, 20, left+1), []string{`! file: the entry "samples/2_epoch_1.json" of the ZIP is longer than the rest of the ZIP`}},
		"an entry up to the end":   {moved(whole, 20, left), []string{"sample-1/epoch-1@1 user:hi", "! file: samples/2_epoch_1.json: zip: not a valid zip file"}},
		"an invalid entry":         {moved(whole, 42, 1), []string{`! file: the entry "samples/2_epoch_1.json" of the ZIP cannot be read: zip: not a valid zip file`}},
	} {
		t.Run(name, func(t *testing.T) {
			_, got := read(t, bytes.NewReader(c.file))
			if diff := cmp.Diff(c.want, got); diff != "" {
				t.Errorf("runs (-want +got):\n%s", diff)
			}
		})
	}
}

// longSample is a sample of such a length that two exceed the limit.
func longSample(id int) entry {
	return entry{name: fmt.Sprintf("samples/%d.json", id), text: fmt.Sprintf(`{"id":%d%s}`, id, strings.Repeat(" ", 20<<20)), method: zstd.ZipMethodWinZip}
}

// moved writes a number into the record of a ZIP's last entry.
func moved(file []byte, offset int, to uint32) []byte {
	file = bytes.Clone(file)
	record := bytes.LastIndex(file, []byte("PK\x01\x02"))
	binary.LittleEndian.PutUint32(file[record+offset:], to)
	return file
}

// wrapped is a file that reads no further than Open looks, or that cannot be moved in.
type wrapped struct {
	*bytes.Reader
	left   int
	unmove bool
}

func (w *wrapped) Read(p []byte) (int, error) {
	n, err := w.Reader.Read(p[:min(len(p), max(1, w.left))])
	if w.left -= n; w.left < 0 && !w.unmove {
		return 0, errors.New("it was read on")
	}
	return n, err
}

func (w *wrapped) Seek(offset int64, whence int) (int64, error) {
	if w.unmove {
		return 0, errors.New("it is a pipe")
	}
	return w.Reader.Seek(offset, whence)
}

// A file is read in place, and one that only looks like an archive is buffered.
func TestArchiveInPlace(t *testing.T) {
	long := zipOf(t, entry{name: "notes.txt", text: strings.Repeat("x", 1<<20)}, sampleTwo)
	for name, r := range map[string]io.Reader{
		"a file": &wrapped{Reader: bytes.NewReader(long), left: 512 << 10},
		"a pipe": &wrapped{Reader: bytes.NewReader(long), unmove: true, left: 1 << 10},
	} {
		_, got := read(t, r)
		if diff := cmp.Diff([]string{"sample-2/epoch-1@1 assistant:yo"}, got); diff != "" {
			t.Errorf("%s: runs (-want +got):\n%s", name, diff)
		}
	}
}

// What comes in a stream is held, and so is bounded.
func TestArchiveStream(t *testing.T) {
	t.Parallel()
	endless := io.MultiReader(strings.NewReader("PK\x03\x04"), &zeros{257 << 20})
	_, got := read(t, endless)
	if diff := cmp.Diff([]string{"! file: a ZIP from a stream is longer than 256 MiB: read it from a file"}, got); diff != "" {
		t.Errorf("runs (-want +got):\n%s", diff)
	}
}

type zeros struct{ left int }

func (z *zeros) Read(p []byte) (int, error) {
	n := min(len(p), z.left)
	clear(p[:n])
	if z.left -= n; n == 0 {
		return 0, io.EOF
	}
	return n, nil
}

// A consumer that has seen enough is not called again.
func TestArchiveLeave(t *testing.T) {
	src, err := importer.Open("file", bytes.NewReader(zipOf(t, entry{name: "header.json", text: "{"}, sampleOne, sampleTwo)))
	if err != nil {
		t.Fatal(err)
	}
	n := 0
	for run, err := range src.Runs() {
		t.Log(describeRun(run, err))
		n++
		break
	}
	if n != 1 {
		t.Errorf("got %d items, want 1", n)
	}
}

func FuzzArchive(f *testing.F) {
	f.Add(zipOf(f, sampleOne, sampleTwo, logHeader))
	f.Add(zipOf(f, entry{name: sampleOne.name, text: sampleOne.text, method: zip.Deflate}))
	f.Add(zipOf(f, entry{name: sampleOne.name, text: sampleOne.text, method: zstd.ZipMethodWinZip}))
	f.Add(zipOf(f))
	f.Add(zipOf(f, chunkedSample(logHeader)...))
	f.Fuzz(readInChunks)
}
