package cassette

import (
	"fmt"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"github.com/looptape/looptape/cassettes"
	"github.com/looptape/looptape/cassettes/convert"
	"github.com/looptape/looptape/cassettes/recording"
	"github.com/looptape/looptape/cmd/looptape/internal/cli"
)

func newConvert(w *cli.World) *cobra.Command {
	c := &cobra.Command{
		Use:   "convert FILE -o FILE",
		Short: "Write a recording in another format",
		Long: `convert reads a recording and writes it in another format: cassette (looptape's
own), go-vcr1 (for go-vcr v1 and v2), go-vcr2 (v3 and v4), har or vcrpy. Without
--to, the extension of the output file selects the format: .tape is cassette,
.har is har. The output may be the input file; convert replaces it at the end.

convert omits data that the format cannot represent, and reports it. It keeps
each interaction, or writes nothing; see --omit-unanswered. For a cassette of
looptape it redacts secrets, and writes nothing if a suspected secret remains.
Other formats get the unchanged data.

` + recordings + `

Exit status: 0; 1 if a suspected secret remains; 2 if the recording cannot be
read or written.`,
		Example: "  looptape cassette convert fixtures/weather.yaml -o weather.tape",
		Args:    cli.NeedArguments(1, "a file"),
	}
	v := converter{w: w}
	f := c.Flags()
	f.StringVar(&v.to, "to", "", "output `format`")
	cli.OutputFlag(c, &v.out, "output", "output `file`")
	f.BoolVar(&v.omitUnanswered, "omit-unanswered", false, "omit requests without a response if the format cannot represent them")
	cli.SecretFlags(c, &v.opts)
	_ = c.MarkFlagRequired("output") // the name was just defined, so this cannot fail
	c.Annotations = map[string]string{cli.InPlace: ""}
	c.RunE = func(_ *cobra.Command, args []string) error { return v.convert(args[0]) }
	return c
}

// converter is a command line of cassette convert.
type converter struct {
	w              *cli.World
	to, out        string
	omitUnanswered bool
	opts           cassettes.Options
}

func (v *converter) convert(name string) error {
	format, err := v.format()
	if err != nil {
		return err
	}
	rec, err := readRecording(v.w, name)
	if err != nil {
		return err
	}
	list := rec.Interactions
	if format == convert.Cassette {
		rec.Metadata, _ = v.opts.ScrubbedMetadata(rec.Metadata)
		if suspects := v.redact(list); len(suspects) > 0 {
			reportSecrets(v.w, name, "nothing was written: suspected secrets", suspects)
			return cli.Failed
		}
	}
	text, lost, err := convert.Write(format, rec.Metadata, list)
	if err != nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	for _, l := range lost {
		if l.Interactions && !v.omitUnanswered {
			return fmt.Errorf("%s: interaction %d: %s cannot represent a request without a response: set --omit-unanswered to omit it, or choose cassette or har", name, l.Of[0], format)
		}
	}
	if err := cassettes.Replace(v.out, text); err != nil {
		return err
	}
	return reportLost(v.w, v.out, format, lost)
}

// format returns the format of --to or of the output file's extension.
func (v *converter) format() (convert.Format, error) {
	if v.to != "" {
		return convert.Format(v.to), nil
	}
	switch filepath.Ext(v.out) {
	case ".tape":
		return convert.Cassette, nil
	case ".har":
		return convert.HAR, nil
	}
	return "", fmt.Errorf("output file %q: unknown extension: set --to to one of %v", v.out, convert.Formats())
}

// redact redacts the secrets of a recording and returns suspected ones that remain.
func (v *converter) redact(list []*recording.Interaction) (suspects []string) {
	for i, x := range list {
		list[i] = v.opts.Redacted(x)
		suspects = append(suspects, numbered(i+1, v.opts.FindSecrets(list[i]))...)
	}
	return suspects
}

// reportLost reports omitted data.
func reportLost(w *cli.World, name string, format convert.Format, lost []convert.Loss) error {
	text := ""
	for _, l := range lost {
		text += "  " + l.What
		switch n := len(l.Of); {
		case n > 0 && n <= 10:
			text += fmt.Sprintf(" (%s)", strings.Trim(strings.ReplaceAll(fmt.Sprint(l.Of), " ", ", "), "[]"))
		case n > 0:
			text += fmt.Sprintf(" (%s)", cli.Count(n, "interaction"))
		}
		text += "\n"
	}
	if text == "" {
		return nil
	}
	return w.Message("looptape: omitted from %s because %s cannot represent it:\n%s", name, format, text)
}
