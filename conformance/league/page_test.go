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
	Faults    map[string]int `json:"faults"`  // runs by their faults
	Choices   []string       `json:"choices"` // the fewest
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

    cd conformance/league
    go test . -update -times 20

## Loops

`

const how = `
Each loop has the settings that its documentation gives for a loop that continues after the failure of a tool.

A preset gets the responses of the scripted model as Go values. The other loops call a client of their own project, with Chat
Completions or Gemini. A transport in the process answers the requests of the client, which decodes each response and
reports each error as it does with a provider. What a protocol cannot represent is an error with status 501: in Gemini,
arguments are objects. Each run has virtual time, so delays between retries take no time.

## Explorations

The scripts call the tools ` + "`a` and `b`" + `, and end with a text. An exploration makes all runs with at most one fault: an
error of the model, a quirk of a provider, the failure of a tool, a cancel, or an hour that passes. Faults of responses occur at
each event of a response. Tools do not panic.

A loop that runs its tools one after the other has one order. A loop that repeats requests has more runs.

`

const after = `
Each exploration was repeated as the last column says, with the same runs, failures and choices. An unstable loop has
runs that differ although their choices are the same.

## Failures

These are the failures of the first script. The choices are the fewest with which a run violates the invariant.

`

const why = `
## Explanations

Each failure was examined in the code of the loop at this version. The cause is one of

- **the loop**: responses that the API allows, and tools that fail or return late, are enough for the failure.
- **the response**: the failure needs a call with an empty name, an empty id, an id that was used before, or deltas in another
  form than the documented one, and the loop does not repair it. OpenAI and Google do not send these; some servers with their
  APIs do: see [Quirks and clients](quirks-and-clients.md).
- **documented**: the documentation of the loop describes the behavior.

`

const limits = `
## What cannot be compared

- The presets get responses and errors without a protocol, and the other loops through their clients. A client can repair a
  response, or repeat a request, before its loop sees it.
- The protocols differ. Chat Completions has no mark for the result of a tool that failed, and Gemini needs no ids.
- The checks are those of ` + "`looptest.Explore`" + `: requests, tools, and the end of a run. Only the presets report the messages and the usage
  of a run, so only they are checked for INV-07 and INV-18 at its end. The rows with a trace are checked for all
  invariants that a trace shows. There, a documented behavior is an event.
`

// page returns the page.
func page(list []entry, results []result, versions map[string]string) string {
	loops := [][]string{{"loop", "version", "client", "settings"}}
	explored := [][]string{{"loop", "script", "orders", "runs", "complete", "runs that violate", "repeated"}}
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
				explored = append(explored, r.cells(e.unstable != ""))
				if r.Script == results[0].Script {
					failures = append(failures, r.failureCells()...)
				}
			}
		}
		if e.unstable != "" && !slices.ContainsFunc(unstable, func(cells []string) bool { return cells[0] == e.family }) {
			unstable = append(unstable, []string{e.family, "unstable", "unknown tool, empty name", causeLoop, e.unstable})
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
	return []string{r.Loop, r.Script, strconv.Itoa(r.Orders), strconv.Itoa(r.Runs), complete, strings.Join(failed, ", "), fmt.Sprintf("%d times", r.Times)}
}

func (r *result) failureCells() (lines [][]string) {
	for _, f := range r.Failures {
		choices := "none"
		if len(f.Choices) > 0 {
			choices = "`" + strings.Join(f.Choices, "`, `") + "`"
		}
		lines = append(lines, []string{r.Loop, f.Invariant, strconv.Itoa(f.Runs), f.byFault(), choices, f.Message})
	}
	return lines
}

// maxFaults is the number of faults that the page lists for a failure.
const maxFaults = 6

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
