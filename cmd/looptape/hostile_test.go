package main

import (
	"bytes"
	"encoding/csv"
	"encoding/json"
	"encoding/xml"
	"errors"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"runtime"
	"strconv"
	"strings"
	"testing"

	"go.yaml.in/yaml/v3"
	"golang.org/x/tools/txtar"

	"github.com/looptape/looptape/cmd/looptape/internal/cli/clitest"
	"github.com/looptape/looptape/internal/visible"
)

// hostile is text that controls terminals, CI systems, spreadsheets, pages and Markdown. It starts where
// the line starts, and so do its commands.
const hostile = "::error::evil\u202e\u200b\u00ad\U000e0061\x1b[2J\u009b ##[group]x ##vso[task.x]y @evil [evil](www.evil.example) \"' `evil` </script><img src=evil> | #1 =evil\u2066\n::warning::evil\r::notice::evil\u2028::debug::evil"

// hostileURL is what a name of a file cannot contain.
const hostileURL = " https://evil.example mailto:evil@evil.example"

// obeyed is a command for a CI system in a log.
var obeyed = regexp.MustCompile(`(?m)^[\s\v\p{Z}]*::|##(vso|teamcity)?\[`)

// Each command escapes text of others in each of its formats where it would be obeyed.
func TestHostileText(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("names of files cannot contain such text")
	}
	archive, err := txtar.ParseFile(filepath.Join("testdata", "hostile.txtar"))
	if err != nil {
		t.Fatal(err)
	}
	t.Chdir(t.TempDir())
	quoted, err := json.Marshal(hostile + hostileURL)
	if err != nil {
		t.Fatal(err)
	}
	hostileName := strings.ReplaceAll(hostile, "/", "|")
	for _, f := range archive.Files {
		text := visible.Quoted(quoted)
		if filepath.Ext(f.Name) == ".yaml" {
			text = visible.QuotedYAML(quoted)
		}
		text = bytes.ReplaceAll(f.Data, []byte("TEXT"), text)
		if err := os.WriteFile(strings.ReplaceAll(f.Name, "NAME", hostileName), text, 0o700); err != nil {
			t.Fatal(err)
		}
	}
	_, list, _ := strings.Cut(string(archive.Comment), "\n\n")
	for line := range strings.Lines(list) {
		head, command, _ := strings.Cut(strings.TrimSpace(line), ": ")
		t.Run(command, func(t *testing.T) {
			status, format, _ := strings.Cut(head, " ")
			command, file, _ := strings.Cut(command, " > ")
			args := strings.Fields(command)
			for i := range args {
				args[i] = strings.ReplaceAll(args[i], "NAME", hostileName)
			}
			runHostile(t, args, status, format, file)
		})
	}
}

// runHostile runs a command line, whose result is in a file or else on standard output.
func runHostile(t *testing.T, args []string, status, format, file string) {
	w, out, errs := clitest.Terminal(map[string]string{"NO_COLOR": "1"})
	w.ErrTerminal, w.OutTerminal = false, format == "body"
	w.Environ = func() []string { return append(os.Environ(), "OPENAI_API_KEY=k") }
	if got := execute(args, w); strconv.Itoa(int(got)) != status {
		t.Errorf("exit status %d, want %s\n%s%s", got, status, out, errs)
	}
	wantHarmless(t, "text", errs.Bytes())
	text := out.Bytes()
	if file != "" {
		wantHarmless(t, "text", text)
		var err error
		if text, err = os.ReadFile(file); err != nil {
			t.Fatal(err)
		}
	}
	wantHarmless(t, format, text)
	if !strings.Contains(string(text)+errs.String(), "evil") {
		t.Errorf("the text is not printed: %s%s", text, errs)
	}
}

// wantHarmless reports text in a format that would be obeyed.
func wantHarmless(t *testing.T, format string, text []byte) {
	t.Helper()
	for _, r := range string(text) {
		if visible.Hidden(r) && !(r == '\r' && format == "csv") {
			t.Errorf("the output has the character %q:\n%q", r, text)
			break
		}
	}
	commands := text
	if format == "github" {
		commands = regexp.MustCompile(`(?m)^::(?:error|warning|notice) (file=[^,:]*,line=\d+,)?title=looptape (?:run|check|cassette verify|eval gate)::`).ReplaceAll(text, nil)
	}
	if found := obeyed.Find(commands); found != nil {
		t.Errorf("the output has the command %q:\n%s", found, text)
	}
	if err := parsed(format, text); err != nil {
		t.Errorf("%v:\n%s", err, text)
	}
}

// active is what Markdown would make markup, a link or a mention of, and a page an element.
var active = map[string]*regexp.Regexp{
	"markdown": regexp.MustCompile("[^\\\\][`\\[\\]<](?:evil|img|/script)|://|www\\.|mailto:|@evil|#1|\\]\\("),
	"html":     regexp.MustCompile(`<img src=evil|</script><img`),
	"csv":      regexp.MustCompile(`(?m)(^|,)"?[=+@-]`),
}

func parsed(format string, text []byte) error {
	switch format {
	case "json", "lines":
		d := json.NewDecoder(bytes.NewReader(text))
		for {
			var v any
			if err := d.Decode(&v); err != nil {
				return noEOF(err)
			}
		}
	case "junit":
		return noEOF(xml.Unmarshal(text, new(struct{})))
	case "csv":
		if _, err := csv.NewReader(bytes.NewReader(text)).ReadAll(); err != nil {
			return err
		}
	case "yaml":
		for _, f := range txtar.Parse(text).Files {
			if err := yaml.Unmarshal(f.Data, new(any)); err != nil {
				return err
			}
		}
	}
	if form := active[format]; form != nil {
		if found := form.Find(text); found != nil {
			return errors.New("the output has " + string(found))
		}
	}
	return nil
}

func noEOF(err error) error {
	if errors.Is(err, io.EOF) {
		return nil
	}
	return err
}
