package cassette

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/looptape/looptape/cassettes"
	"github.com/looptape/looptape/cassettes/convert"
	"github.com/looptape/looptape/cassettes/recording"
	"github.com/looptape/looptape/cmd/looptape/internal/cli"
)

func newVerify(w *cli.World) *cobra.Command {
	c := &cobra.Command{
		Use:   "verify FILE…",
		Short: "Check recordings for damage, secrets and age",
		Long: `verify reads recordings, and all *.tape files in folders, and reports problems:

  load     damaged, or edited without an update of the checksums
  secret   contains a secret or a suspected secret
  stale    older than --older-than (90d, 12w, 36h)
  journal  an incomplete recording has left a journal file
  unused   not used by a replay, according to the reports of --used, which
           looptape replay --report and, in Go tests, LOOPTAPE_REPORT write
  empty    without an interaction

--update-checksums updates lengths, checksums and keys of looptape cassettes
that were edited by hand, and prints the changes. It does not change a cassette
with a suspected secret or a recording in progress.

FILE is a cassette of looptape, go-vcr (all versions) or vcrpy, a HAR file or an
httprr trace.

Exit status: 0 if there is no finding, 1 if there is one, else 2 if a file
cannot be read or written.`,
		Example: "  looptape cassette verify --older-than 90d testdata/cassettes\n  looptape cassette verify --update-checksums weather.tape",
		Args:    cli.NeedPaths,
	}
	v := verifier{w: w, findings: findings{Findings: []finding{}}}
	var reports []string
	f := c.Flags()
	f.Var(&v.older, "older-than", "`age` from which a recording is stale")
	f.StringArrayVar(&reports, "used", nil, "report `file` with the interactions that replays used (repeatable)")
	f.BoolVar(&v.update, "update-checksums", false, "update the checksums of edited cassettes")
	cli.SecretFlags(c, &v.opts)
	format := cli.FormatFlag(c, "table", "json", "github")
	files := cli.ReportFlags(c)
	c.RunE = func(_ *cobra.Command, args []string) error {
		if err := v.read(reports); err != nil {
			return err
		}
		for _, name := range args {
			v.path(name)
		}
		if err := files.Write(w, v.report()); err != nil {
			return err
		}
		return v.print(*format)
	}
	return c
}

// verifier is a command line of cassette verify.
type verifier struct {
	w      *cli.World
	older  age
	update bool
	opts   cassettes.Options
	// used are the numbers of the used interactions by cassette; nil without a report.
	used map[string]map[int]bool

	findings
	unreadable []error // of files, which were reported
}

func (v *verifier) add(f finding) { v.Findings = append(v.Findings, f) }

// read reads reports.
func (v *verifier) read(reports []string) error {
	for _, name := range reports {
		text, err := v.w.ReadAll(name)
		if err != nil {
			return err
		}
		list, err := cassettes.ReadReport(name, text)
		if err != nil {
			return err
		}
		if v.used == nil {
			v.used = map[string]map[int]bool{}
		}
		for _, u := range list {
			if v.used[u.Cassette] == nil {
				v.used[u.Cassette] = map[int]bool{}
			}
			for _, n := range u.Used {
				v.used[u.Cassette][n] = true
			}
		}
	}
	return nil
}

// path verifies a file, or the cassettes in a folder.
func (v *verifier) path(name string) {
	names, err := tapes(name)
	if err != nil {
		v.fail(err)
	}
	for _, name := range names {
		if err := v.file(name); err != nil {
			v.fail(err)
		}
	}
}

// fail reports a file that cannot be read or written.
func (v *verifier) fail(err error) {
	v.w.PrintError(err)
	v.unreadable = append(v.unreadable, err)
}

// tapes returns the cassettes in a folder, and journals without a cassette. If name is not
// a folder, it returns name.
func tapes(name string) (names []string, err error) {
	if info, err := os.Stat(name); err != nil || !info.IsDir() {
		return []string{name}, nil //nolint:nilerr // reading it reports the error
	}
	err = filepath.WalkDir(name, func(path string, e fs.DirEntry, err error) error {
		tape := withoutJournal(path)
		if err != nil || e.IsDir() || filepath.Ext(tape) != ".tape" {
			return err
		}
		if _, err := os.Stat(tape); path == tape || errors.Is(err, fs.ErrNotExist) {
			names = append(names, path)
		}
		return nil
	})
	if err == nil && names == nil {
		err = fmt.Errorf("%s: no cassette (*.tape) found in this folder", name)
	}
	return names, err
}

// withoutJournal returns the path of the cassette of a journal. It returns another path
// unchanged.
func withoutJournal(path string) string {
	return strings.TrimSuffix(path, filepath.Ext(cassettes.JournalPath(path)))
}

// file verifies a recording.
func (v *verifier) file(name string) error {
	name, src, err := source(v.w, name)
	if err != nil {
		return err
	}
	v.Files++
	if info, err := os.Stat(cassettes.JournalPath(name)); err == nil {
		v.add(finding{File: name, Kind: kindJournal, Message: "the journal " + info.Name() + " exists: the recording is in progress or incomplete, and a replay uses the journal"})
	}
	rec, err := cli.ParseRecording(name, src)
	switch wrong, ok := errors.AsType[*recording.FormatError](err); {
	case ok && v.update && cassettes.IsCassette(src):
		return v.updateChecksums(name, src)
	case ok:
		_, _, failed := cassettes.UpdateChecksums(name, src)
		v.broken(name, wrong, failed != nil)
		return nil
	}
	v.recording(name, rec)
	return nil
}

// broken adds the finding that a file cannot be loaded. Lost means that it cannot be repaired.
func (v *verifier) broken(name string, err *recording.FormatError, lost bool) {
	v.add(finding{File: name, Line: err.Line, Kind: kindLoad, Message: err.Err.Error(), Lost: lost})
}

// updateChecksums updates the checksums of a cassette that has no secrets.
func (v *verifier) updateChecksums(name string, src []byte) error {
	text, changed, err := cassettes.UpdateChecksums(name, src)
	if wrong, ok := errors.AsType[*recording.FormatError](err); ok {
		v.broken(name, wrong, true)
		return nil
	}
	rec, err := cli.ParseRecording(name, text)
	if err != nil {
		return err
	}
	if v.recording(name, rec) {
		v.w.Warn("%s: the checksums are not updated because of this finding: remove the secret by hand, or name the field with --not-secret", name)
		return nil
	}
	if err := cassettes.Replace(name, text); err != nil {
		return err
	}
	v.Updated = append(v.Updated, updated{name, changed})
	return nil
}

// recording verifies the content of a file and reports whether it contains secrets.
func (v *verifier) recording(name string, rec *convert.Recording) (secrets bool) {
	if broken, ok := errors.AsType[*recording.IncompleteError](rec.Incomplete); ok {
		v.add(finding{File: name, Kind: kindJournal, Message: fmt.Sprintf("the recording is incomplete: %s complete, %s lost at the end", cli.Count(broken.Complete, "interaction"), cli.Count(broken.TrailingBytes, "byte"))})
	}
	if len(rec.Interactions) == 0 && rec.Incomplete == nil {
		v.add(finding{File: name, Kind: kindEmpty, Message: "the recording has no interactions"})
	}
	_, found := v.opts.ScrubbedMetadata(rec.Metadata)
	for _, s := range found {
		secrets = true
		v.add(finding{File: name, Kind: kindSecret, Message: s.String()})
	}
	for i, x := range rec.Interactions {
		clean, found := v.opts.Scrubbed(x)
		for _, s := range append(found, v.opts.FindSecrets(clean)...) {
			secrets = true
			v.add(finding{File: name, Interaction: i + 1, Kind: kindSecret, Message: s.String()})
		}
	}
	if v.older > 0 {
		v.age(name, rec.Metadata)
	}
	if v.used != nil && rec.Format == convert.Cassette {
		v.unused(name, rec)
	}
	return secrets
}

// age adds a finding for a recording that is too old or has no date.
func (v *verifier) age(name string, h recording.Metadata) {
	stale := finding{File: name, Kind: kindStale}
	by := strings.TrimSuffix(" by "+h.Recorder, " by ")
	switch old := v.w.Now().Sub(h.Recorded); {
	case h.Recorded.IsZero():
		stale.Message = "the recording has no date"
	case old < -day:
		stale.Message = fmt.Sprintf("recorded %s%s, which is in the future", h.Recorded.Format(time.DateOnly), by)
	case old > time.Duration(v.older):
		stale.Message = fmt.Sprintf("recorded %s%s, %s ago", h.Recorded.Format(time.DateOnly), by, cli.Count(int(old/day), "day"))
	default:
		return
	}
	v.add(stale)
}

// unused adds findings for interactions that no replay used.
func (v *verifier) unused(name string, rec *convert.Recording) {
	used, opened := v.used[cassettes.FullPath(withoutJournal(name))]
	if !opened {
		v.add(finding{File: name, Kind: kindUnused, Message: "no replay opened it"})
		return
	}
	for i, x := range rec.Interactions {
		if !used[i+1] {
			v.add(finding{File: name, Interaction: i + 1, Kind: kindUnused, Message: fmt.Sprintf("%s %s: no replay used it", x.Request.Method, x.Request.URL)})
		}
	}
}
