package serve

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/looptape/looptape/cmd/looptape/internal/cli"
	"github.com/looptape/looptape/fake/wire"
)

// allQuirks is the value of --quirk for a run with each quirk.
const allQuirks = "all"

// noQuirk is the name of the run without a quirk.
const noQuirk = "none"

// Default limits of each run with --quirk all: some quirks are responses that never end.
const (
	defaultTimeout     = time.Minute
	defaultMaxRequests = 1000
)

// quirkRun is a run of the program with a quirk.
type quirkRun struct {
	Quirk  string       `json:"quirk"`
	OK     bool         `json:"ok"`
	Report *wire.Report `json:"report"`
}

// quirkReport is the report of --quirk all. Its first run has no quirk.
type quirkReport struct {
	Runs []quirkRun `json:"runs"`
}

// playAll runs the program without a quirk, and then with each quirk that changes a response. It
// prints a table of the runs and returns the status of all.
func (v *server) playAll(cfg *wire.Config, args []string) error {
	v.timeout, v.maxRequests = cmp.Or(v.timeout, defaultTimeout), cmp.Or(v.maxRequests, defaultMaxRequests)
	ctx, stop := v.w.Interrupted(v.Context())
	defer stop()
	v.SetContext(ctx)
	plain := *cfg
	plain.FindQuirks = true
	r, err := v.play(&plain, args)
	if err != nil {
		return err
	}
	quirks := r.Applicable
	if !r.OK() {
		quirks = nil
		r.Failures = append(r.Failures, "The program did not run with quirks, because it fails without them.")
	}
	report := quirkReport{[]quirkRun{{noQuirk, r.OK(), r}}}
	for _, name := range quirks {
		r, err := v.playQuirk(*cfg, name, args)
		if ctx.Err() != nil {
			return errors.New("--quirk all: interrupted before the last run")
		}
		if err != nil {
			return err
		}
		report.Runs = append(report.Runs, quirkRun{name, r.OK(), r})
	}
	v.printRuns(&report, args)
	return v.writeReport(runsJSON.Of(report), report.failed() == 0, false)
}

// playQuirk runs the program with a quirk.
func (v *server) playQuirk(cfg wire.Config, name string, args []string) (*wire.Report, error) {
	q, err := wire.ParseQuirk(name)
	if err != nil {
		return nil, err
	}
	cfg.Quirks = []wire.Quirk{q}
	r, err := v.play(&cfg, args)
	if err == nil && r.Shown[name] == 0 {
		r.Failures = append(r.Failures, "No response showed the quirk.")
	}
	return r, err
}

// failed returns the number of failed runs.
func (q *quirkReport) failed() (n int) {
	for _, r := range q.Runs {
		if !r.OK {
			n++
		}
	}
	return n
}

func (v *server) printRuns(q *quirkReport, args []string) {
	if *v.format == "json" {
		v.w.JSON(runsJSON.Of(*q))
		return
	}
	var rows [][]string
	for _, r := range q.Runs {
		row := []string{r.Quirk, map[bool]string{true: "ok", false: "failed"}[r.OK], strconv.Itoa(r.Report.Requests), ""}
		if r.OK {
			rows = append(rows, row)
		}
		for _, reason := range r.reasons() {
			row[len(row)-1] = reason
			rows, row = append(rows, row), make([]string, len(row))
		}
	}
	v.w.Table([]string{"quirk", "result", "requests", "reason"}, rows)
	failed := q.failed()
	if failed > 0 && len(q.Runs) > 1 {
		v.w.Printf("To run one: looptape serve %s --quirk QUIRK -- %s\n", cli.ShellLine(args[0]), programLine(args[1:]))
	}
	v.w.ResultLine(fmt.Sprintf("%s: %d ok, %d failed", cli.Count(len(q.Runs), "run"), len(q.Runs)-failed, failed), failed == 0)
}

// reasons describes what the quirk is and why the run failed, the first reasons only. It is empty
// if the run did not fail.
func (q quirkRun) reasons() (list []string) {
	const most = 3
	if q.OK {
		return nil
	}
	violated := map[int]bool{}
	for _, x := range q.Report.Violations {
		violated[x.Request] = true
		if x.Suppressed == "" {
			list = append(list, fmt.Sprintf("%s: request %d: %s", x.Invariant, x.Request, x.Message))
		}
	}
	for _, x := range q.Report.RejectedRequests {
		if !violated[x.Request] && x.RetryOf == 0 {
			line, _, _ := strings.Cut(x.Message, "\n")
			list = append(list, fmt.Sprintf("request %d was rejected: %s", x.Request, line))
		}
	}
	for _, x := range q.Report.UnmatchedRequests {
		list = append(list, fmt.Sprintf("%s %s: unknown path", x.Method, x.Path))
	}
	list = append(list, q.Report.Failures...)
	if n := len(list); n > most {
		list = append(slices.Clip(list[:most]), fmt.Sprintf("and %d more", n-most))
	}
	if about, err := wire.ParseQuirk(q.Quirk); err == nil {
		list = slices.Insert(list, 0, "("+about.Description+")")
	}
	return list
}
