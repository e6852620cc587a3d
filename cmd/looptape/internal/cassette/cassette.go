// Package cassette contains the commands that inspect and maintain recorded HTTP.
package cassette

import (
	"errors"
	"io"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/looptape/looptape/cassettes/convert"
	"github.com/looptape/looptape/cassettes/recording"
	"github.com/looptape/looptape/cmd/looptape/internal/cli"
)

// New returns the command cassette.
func New(w *cli.World) *cobra.Command {
	return cli.Group("cassette", "Inspect and maintain recorded HTTP", newLs(w), newShow(w), newVerify(w), newScrub(w), newConvert(w))
}

// recordings describes the input files in the help of the commands.
const recordings = `FILE is a cassette of looptape, go-vcr (all versions) or vcrpy, a HAR file or an
httprr trace; - is standard input. An incomplete recording of looptape is read
up to its end, from FILE.journal if FILE does not exist.`

// readRecording reads a recording in any format. It reports an incomplete one.
func readRecording(w *cli.World, name string) (*convert.Recording, error) {
	name, src, err := source(w, name)
	if err != nil {
		return nil, err
	}
	rec, err := cli.ParseRecording(name, src)
	if err == nil && rec.Incomplete != nil {
		w.PrintError(rec.Incomplete)
	}
	return rec, err
}

// source returns the name and content of a recording, or of its journal if there is no
// recording.
func source(w *cli.World, name string) (found string, text []byte, err error) {
	found, f, err := w.NewMeter(name).OpenRecording(name)
	if err != nil {
		return name, nil, err
	}
	text, err = io.ReadAll(f)
	return found, text, errors.Join(err, f.Close())
}

func newLs(w *cli.World) *cobra.Command {
	c := &cobra.Command{
		Use:   "ls FILE",
		Short: "List the interactions of a recording",
		Long: `ls lists the interactions of a recording: number, session, method, status, size
of the response body, duration and URL.

` + recordings + `

Exit status: 0, or 2 if it cannot be read.`,
		Args: cli.NeedArguments(1, "a file"),
	}
	format := cli.FormatFlag(c, "table", "json")
	c.RunE = func(_ *cobra.Command, args []string) error {
		rec, err := readRecording(w, args[0])
		if err != nil {
			return err
		}
		if *format == "json" {
			w.JSON(listJSON.Of(interactions{listOf(rec.Interactions)}))
		} else {
			printInteractions(w, rec)
		}
		return nil
	}
	return c
}

// interactions is the output of ls --format json.
type interactions struct {
	Interactions []listed `json:"interactions"`
}

var listJSON = cli.NewJSON("cassette-list", 1, "cassette ls --format json", interactions{})

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

func printInteractions(w *cli.World, rec *convert.Recording) {
	var rows [][]string
	for _, x := range listOf(rec.Interactions) {
		state := strings.TrimSpace(strings.TrimPrefix(strconv.Itoa(x.Status), "0") + " " + string(x.Termination))
		took := time.Duration(x.Took) * time.Millisecond
		rows = append(rows, []string{strconv.Itoa(x.Number), x.Session, x.Method, state, strconv.Itoa(x.Size), took.String(), x.URL})
	}
	w.Table([]string{"#", "session", "method", "status", "bytes", "time", "URL"}, rows)
	line := cli.Count(len(rows), "interaction")
	if !rec.Metadata.Recorded.IsZero() {
		line += ", recorded " + rec.Metadata.Recorded.Format(time.DateOnly)
	}
	if rec.Metadata.Recorder != "" {
		line += ", by " + rec.Metadata.Recorder
	}
	w.Printf("%s\n", line)
}
