package runs

import (
	"fmt"
	"net/http"
	"strconv"
	"strings"

	"github.com/looptape/looptape/cmd/looptape/internal/cli"
	"github.com/looptape/looptape/fake/wire"
	"github.com/looptape/looptape/trace/check"
	"github.com/looptape/looptape/trace/importer"
	"github.com/looptape/looptape/trace/watch"
)

// recorded is the result of check for a file of recorded HTTP.
type recorded struct {
	File    string     `json:"file"`
	Format  string     `json:"format"`
	Checked int        `json:"checked"`           // requests to models
	Skipped []*skipped `json:"skipped"`           // the other requests, each URL once
	Refused []*refused `json:"refused,omitempty"` // those that no violation explains, each message once
}

// skipped are requests that check does not check.
type skipped struct {
	Request string `json:"request"`
	Why     string `json:"why"`
	First   int    `json:"first"` // the number of the interaction
	Times   int    `json:"times"`
}

// noModel is the reason for most skipped requests.
const noModel = "not a request to a model"

// http checks the requests to models in recorded HTTP.
func (r *report) http(src *importer.Source, name, prefix string) {
	seen := recorded{File: name, Format: src.Format.Name, Skipped: []*skipped{}}
	by := map[skipped]*skipped{}
	skip := func(x importer.Exchange, why string) {
		key := skipped{Request: x.Title, Why: why}
		if by[key] == nil {
			by[key] = &skipped{Request: x.Title, Why: why, First: x.Number}
			seen.Skipped = append(seen.Skipped, by[key])
		}
		by[key].Times++
	}
	byRefusal := map[refused]*refused{}
	refuse := func(x importer.Exchange) {
		key, ok := refusal(&x)
		if ok && byRefusal[key] == nil {
			list := key
			list.First = x.Number
			byRefusal[key] = &list
			seen.Refused = append(seen.Refused, &list)
		}
		if ok {
			byRefusal[key].Times++
		}
	}
	var rec watch.Recording
	for x, err := range src.Exchanges() {
		switch {
		case err != nil:
			r.unread(name, err)
			continue
		case x.Protocol == nil:
			skip(x, noModel)
			continue
		}
		rejected := rejections(&x)
		found, err := rec.Add(watch.Interaction{
			Number: x.Number, Session: x.Session, Protocol: x.Protocol, Request: x.Request, Response: x.Response, Accepted: x.Accepted, Body: x.Body, RequestBody: x.RequestBody,
			Rejected: rejected,
		})
		if x.Incomplete != nil {
			r.unread(name, x.Incomplete)
		}
		r.unknown(name, x.Unknown)
		if len(found) == 0 && len(rejected) == 0 {
			refuse(x)
		}
		r.add(prefix, found)
		if err != nil {
			skip(x, err.Error())
			conversation := x.Request.Extra["conversation"] // no recording has its messages
			if x.Accepted && (conversation == nil || string(conversation) == "null") {
				err = fmt.Errorf("the request %w: only its own messages are checked", err)
				r.unread(name, &importer.Error{File: name, Line: x.Line, Path: "interaction " + strconv.Itoa(x.Number), Err: err})
			}
			continue
		}
		seen.Checked++
	}
	r.Runs += rec.Runs
	r.checked += seen.Checked
	r.Recordings = append(r.Recordings, seen)
}

// rejections returns the violation of a provider's rule that a request shows. There is none if the
// response accepts the request, because other servers with the same protocol have other rules. It is
// a note if the status is not that of an invalid request, such as 429.
func rejections(x *importer.Exchange) []check.Violation {
	if x.Accepted || x.RequestBody == nil {
		return nil
	}
	list := wire.CheckConversation(x.Protocol, x.Request.Model, x.RequestBody)
	for i := range list {
		list[i].Note = x.Status != http.StatusBadRequest && x.Status != http.StatusUnprocessableEntity
	}
	return list
}

// printRecordings prints the counts of each file of recorded HTTP and its skipped requests.
func (r *report) printRecordings(w *cli.World) {
	var files, skips, refusals [][]string
	for _, seen := range r.Recordings {
		n := 0
		for _, s := range seen.Skipped {
			n += s.Times
			skips = append(skips, []string{strconv.Itoa(s.Times), strconv.Itoa(s.First), s.Why + ": " + s.Request})
		}
		for _, s := range seen.Refused {
			refusals = append(refusals, []string{strconv.Itoa(s.Times), strconv.Itoa(s.First), strconv.Itoa(s.Status), strings.TrimSuffix(s.Request+": "+s.Message, ": ")})
		}
		files = append(files, []string{strconv.Itoa(seen.Checked), strconv.Itoa(n), seen.Format, seen.File})
	}
	w.Table([]string{"checked", "skipped", "format", "file"}, files)
	w.Table([]string{"times", "first", "status", "refused"}, shortened(refusals, 4))
	w.Table([]string{"times", "first", "skipped"}, shortened(skips, 3))
}

// shortened returns the first rows of a table, and a last one with the number of the others.
func shortened(rows [][]string, columns int) [][]string {
	const most = 10
	more := len(rows) - most
	if more <= 0 {
		return rows
	}
	last := make([]string, columns)
	last[columns-1] = "and " + strconv.Itoa(more) + " more; --format json lists all"
	return append(rows[:most], last)
}
