package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

const head = `# Quirks and clients

Real providers deviate from their documentation, and from each other. [looptape
serve](serving.md) reproduces each of these quirks alone. The tables show how loops and libraries
for agents handle them.

This command runs each client with each quirk and writes this page:

    cd conformance
    (cd npm && npm ci)
    go run ./cmd/quirktable

Each client is a whole tool loop, written as the guides of its library recommend. The programs with
libraries from npm are in [conformance/npm](../conformance/npm/README.md). Each client has three
tools, one retry and a response timeout of two seconds, if its library supports them. No request
leaves the machine, and no model is called. So a cell shows how a client handles a quirk, and not how
often the quirk occurs. A "manual loop" has a few lines and reads only texts and calls.

## Clients

`

const legend = `
## Cells

| cell | meaning |
| --- | --- |
| ok | the loop ended as expected, with the right text or with an error, and its requests satisfied the invariants |
| INV-… | the requests violated these [invariants](invariants.md), as far as the server can check them |
| error | the loop ended with an error instead of the final answer |
| wrong | the loop ended with other text than expected, or with text instead of an error |
| hangs | the loop did not end within ten seconds |
| – | the server did not show the quirk, because the client requests nothing that contains it |

Two words with a slash are for streaming and for non-streaming responses. The expected result is that
of looptape's loop, in the first column. Golden traces pin it for each quirk. The tables do not
show the arguments of tools: a client that runs a truncated call and continues has the cell ok.

The first row of each table has no quirk. Some clients fail there already:

- The chat of Google's SDK makes a message of each chunk of a stream, which separates the calls of a
  response (googleapis/go-genai#692).
- The Gemini models of LangChain and of eino-ext make a message of each result
  (langchain-ai/langchainjs#10342, cloudwego/eino-ext#571).
- fantasy v0.3.0 sends the arguments of calls back to Responses as a JSON string within JSON.

Google rejects the first two, so the other rows show little else about these clients.

## Totals

`

// document returns the whole page.
func document(all []client, list []row, found map[cellKey]string) string {
	return head + clientTable(all) + legend + totals(all, found) + "\n" + tables(all, list, found)
}

// clientTable returns the table of the clients with their versions.
func clientTable(all []client) string {
	var lines [][]string
	for _, p := range all {
		var versions []string
		for _, v := range p.versions {
			versions = append(versions, v[0]+" "+v[1])
		}
		lines = append(lines, []string{p.name, p.description, strings.Join(versions, ", ")})
	}
	return markdown([]string{"client", "what it is", "versions"}, lines)
}

var titles = []struct{ protocol, title string }{
	{"openai-chat", "OpenAI Chat Completions"},
	{"openai-responses", "OpenAI Responses"},
	{"anthropic-messages", "Anthropic Messages"},
	{"gemini", "Gemini"},
}

// totals counts the statuses of each client.
func totals(all []client, found map[cellKey]string) string {
	var lines [][]string
	for _, p := range all {
		n := map[string]int{}
		cases := 0
		for at, status := range found {
			if at.client != p.name || status == none {
				continue
			}
			cases++
			if strings.HasPrefix(status, "INV-") {
				status = "INV"
			}
			n[status]++
		}
		cells := []string{p.name, strconv.Itoa(cases)}
		for _, status := range []string{ok, "INV", failed, wrong, hangs} {
			cells = append(cells, strconv.Itoa(n[status]))
		}
		lines = append(lines, cells)
	}
	return markdown([]string{"client", "test cases", "ok", "violations", "error", "wrong", "hangs"}, lines)
}

// tables returns one table per protocol.
func tables(all []client, list []row, found map[cellKey]string) string {
	var b strings.Builder
	for _, t := range titles {
		own := slices.DeleteFunc(slices.Clone(all), func(p client) bool { return !slices.Contains(p.protocols, t.protocol) })
		header := []string{"quirk", "content on the wire"}
		for _, p := range own {
			header = append(header, p.name)
		}
		var lines [][]string
		for _, r := range list {
			if !slices.Contains(r.form.Protocols, t.protocol) {
				continue
			}
			cells := []string{r.name, r.form.Description}
			for _, p := range own {
				cells = append(cells, cell(found, p.name, r, t.protocol))
			}
			lines = append(lines, cells)
		}
		if lines != nil {
			fmt.Fprintf(&b, "## %s\n\n%s\n", t.title, markdown(header, lines))
		}
	}
	return b.String()
}

func cell(found map[cellKey]string, client string, r row, protocol string) string {
	streaming, nonStreaming := found[cellKey{client, r.name, protocol, true}], found[cellKey{client, r.name, protocol, false}]
	if r.form.Streaming || streaming == nonStreaming {
		return streaming
	}
	return streaming + " / " + nonStreaming
}

// readCells reads the cells of a page with the same clients.
func readCells(text string, all []client, list []row) (map[cellKey]string, error) {
	if !strings.Contains(text, clientTable(all)) {
		return nil, errors.New(page + " has other clients: run all quirks, without -only")
	}
	table := cells(text)
	found := map[cellKey]string{}
	for _, r := range list {
		for _, t := range titles {
			for _, p := range all {
				status := table[[3]string{t.title, r.name, p.name}]
				if status == "" {
					continue
				}
				streaming, nonStreaming, two := strings.Cut(status, " / ")
				if !two {
					nonStreaming = streaming
				}
				found[cellKey{p.name, r.name, t.protocol, true}] = streaming
				if !r.form.Streaming {
					found[cellKey{p.name, r.name, t.protocol, false}] = nonStreaming
				}
			}
		}
	}
	return found, nil
}

// cells returns the cells of the tables by title, quirk and client.
func cells(text string) map[[3]string]string {
	found := map[[3]string]string{}
	for _, t := range titles {
		_, table, _ := strings.Cut(text, "\n## "+t.title+"\n")
		table, _, _ = strings.Cut(table, "\n## ")
		var header []string
		for _, l := range strings.Split(table, "\n") {
			list := strings.Split(strings.TrimSuffix(strings.TrimPrefix(l, "| "), " |"), " | ")
			switch {
			case len(list) < 3 || list[0] == "---":
			case header == nil:
				header = list
			default:
				for i, c := range list[2:] {
					found[[3]string{t.title, list[0], header[i+2]}] = c
				}
			}
		}
	}
	return found
}

// markdown returns a table.
func markdown(header []string, lines [][]string) string {
	var b strings.Builder
	write := func(cells []string) {
		b.WriteString("|")
		for _, c := range cells {
			b.WriteString(" " + strings.ReplaceAll(c, "|", `\|`) + " |")
		}
		b.WriteString("\n")
	}
	write(header)
	write(slices.Repeat([]string{"---"}, len(header)))
	for _, l := range lines {
		write(l)
	}
	return b.String()
}

// npmVersions returns the exact versions in conformance/npm/package.json.
func npmVersions(root string) (map[string]string, error) {
	file := filepath.Join(root, "conformance", "npm", "package.json")
	text, err := os.ReadFile(file)
	if err != nil {
		return nil, err
	}
	var p struct{ Dependencies map[string]string }
	if err := json.Unmarshal(text, &p); err != nil {
		return nil, fmt.Errorf("%s: %w", file, err)
	}
	return p.Dependencies, nil
}

// goVersions returns the versions in conformance/go.mod.
func goVersions(root string) (map[string]string, error) {
	text, err := os.ReadFile(filepath.Join(root, "conformance", "go.mod"))
	if err != nil {
		return nil, err
	}
	pins := map[string]string{}
	for _, m := range requirement.FindAllStringSubmatch(string(text), -1) {
		pins[m[1]] = m[2]
	}
	return pins, nil
}

// requirement matches a line of go.mod that requires a module.
var requirement = regexp.MustCompile(`(?m)^(?:require)?\s+(\S+) (v\S+)`)
