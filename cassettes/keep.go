package cassettes

import (
	"bytes"
	"io"
	"net/http"
	"time"

	"github.com/looptape/looptape/cassettes/internal/match"
	"github.com/looptape/looptape/cassettes/internal/tape"
	"github.com/looptape/looptape/cassettes/recording"
)

// startJournal starts the journal of a recording, with the interactions of Options.Keep.
func (c *Cassette) startJournal() error {
	list, err := c.opts.kept()
	if err != nil {
		return err
	}
	interrupted := -1 // number of interactions in the journal of this recording
	for _, f := range c.opts.Keep {
		if f.Incomplete() != nil && f.tape.Name == JournalPath(c.path) {
			interrupted = f.Len()
		}
	}
	if len(list) > 0 {
		if c.file, err = tape.Parse(c.path, Encode(c.metadata, &c.opts, list)); err != nil {
			return err
		}
		if c.index, err = match.NewIndex(c.file, c.opts.matching(), c.opts.Redacted); err != nil {
			return err
		}
		c.issued = len(list)
	}
	c.journal, err = tape.ContinueJournal(c.path, c.metadata, c.file, interrupted)
	return err
}

// kept returns the successful interactions of Keep. A recording that was killed while it replaced
// the cassette left its interactions in both files; they are returned once.
func (o *Options) kept() (list []*recording.Interaction, err error) {
	have := map[string]int{} // number by content
	for _, f := range o.Keep {
		found := map[string]int{}
		for x, err := range f.All() {
			if err != nil {
				return nil, err
			}
			if x.Response.Termination != "" || x.Response.Status/100 != http.StatusOK/100 {
				continue
			}
			content := string(Encode(recording.Metadata{}, o, []*recording.Interaction{x}))
			if found[content]++; found[content] > have[content] {
				list = append(list, x)
			}
		}
		for content, n := range found {
			have[content] = max(have[content], n)
		}
	}
	return list, nil
}

// replayKept responds with an interaction that the recording keeps, or records the request.
func (c *Cassette) replayKept(r *http.Request) (*http.Response, error) {
	begun := time.Now() //nolint:forbidigo // delays use the real clock, or that of a test's bubble
	body, err := c.readBody(r)
	if err != nil {
		return nil, err
	}
	if i, _ := c.lookUp(c.opts.session(r), requestOf(r, body)); i >= 0 {
		return c.play(r, i, begun)
	}
	if len(body) > 0 {
		r = r.Clone(r.Context())
		r.Body = io.NopCloser(bytes.NewReader(body))
		r.GetBody = func() (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(body)), nil }
	}
	return c.record(r)
}
