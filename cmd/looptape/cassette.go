package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/looptape/looptape/cassettes"
	"github.com/looptape/looptape/cassettes/convert"
)

func newCassette(w *world) *cobra.Command {
	c := &cobra.Command{
		Use:   "cassette",
		Short: "Look after what was recorded over HTTP",
		Args:  cobra.NoArgs,
		RunE:  needCommand,
	}
	c.AddCommand(newCassetteLs(w), newCassetteShow(w), newCassetteConvert(w))
	return c
}

// recordings are the files that the commands read, for their help.
const recordings = `FILE is a cassette of looptape, go-vcr (all versions) or vcrpy, a HAR file or a
trace of httprr; - is standard input.`

// readRecording reads a recording in any format.
func (w *world) readRecording(name string) ([]*cassettes.Interaction, cassettes.Head, error) {
	src, err := w.readAll(name)
	if err != nil {
		return nil, cassettes.Head{}, err
	}
	return convert.Read(name, src)
}

// needArguments is the check of the arguments of a command that takes n, which are
// called this.
func needArguments(n int, what string) cobra.PositionalArgs {
	return func(c *cobra.Command, args []string) error {
		if len(args) != n {
			return fmt.Errorf("%s needs %s, got %s; see %s --help", c.CommandPath(), what, count(len(args), "argument"), c.CommandPath())
		}
		return nil
	}
}

func newCassetteLs(w *world) *cobra.Command {
	c := &cobra.Command{
		Use:   "ls FILE",
		Short: "List the interactions of a recording",
		Long: `ls lists the interactions of a recording: the number, the lane, the method, the
status, the bytes of the response's body, the time until it had come, and the
URL.

` + recordings + `

Exit status: 0, or 2 if it cannot be read.`,
		Args: needArguments(1, "a file"),
	}
	format := formatFlag(c, "table", "json")
	c.RunE = func(_ *cobra.Command, args []string) error {
		list, head, err := w.readRecording(args[0])
		if err != nil {
			return err
		}
		return w.printInteractions(list, head, *format)
	}
	return c
}

// listed is an interaction in a list.
type listed struct {
	Number int              `json:"number"`
	Lane   string           `json:"lane,omitempty"`
	Method string           `json:"method"`
	URL    string           `json:"url"`
	Status int              `json:"status"` // 0 if there was no answer
	Ending cassettes.Ending `json:"ending,omitempty"`
	Size   int              `json:"size"`        // bytes of the response's body
	Took   int64            `json:"duration_ms"` // until it had come
}

func listOf(list []*cassettes.Interaction) []listed {
	out := []listed{}
	for i, x := range list {
		took := x.Response.Wait
		for _, p := range x.Response.Pieces {
			took += p.After
		}
		out = append(out, listed{
			Number: i + 1, Lane: x.Lane, Method: x.Request.Method, URL: x.Request.URL,
			Status: x.Response.Status, Ending: x.Response.Ending, Size: len(x.Response.Body), Took: took.Milliseconds(),
		})
	}
	return out
}

func (w *world) printInteractions(list []*cassettes.Interaction, head cassettes.Head, format string) error {
	if format == "json" {
		return printJSON(w.out, listOf(list))
	}
	var rows [][]string
	for _, x := range listOf(list) {
		state := strings.TrimSpace(strings.TrimPrefix(strconv.Itoa(x.Status), "0") + " " + string(x.Ending))
		took := time.Duration(x.Took) * time.Millisecond
		rows = append(rows, []string{strconv.Itoa(x.Number), x.Lane, x.Method, state, strconv.Itoa(x.Size), took.String(), x.URL})
	}
	if err := printTable(w, []string{"#", "lane", "method", "status", "bytes", "time", "URL"}, rows); err != nil {
		return err
	}
	line := count(len(list), "interaction")
	if !head.Recorded.IsZero() {
		line += ", recorded " + head.Recorded.Format(time.DateOnly)
	}
	if head.By != "" {
		line += ", by " + head.By
	}
	_, err := fmt.Fprintln(w.out, line)
	return err
}

func newCassetteConvert(w *world) *cobra.Command {
	c := &cobra.Command{
		Use:   "convert FILE -o FILE",
		Short: "Write a recording in another format",
		Long: `convert reads a recording and writes it in another format: cassette (looptape's
own), go-vcr1 (for go-vcr v1 and v2), go-vcr2 (v3 and v4), har or vcrpy. Without
--to the name of the file to write tells it: .tape is cassette, .har is har.

What the format cannot say is left out, and told. Secrets are taken out of what
becomes a cassette of looptape; other formats get what stands in the file.

` + recordings + `

Exit status: 0, or 2 if it cannot be read or written.`,
		Example: "  looptape cassette convert fixtures/weather.yaml -o weather.tape",
		Args:    needArguments(1, "a file"),
	}
	to := c.Flags().String("to", "", "the `format` to write")
	out := c.Flags().StringP("output", "o", "", "the `file` to write")
	_ = c.MarkFlagRequired("output") // the name was just defined, so this cannot fail
	c.RunE = func(_ *cobra.Command, args []string) error {
		format := convert.Format(*to)
		if format == "" {
			var err error
			if format, err = formatOf(*out); err != nil {
				return err
			}
		}
		list, head, err := w.readRecording(args[0])
		if err != nil {
			return err
		}
		if format == convert.Cassette {
			for i, x := range list {
				list[i] = (&cassettes.Options{}).Redacted(x)
			}
		}
		text, lost, err := convert.Write(format, head, list)
		if err != nil {
			return fmt.Errorf("%s: %w", args[0], err)
		}
		if err := os.WriteFile(*out, text, 0o644); err != nil { //nolint:gosec // a test file, made to be read
			return err
		}
		return w.tellLost(*out, format, lost)
	}
	return c
}

// formatOf is the format of files with such a name.
func formatOf(name string) (convert.Format, error) {
	switch filepath.Ext(name) {
	case ".tape":
		return convert.Cassette, nil
	case ".har":
		return convert.HAR, nil
	}
	return "", fmt.Errorf("the name %s does not tell a format; say --to with one of %v", name, convert.Formats())
}

// tellLost tells people what was left out.
func (w *world) tellLost(name string, format convert.Format, lost []convert.Loss) error {
	text := ""
	for _, l := range lost {
		text += "  " + l.What
		switch n := len(l.Of); {
		case n > 0 && n <= 10:
			text += fmt.Sprintf(" (%s)", strings.Trim(strings.ReplaceAll(fmt.Sprint(l.Of), " ", ", "), "[]"))
		case n > 0:
			text += fmt.Sprintf(" (%s)", count(n, "interaction"))
		}
		text += "\n"
	}
	if text == "" {
		return nil
	}
	_, err := fmt.Fprintf(w.err, "looptape: not in %s, since %s cannot say it:\n%s", name, format, text)
	return err
}
