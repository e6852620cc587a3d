package main

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/looptape/looptape/cassettes"
	"github.com/looptape/looptape/cassettes/convert"
	"github.com/looptape/looptape/cassettes/recording"
)

func newCassette(w *world) *cobra.Command {
	c := &cobra.Command{
		Use:   "cassette",
		Short: "Inspect and maintain recorded HTTP",
		Args:  cobra.NoArgs,
		RunE:  needCommand,
	}
	c.AddCommand(newCassetteLs(w), newCassetteShow(w), newCassetteVerify(w), newCassetteScrub(w), newCassetteConvert(w))
	return c
}

// recordings describes the input files in the help of the commands.
const recordings = `FILE is a cassette of looptape, go-vcr (all versions) or vcrpy, a HAR file or an
httprr trace; - is standard input. An incomplete recording of looptape is read
up to its end, from FILE.journal if FILE does not exist.`

// readRecording reads a recording in any format. It reports an incomplete one.
func (w *world) readRecording(name string) (*convert.Recording, error) {
	name, src, err := w.source(name)
	if err != nil {
		return nil, err
	}
	rec, err := convert.Parse(name, src)
	if err == nil && rec.Incomplete != nil {
		reportError(w, rec.Incomplete)
	}
	return rec, err
}

// source returns the name and content of a recording, or of its journal if there is no
// recording.
func (w *world) source(name string) (found string, text []byte, err error) {
	found, f, err := w.openRecording(name)
	if err != nil {
		return name, nil, err
	}
	defer func() { err = closeAfter(f, err) }()
	text, err = io.ReadAll(f)
	return found, text, err
}

// openRecording opens a recording, or its journal if there is no recording, and returns
// the name of the opened file.
func (w *world) openRecording(name string) (found string, f io.ReadCloser, err error) {
	f, err = w.openFile(name)
	if errors.Is(err, fs.ErrNotExist) {
		journal := cassettes.JournalPath(name)
		if f, failed := w.openFile(journal); failed == nil {
			return journal, f, nil
		}
	}
	return name, f, err
}

// secretFlag adds the flag for additional secrets.
func secretFlag(c *cobra.Command, o *cassettes.Options) {
	c.Flags().StringArrayVar(&o.Secret, "secret", nil, "additional secret: `name` of a header or field, or /json/pointer (repeatable)")
}

// notSecretFlag adds the flag for fields that contain no secrets.
func notSecretFlag(c *cobra.Command, o *cassettes.Options) {
	c.Flags().StringArrayVar(&o.NotSecret, "not-secret", nil, "`name` of a header or field whose value is not a secret (repeatable)")
}

// needPaths checks the arguments of a command that takes file names and no standard input.
func needPaths(c *cobra.Command, args []string) error {
	if len(args) == 0 || slices.Contains(args, "-") {
		return fmt.Errorf("%s needs files by name; see %s --help", c.CommandPath(), c.CommandPath())
	}
	return nil
}

// needArguments checks that a command gets n arguments; what describes them.
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
		Long: `ls lists the interactions of a recording: number, session, method, status, size
of the response body, duration and URL.

` + recordings + `

Exit status: 0, or 2 if it cannot be read.`,
		Args: needArguments(1, "a file"),
	}
	format := formatFlag(c, "table", "json")
	c.RunE = func(_ *cobra.Command, args []string) error {
		rec, err := w.readRecording(args[0])
		if err != nil {
			return err
		}
		return w.printInteractions(rec, *format)
	}
	return c
}

// listed is an interaction in a list.
type listed struct {
	Number      int                   `json:"number"`
	Session     string                `json:"session,omitempty"`
	Method      string                `json:"method"`
	URL         string                `json:"url"`
	Status      int                   `json:"status"` // 0 if there was no response
	Termination recording.Termination `json:"termination,omitempty"`
	Size        int                   `json:"size"`        // bytes of the response's body
	Took        int64                 `json:"duration_ms"` // until the end of the response
}

func listOf(list []*recording.Interaction) []listed {
	out := []listed{}
	for i, x := range list {
		took := x.Response.Wait
		for _, p := range x.Response.Chunks {
			took += p.After
		}
		out = append(out, listed{
			Number: i + 1, Session: x.Session, Method: x.Request.Method, URL: x.Request.URL,
			Status: x.Response.Status, Termination: x.Response.Termination, Size: len(x.Response.Body), Took: took.Round(time.Millisecond).Milliseconds(),
		})
	}
	return out
}

func (w *world) printInteractions(rec *convert.Recording, format string) error {
	if format == "json" {
		return printJSON(w.out, listOf(rec.Interactions))
	}
	var rows [][]string
	for _, x := range listOf(rec.Interactions) {
		state := strings.TrimSpace(strings.TrimPrefix(strconv.Itoa(x.Status), "0") + " " + string(x.Termination))
		took := time.Duration(x.Took) * time.Millisecond
		rows = append(rows, []string{strconv.Itoa(x.Number), x.Session, x.Method, state, strconv.Itoa(x.Size), took.String(), x.URL})
	}
	if err := printTable(w, []string{"#", "session", "method", "status", "bytes", "time", "URL"}, rows); err != nil {
		return err
	}
	line := count(len(rows), "interaction")
	if !rec.Metadata.Recorded.IsZero() {
		line += ", recorded " + rec.Metadata.Recorded.Format(time.DateOnly)
	}
	if rec.Metadata.Recorder != "" {
		line += ", by " + rec.Metadata.Recorder
	}
	_, err := fmt.Fprintln(w.out, line)
	return err
}
