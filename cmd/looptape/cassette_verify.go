package main

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
)

func newCassetteVerify(w *world) *cobra.Command {
	c := &cobra.Command{
		Use:   "verify FILE…",
		Short: "Look for what is wrong with recordings",
		Long: `verify reads recordings, and in folders every *.tape, and names what is wrong:

  load     it is damaged, or was edited and not sealed again
  secret   a secret is in it, or what looks like one
  stale    it is older than --older-than says (90d, 12w, 36h)
  journal  the journal of a recording that was not closed is beside it
  unused   no replay has used it, by the reports of --used, which looptape
           replay --report and, in Go tests, LOOPTAPE_REPORT write

--reseal seals cassettes of looptape that were edited by hand: their lengths,
checksums and keys are made anew, and it says what was changed. One in which
something looks like a secret, or that is being recorded, stays as it is.

FILE is a cassette of looptape, go-vcr (all versions) or vcrpy, a HAR file or a
trace of httprr.

Exit status: 0 if nothing is wrong, 1 if something is, else 2 if a file cannot
be read or written.`,
		Example: "  looptape cassette verify --older-than 90d testdata/cassettes\n  looptape cassette verify --reseal weather.tape",
		Args:    needPaths,
	}
	v := verifier{w: w, verdict: verdict{Findings: []finding{}}}
	var reports []string
	f := c.Flags()
	f.Var(&v.older, "older-than", "the `age` from which on a recording is stale")
	f.StringArrayVar(&reports, "used", nil, "a report, a `file`, of what replays have used; may be repeated")
	f.BoolVar(&v.reseal, "reseal", false, "seal what was edited by hand")
	secretFlag(c, &v.opts)
	opaqueFlag(c, &v.opts)
	format := formatFlag(c, "table", "json")
	c.RunE = func(_ *cobra.Command, args []string) error {
		if err := v.read(reports); err != nil {
			return err
		}
		for _, name := range args {
			v.path(name)
		}
		if err := v.print(*format); err != nil {
			return err
		}
		return v.status()
	}
	return c
}

// verifier is a command line of cassette verify.
type verifier struct {
	w      *world
	older  age
	reseal bool
	opts   cassettes.Options
	// used are the numbers of the interactions that were used, by cassette; nil if there
	// is no report.
	used map[string]map[int]bool

	verdict
	unreadable bool // something, of which was told
}

func (v *verifier) add(f finding) { v.Findings = append(v.Findings, f) }

func (v *verifier) status() error {
	switch {
	case len(v.Findings) > 0:
		return status(statusBroken)
	case v.unreadable:
		return status(statusUsage)
	}
	return nil
}

// read reads reports.
func (v *verifier) read(reports []string) error {
	for _, name := range reports {
		text, err := v.w.readAll(name)
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

// fail tells of what cannot be read or written.
func (v *verifier) fail(err error) {
	complain(v.w, err)
	v.unreadable = true
}

// tapes are the cassettes in a folder, the journals that are without one among them, or
// else the file.
func tapes(name string) (names []string, err error) {
	if info, err := os.Stat(name); err != nil || !info.IsDir() {
		return []string{name}, nil //nolint:nilerr // reading it tells
	}
	err = filepath.WalkDir(name, func(path string, e fs.DirEntry, err error) error {
		tape := strings.TrimSuffix(path, cassettes.JournalSuffix)
		if err != nil || e.IsDir() || filepath.Ext(tape) != ".tape" {
			return err
		}
		if _, err := os.Stat(tape); path == tape || errors.Is(err, fs.ErrNotExist) {
			names = append(names, path)
		}
		return nil
	})
	if err == nil && names == nil {
		err = fmt.Errorf("%s: there is no cassette (*.tape) in this folder", name)
	}
	return names, err
}

// file verifies a recording.
func (v *verifier) file(name string) error {
	name, src, err := v.w.source(name)
	if err != nil {
		return err
	}
	v.Files++
	if info, err := os.Stat(cassettes.JournalPath(name)); err == nil {
		v.add(finding{File: name, Kind: kindJournal, Message: "beside it is " + info.Name() + ", of a recording that goes on or was not closed, which a replay takes"})
	}
	rec, err := convert.Parse(name, src)
	switch wrong, ok := errors.AsType[*cassettes.FormatError](err); {
	case ok && v.reseal && cassettes.IsCassette(src):
		return v.seal(name, src)
	case ok:
		_, _, failed := cassettes.UpdateChecksums(name, src)
		v.broken(name, wrong, failed != nil)
		return nil
	}
	v.recording(name, rec)
	return nil
}

// broken notes that a file cannot be loaded, and may be lost for good.
func (v *verifier) broken(name string, err *cassettes.FormatError, lost bool) {
	v.add(finding{File: name, Line: err.Line, Kind: kindLoad, Message: err.Err.Error(), Lost: lost})
}

// seal seals a cassette that does not load, if it has no secrets.
func (v *verifier) seal(name string, src []byte) error {
	text, changed, err := cassettes.UpdateChecksums(name, src)
	if wrong, ok := errors.AsType[*cassettes.FormatError](err); ok {
		v.broken(name, wrong, true)
		return nil
	}
	rec, err := convert.Parse(name, text)
	if err != nil {
		return err
	}
	if v.recording(name, rec) {
		complain(v.w, fmt.Errorf("%s: it is not sealed, since this would be in it; take it out by hand, or name it with --opaque", name))
		return nil
	}
	if err := cassettes.Replace(name, text); err != nil {
		return err
	}
	v.Sealed = append(v.Sealed, sealed{name, changed})
	return nil
}

// recording verifies what a file says, and reports whether there are secrets in it.
func (v *verifier) recording(name string, rec *convert.Recording) (secrets bool) {
	if broken, ok := errors.AsType[*cassettes.IncompleteError](rec.Incomplete); ok {
		v.add(finding{File: name, Kind: kindJournal, Message: fmt.Sprintf("the recording was not closed; whole: %s, lost behind: %s", count(broken.Complete, "interaction"), count(broken.TrailingBytes, "byte"))})
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

// age notes a recording that is too old, or that does not say how old it is.
func (v *verifier) age(name string, h cassettes.Metadata) {
	stale := finding{File: name, Kind: kindStale}
	by := strings.TrimSuffix(" by "+h.Recorder, " by ")
	switch old := v.w.now().Sub(h.Recorded); {
	case h.Recorded.IsZero():
		stale.Message = "it does not say when it was recorded"
	case old < -day:
		stale.Message = fmt.Sprintf("recorded %s%s, which lies ahead", h.Recorded.Format(time.DateOnly), by)
	case old > time.Duration(v.older):
		stale.Message = fmt.Sprintf("recorded %s%s, %s ago", h.Recorded.Format(time.DateOnly), by, count(int(old/day), "day"))
	default:
		return
	}
	v.add(stale)
}

// unused notes what no replay has used.
func (v *verifier) unused(name string, rec *convert.Recording) {
	used, opened := v.used[cassettes.FullPath(strings.TrimSuffix(name, cassettes.JournalSuffix))]
	if !opened {
		v.add(finding{File: name, Kind: kindUnused, Message: "no replay has opened it"})
		return
	}
	for i, x := range rec.Interactions {
		if !used[i+1] {
			v.add(finding{File: name, Interaction: i + 1, Kind: kindUnused, Message: fmt.Sprintf("%s %s: no replay has asked for it", x.Request.Method, x.Request.URL)})
		}
	}
}
