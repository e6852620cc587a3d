package league

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// result is what an exploration of a loop with a script has shown.
type result struct {
	Loop     string    `json:"loop"`
	Script   string    `json:"script"`
	Runs     int       `json:"runs"`
	Orders   int       `json:"orders"` // different runs without a fault
	Complete bool      `json:"complete"`
	Times    int       `json:"times"` // explorations, all with this result
	Failures []failure `json:"failures"`
}

// failure is a violated invariant.
type failure struct {
	Invariant string         `json:"invariant"`
	Runs      int            `json:"runs"`
	Faults    map[string]int `json:"faults"` // runs by their faults
	Choices   []string       `json:"choices"`
	Minimal   bool           `json:"minimal"` // false if the reduction of the choices was stopped
	Message   string         `json:"message"`
}

const (
	resultsFile = "testdata/results.json"
	pageFile    = "../../docs/league.md"
)

func readResults() (list []result, err error) {
	data, err := os.ReadFile(resultsFile)
	if err != nil {
		return nil, err
	}
	return list, json.Unmarshal(data, &list)
}

const head = `# Explored loops

The presets of looptape and loops of other projects were explored with the same scripts, as in [Explore orders and
faults](exploring.md): in each order of the answers, and with each fault. The tables show which [invariants](invariants.md)
the runs violated, and why. These commands make the page:

    (cd conformance/npm && npm ci)
    cd conformance/league
    go test . -timeout 2h -update -programs

## Loops

`

const how = `
Each loop has the settings that its documentation gives for a loop that continues after the failure of a tool. Each calls the
client of its own project, which sends requests to ` + "`looptest.ExploreHTTP`" + ` with Chat Completions or Gemini. So the client decodes each
response, and reports or repeats each failure, as with a provider. Time is virtual. The rows with a trace have no client:
` + "`looptape explore`" + ` explores the same script and checks the trace. The loops from npm are the programs of
[conformance/npm](../conformance/npm/README.md), under ` + "`looptape explore --keep`" + ` with Chat Completions.

## Explorations

The scripts call the tools ` + "`a` and `b`" + `, and end with a text. An exploration makes all runs with at most one fault: an
error of the model at each event of a response, a quirk of a provider, the failure of a tool, a cancel, a deadline of
the run, or an hour that passes. Tools do not panic.

A loop that runs its tools one after the other has one order. A loop with streaming responses, or that repeats requests, has
more runs.

`

const after = `
The last column is the number of explorations, all with the same runs, failures and choices. The programs from npm were
explored once, and each of their failures was repeated 20 times from its choices. An unstable loop has runs that differ
although their choices are the same.

## Failures

These are the failures of the first script. The choices are the fewest with which a run violates the invariant.

`

const why = `
## Explanations

Each failure was examined in the code of the loop at this version. The cause is one of

- **the loop**: responses that the API allows, connections that end, and tools that fail or return late are enough.
- **the response**: the failure needs a response that the API of the provider does not allow, such as a call with an empty
  name, and the loop does not repair it. Some servers send it all the same: see [Quirks and clients](quirks-and-clients.md).
- **documented**: the documentation of the loop describes the behavior.
- **not clear**: the documentation of the API does not decide it.

`

const limits = `
## What cannot be compared

- A client can repair a response, or repeat a request, before its loop sees it.
- The protocols differ. Chat Completions has no mark for the result of a tool that failed. Gemini needs no ids, and its
  arguments are objects.
- The loops in Go run with virtual time and repeat requests as they do by default. Their tools are answers whose order is a
  choice, and the run is canceled. The programs from npm run in real time and without retries. Their tools return at once and
  do not fail, and they are not canceled. So their numbers of runs are smaller, and INV-16 and INV-17 are not checked.
- The checks are those of ` + "`looptest.ExploreHTTP`" + `: requests, tools, and the end of a run. What a loop exposes in the process, such
  as its messages and its usage, is not checked. The rows with a trace are checked for all invariants that a trace
  shows. There, a documented behavior is an event.
`

// page returns the page.
func page(list []entry, results []result, versions map[string]string) string {
	loops := [][]string{{"loop", "version", "client", "settings"}}
	explored := [][]string{{"loop", "script", "orders", "runs", "complete", "runs that violate", "explored"}}
	failures := [][]string{{"loop", "invariant", "runs", "by fault", "fewest choices", "violation"}}
	var unstable [][]string
	for _, e := range list {
		version := "looptape"
		if e.module != "" {
			version = "`" + e.module + "` " + versions[e.module]
		}
		loops = append(loops, []string{e.name, version, e.client, e.settings})
		for i := range results {
			if r := &results[i]; r.Loop == e.name {
				explored = append(explored, r.cells(e.unstable.text != ""))
				if r.Script == results[0].Script {
					failures = append(failures, r.failureCells()...)
				}
			}
		}
		if e.unstable.text != "" && !slices.ContainsFunc(unstable, func(cells []string) bool { return cells[0] == e.family }) {
			unstable = append(unstable, []string{e.family, "unstable", e.unstable.faults, causeLoop, e.unstable.text})
		}
	}
	explanations := [][]string{{"loop", "failure", "faults", "cause", "explanation"}}
	for _, f := range findings {
		explanations = append(explanations, []string{f.family, f.invariant, strings.Join(f.faults, ", "), f.cause, f.text})
	}
	return head + table(loops) + how + table(explored) + after + table(failures) + why + table(append(explanations, unstable...)) + limits
}

// cells returns the cells of an exploration.
func (r *result) cells(unstable bool) []string {
	complete, failed := "yes", []string{}
	if !r.Complete {
		complete = "no"
	}
	for _, f := range r.Failures {
		failed = append(failed, fmt.Sprintf("%s: %d", f.Invariant, f.Runs))
	}
	if unstable {
		failed = append(failed, "unstable")
	}
	if len(failed) == 0 {
		failed = append(failed, "none")
	}
	times := "once"
	if r.Times > 1 {
		times = fmt.Sprintf("%d times", r.Times)
	}
	return []string{r.Loop, r.Script, strconv.Itoa(r.Orders), strconv.Itoa(r.Runs), complete, strings.Join(failed, ", "), times}
}

func (r *result) failureCells() (lines [][]string) {
	for _, f := range r.Failures {
		choices := "none"
		if len(f.Choices) > 0 {
			choices = "`" + strings.Join(f.Choices, "`, `") + "`"
		}
		if !f.Minimal {
			choices += ", perhaps not the fewest"
		}
		message := f.Message
		if len(message) > maxMessage {
			message = strings.ToValidUTF8(message[:maxMessage], "") + "…"
		}
		lines = append(lines, []string{r.Loop, f.Invariant, strconv.Itoa(f.Runs), f.byFault(), choices, message})
	}
	return lines
}

// Limits of what the page has of a failure: the number of its faults, and the length of its message.
const (
	maxFaults  = 6
	maxMessage = 160
)

// byFault lists the faults of the runs, the most frequent first.
func (f *failure) byFault() string {
	names := slices.SortedFunc(maps.Keys(f.Faults), func(a, b string) int { return cmp.Or(f.Faults[b]-f.Faults[a], cmp.Compare(a, b)) })
	var list []string
	rest := 0
	for i, name := range names {
		if i < maxFaults {
			list = append(list, fmt.Sprintf("%d: %s", f.Faults[name], cmp.Or(strings.TrimPrefix(name, "model call: "), "no fault")))
		} else {
			rest += f.Faults[name]
		}
	}
	if rest > 0 {
		list = append(list, fmt.Sprintf("%d: others", rest))
	}
	return strings.Join(list, "; ")
}

// table returns a table; the first line has the headings.
func table(lines [][]string) string {
	var b strings.Builder
	escape := strings.NewReplacer("|", `\|`, "\n", " ")
	for i, cells := range lines {
		for _, c := range cells {
			b.WriteString("| " + escape.Replace(c) + " ")
		}
		b.WriteString("|\n")
		if i == 0 {
			b.WriteString(strings.Repeat("| --- ", len(cells)) + "|\n")
		}
	}
	return b.String()
}

// moduleVersions returns the versions that go.mod requires.
func moduleVersions() (map[string]string, error) {
	data, err := os.ReadFile("go.mod")
	if err != nil {
		return nil, err
	}
	versions := map[string]string{}
	for _, m := range requirement.FindAllStringSubmatch(string(data), -1) {
		versions[m[1]] = m[2]
	}
	return versions, nil
}

// requirement matches a line of go.mod that requires a module.
var requirement = regexp.MustCompile(`(?m)^(?:require)?\s+(\S+) (v\S+)`)
