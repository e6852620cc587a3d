package cassette

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/spf13/cobra"

	"github.com/looptape/looptape/cassettes"
	"github.com/looptape/looptape/cassettes/recording"
	"github.com/looptape/looptape/cmd/looptape/internal/cli"
)

func newShow(w *cli.World) *cobra.Command {
	c := &cobra.Command{
		Use:   "show FILE NUMBER",
		Short: "Show one interaction as request and response",
		Long: `show prints the request and the response of the interaction with this number,
counted from 1. It decodes bodies in gzip, deflate, br and zstd, indents JSON
and prints only the length of a body that is not text. --body prints one body
unchanged, byte for byte.

` + recordings + `

Exit status: 0, or 2 if it cannot be read or there is no such number.`,
		Example: "  looptape cassette show weather.tape 2 --body response > answer.json",
		Args:    cli.NeedArguments(2, "a file and a number"),
	}
	body := c.Flags().String("body", "", "print only this `body`: request or response")
	c.RunE = func(_ *cobra.Command, args []string) error {
		rec, err := readRecording(w, args[0])
		if err != nil {
			return err
		}
		list := rec.Interactions
		n, err := strconv.Atoi(args[1])
		if err != nil || n < 1 || n > len(list) {
			return fmt.Errorf("%s: interaction %q not found: the recording has %s; looptape cassette ls lists them", args[0], args[1], cli.Count(len(list), "interaction"))
		}
		x := list[n-1]
		switch *body {
		case "":
			w.Print(dialogue(x))
		case "request":
			w.PrintBody(x.Request.Body)
		case "response":
			w.PrintBody(x.Response.Body)
		default:
			return fmt.Errorf("--body %q: want request or response", *body)
		}
		return nil
	}
	return c
}

// dialogue is an interaction for people to read.
func dialogue(x *recording.Interaction) []byte {
	var out bytes.Buffer
	r := &x.Response
	showLines(&out, x.Request.Method+" "+x.Request.URL)
	showMessage(&out, x.Request.Header, x.Request.Body, x.Request.Trailer)
	if r.Status != 0 {
		showLines(&out, "", fmt.Sprintf("%s %d %s", r.Proto, r.Status, r.StatusText()))
		showMessage(&out, r.Header, r.Body, r.Trailer)
	}
	if r.Termination != "" {
		showLines(&out, "", strings.TrimSuffix("("+string(r.Termination)+": "+r.Failure, ": ")+")")
	}
	return out.Bytes()
}

// showMessage prints the header, body and trailer of a request or a response.
func showMessage(out *bytes.Buffer, header http.Header, body []byte, trailer http.Header) {
	showLines(out, headerLines(header)...)
	plain, err := cassettes.Decompress(header, body)
	var indented bytes.Buffer
	switch {
	case err != nil && len(plain) == 0:
		showLines(out, "", fmt.Sprintf("(%s; %v)", cli.Count(len(body), "byte"), err))
	case len(plain) == 0:
	case !printable(plain):
		fmt.Fprintf(out, "\n(not text; %s)\n", cli.Count(len(plain), "byte"))
	case json.Indent(&indented, plain, "", "  ") == nil:
		fmt.Fprintf(out, "\n%s\n", bytes.TrimSpace(indented.Bytes()))
	default:
		fmt.Fprintf(out, "\n%s\n", bytes.TrimRight(plain, "\r\n"))
	}
	if err != nil && len(plain) > 0 { // the body is truncated
		showLines(out, fmt.Sprintf("(%v)", err))
	}
	if len(trailer) > 0 {
		showLines(out, append([]string{""}, headerLines(trailer)...)...)
	}
}

// showLines prints lines, and quotes those with control characters.
func showLines(out io.Writer, lines ...string) {
	for _, line := range cli.Visible(lines) {
		_, _ = fmt.Fprintln(out, line) // into memory
	}
}

// headerLines returns the fields of a header sorted by name.
func headerLines(h http.Header) (lines []string) {
	for _, name := range slices.Sorted(maps.Keys(h)) {
		for _, v := range h[name] {
			lines = append(lines, name+": "+v)
		}
	}
	return lines
}

// printable reports whether a body is text without control characters.
func printable(body []byte) bool {
	return utf8.Valid(body) && !bytes.ContainsFunc(body, func(r rune) bool {
		return unicode.IsControl(r) && r != '\n' && r != '\r' && r != '\t'
	})
}
