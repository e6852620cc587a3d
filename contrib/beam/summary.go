package evalbeam

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"hash"
	"slices"
	"strings"

	"github.com/apache/beam/sdks/v2/go/pkg/beam"

	"github.com/looptape/looptape/evals"
)

// Summarize computes the statistics of the files of these names, a PCollection<string>. It returns a
// PCollection<[]byte> of one element: the output of `looptape eval score --format json`, without
// bootstrap intervals, with the first 100 unreadable records and the number of the others. All elements are sums by
// case, by cluster or of all cases, so that no worker holds the rows of more than one file.
func Summarize(s beam.Scope, suite Suite, files beam.PCollection) beam.PCollection {
	s = s.Scope("looptape.Summarize")
	cases, copies, scored := beam.ParDo3(s, &tallier{scorer{Suite: suite}}, beam.Reshuffle(s, files))
	// GroupByKey instead of CombinePerKey, which keeps all keys of a bundle in the memory of the worker.
	clusters := beam.GroupByKey(s, beam.ParDo(s, mergeCase, beam.GroupByKey(s, cases)))
	parts := beam.Flatten(s,
		beam.ParDo(s, nothingSummed, beam.Impulse(s)), beam.ParDo(s, dueSummed, files), scored,
		beam.ParDo(s, findCopies, beam.GroupByKey(s, copies)), beam.ParDo(s, &clusterAdder{}, clusters))
	return beam.ParDo(s, summary, beam.Combine(s, joinSums, parts))
}

// sums are what the summary needs of files and clusters, and how many files more are due than were scored.
type sums struct {
	Due        int
	Tally      evals.Tally
	Unreadable []evals.Unreadable // the first ones, sorted
	Unlisted   int                // the number of the others
}

const maxUnreadable = 100

// Workers find these functions by name, and all instances of a generic function have one name.

func encodeCase(c evals.CaseTally) ([]byte, error)    { return json.Marshal(c) }
func decodeCase(text []byte) (evals.CaseTally, error) { return decode[evals.CaseTally](text) }
func encodeSums(s sums) ([]byte, error)               { return json.Marshal(s) }
func decodeSums(text []byte) (sums, error)            { return decode[sums](text) }

func decode[T any](text []byte) (v T, err error) {
	err = json.Unmarshal(text, &v)
	return v, err
}

type tallier struct{ Scorer scorer }

// Setup reads the suite, once a worker.
func (f *tallier) Setup() error {
	err := f.Scorer.Setup()
	if err == nil && f.Scorer.options.MissingAsZero {
		err = fmt.Errorf("%s: missing_as_zero needs the score file: use -o, and looptape eval score", f.Scorer.Suite.Name)
	}
	f.Scorer.options.Brief = true
	return err
}

// ProcessElement scores the file of this name.
func (f *tallier) ProcessElement(ctx context.Context, name string, caseOf func(string, evals.CaseTally), copyOf func(string, string), scored func(sums)) error {
	p, err := f.Scorer.ProcessElement(ctx, name)
	if err != nil {
		return err
	}
	r := p.results[0]
	digests := map[string]hash.Hash{} // of the runs without epochs, by recording: a score file may have several
	for runs := range r.Cases() {
		var c evals.CaseTally
		for i := range runs {
			run := &runs[i]
			c.Add(run)
			c.AddEpoch(run.Epoch)
			if run.Digest == "" {
				continue
			}
			if run.DigestVersion != 0 {
				return fmt.Errorf("%s: in a score file of version 1, runs without epochs cannot be compared with others: score the recordings again", name)
			}
			if digests[run.File] == nil {
				digests[run.File] = sha256.New()
			}
			digests[run.File].Write([]byte(run.Digest + "\n"))
			place := fmt.Sprintf("%s:%d (%s)", run.File, run.Line, run.Run)
			copyOf(copyOfRun+run.Digest+place, place)
		}
		caseOf(c.Case, c)
	}
	for file, digest := range digests {
		copyOf(copyOfFile+hex.EncodeToString(digest.Sum(nil)), file)
	}
	scored(sums{Due: p.due}.with(r.Unreadable))
	return nil
}

// Beginnings of the keys of what must be there once: a run without an epoch, and the runs without epochs of a file.
const (
	copyOfRun  = "run "
	copyOfFile = "file "
)

// with adds unreadable records.
func (s sums) with(unreadable []evals.Unreadable) sums {
	s.Unreadable = slices.Concat(s.Unreadable, unreadable)
	slices.SortStableFunc(s.Unreadable, evals.Unreadable.Compare)
	n := min(len(s.Unreadable), maxUnreadable)
	s.Unlisted += len(s.Unreadable) - n
	s.Unreadable = s.Unreadable[:n]
	return s
}

// mergeCase merges the tallies of a case, and returns it with its cluster.
func mergeCase(_ string, parts func(*evals.CaseTally) bool) (string, evals.CaseTally) {
	var c evals.CaseTally
	for {
		var part evals.CaseTally // a decoded one may share memory with the one before it
		if !parts(&part) {
			return c.Cluster, c
		}
		c.Merge(&part)
	}
}

// clusterAdder adds the clusters of a bundle.
type clusterAdder struct{ all evals.Tally }

// StartBundle begins a bundle.
func (f *clusterAdder) StartBundle(func(sums)) { f.all = evals.Tally{} }

// ProcessElement adds a cluster.
func (f *clusterAdder) ProcessElement(_ string, cases func(*evals.CaseTally) bool, _ func(sums)) {
	var t evals.Tally
	for {
		var c evals.CaseTally
		if !cases(&c) {
			break
		}
		t.AddCase(&c)
	}
	f.all.AddCluster(&t)
}

// FinishBundle returns the sums of the bundle.
func (f *clusterAdder) FinishBundle(emit func(sums)) { emit(sums{Tally: f.all}) }

// findCopies reports runs and files that are there twice.
func findCopies(key string, names func(*string) bool, emit func(sums)) {
	var name string
	var all []string
	for names(&name) && len(all) < 2 {
		all = append(all, name)
	}
	if len(all) < 2 {
		return
	}
	slices.Sort(all)
	var s sums
	switch {
	case strings.HasPrefix(key, copyOfRun):
		s.Tally.Wrong = fmt.Sprintf("the same run twice: %s and %s: pass each run once", all[0], all[1])
	case all[0] != all[1]: // else its runs are there twice
		s.Tally.Wrong = fmt.Sprintf("%s has the same runs as %s, without epochs: pass each file once, or number the runs of a case", all[1], all[0])
	}
	emit(s)
}

func nothingSummed([]byte) sums { return sums{} }

func dueSummed(string) sums { return sums{Due: 1} }

func joinSums(a, b sums) sums {
	all := sums{Due: a.Due + b.Due, Unlisted: a.Unlisted + b.Unlisted}
	all.Tally.Merge(&a.Tally)
	all.Tally.Merge(&b.Tally)
	return all.with(slices.Concat(a.Unreadable, b.Unreadable))
}

// summary returns the JSON of the summary of all files.
func summary(all sums) ([]byte, error) {
	if all.Due != 0 {
		return nil, fmt.Errorf("not all files were scored, %d are missing: see the errors before this one", all.Due)
	}
	f, err := all.Tally.Summary()
	if err != nil {
		return nil, err
	}
	f.Unreadable = append(f.Unreadable, all.Unreadable...)
	text, err := json.Marshal(struct {
		Format  string `json:"format"`
		Version int    `json:"version"`
		*evals.Summary
		Unlisted int `json:"unreadable_unlisted,omitzero"`
	}{"looptape-score", 1, f, all.Unlisted})
	return append(text, '\n'), err
}
