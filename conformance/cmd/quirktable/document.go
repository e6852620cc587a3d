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

Real providers differ from their documents, and from each other.
[looptape serve](serving.md) shows each of these quirks on its own. Here it shows them to loops and
libraries that agents are built on: the tables say what came of it.

A command plays every quirk to every client, and writes this page:

    cd conformance
    (cd npm && npm ci)
    go run ./cmd/quirktable

Each client is a whole tool loop, written as the guides of its library show it (those over libraries
from npm are in [conformance/npm](../conformance/npm/README.md)), with three tools, one retry and
two seconds of patience for an answer, as far as the library takes such. No request leaves the machine,
and no model is asked. So a cell says what a client does when a provider answers so, and nothing of how
often one does. "by hand" is a loop of a few lines that looks at nothing but texts and calls.

## The clients

`

const legend = `
## What a cell says

| cell | means |
| --- | --- |
| ok | the loop ended as it should, with the right text or with an error, and its requests kept the invariants |
| INV-… | these [invariants](invariants.md) were broken, as far as the server sees them |
| error | the loop ended with an error, and should have come to its answer |
| wrong | the loop ended with another text than it should, or with a text where it should end with an error |
| hangs | the loop had not ended after ten seconds |
| – | the quirk was not shown, since the client asks for nothing that it could be shown in |

Two words with a slash are for streams and for answers in one piece. How a loop should end is how the
project's own does, in the first column; its traces are pinned for each quirk. What a tool got is not
seen here: where a client ran a call that was cut, and went on, the cell is ok.

The first row of each table is without a quirk. Some clients fail there already. The chat of Google's
SDK makes a turn of each piece of a stream, so that calls made at once are apart
(googleapis/go-genai#692); the models for Gemini of LangChain and of eino-ext make a turn of each
result (langchain-ai/langchainjs#10342, cloudwego/eino-ext#571). Google refuses both, so that in the
rows below such a client shows little else. fantasy v0.3.0 sends the arguments of calls back to Responses as a
text of JSON within JSON.

`

// document is the whole page.
func document(all []player, list []row, found map[place]string) string {
	return head + clientTable(all) + legend + sums(all, found) + "\n" + tables(all, list, found)
}

// clientTable lists the clients with their versions.
func clientTable(all []player) string {
	var lines [][]string
	for _, p := range all {
		var versions []string
		for _, v := range p.versions {
			versions = append(versions, v[0]+" "+v[1])
		}
		lines = append(lines, []string{p.name, p.says, strings.Join(versions, ", ")})
	}
	return markdown([]string{"client", "what it is", "versions"}, lines)
}

var titles = []struct{ protocol, title string }{
	{"openai-chat", "OpenAI Chat Completions"},
	{"openai-responses", "OpenAI Responses"},
	{"anthropic-messages", "Anthropic Messages"},
	{"gemini", "Gemini"},
}

// sums counts the games of each client.
func sums(all []player, found map[place]string) string {
	var lines [][]string
	for _, p := range all {
		n := map[string]int{}
		games := 0
		for at, verdict := range found {
			if at.client != p.name || verdict == none {
				continue
			}
			games++
			if strings.HasPrefix(verdict, "INV-") {
				verdict = "INV"
			}
			n[verdict]++
		}
		cells := []string{p.name, strconv.Itoa(games)}
		for _, verdict := range []string{ok, "INV", failed, wrong, hangs} {
			cells = append(cells, strconv.Itoa(n[verdict]))
		}
		lines = append(lines, cells)
	}
	return markdown([]string{"client", "games", "ok", "broke invariants", "error", "wrong", "hangs"}, lines)
}

// tables has one table a protocol.
func tables(all []player, list []row, found map[place]string) string {
	var b strings.Builder
	for _, t := range titles {
		var lines [][]string
		for _, r := range list {
			if slices.Contains(r.form.Protocols, t.protocol) {
				lines = append(lines, line(all, r, t.protocol, found))
			}
		}
		if lines == nil {
			continue
		}
		header := []string{"quirk", "on the wire"}
		for _, p := range all {
			if slices.Contains(p.protocols, t.protocol) {
				header = append(header, p.name)
			}
		}
		fmt.Fprintf(&b, "## %s\n\n%s\n", t.title, markdown(header, lines))
	}
	return b.String()
}

func line(all []player, r row, protocol string, found map[place]string) []string {
	cells := []string{r.name, r.form.Description}
	for _, p := range all {
		if slices.Contains(p.protocols, protocol) {
			cells = append(cells, cell(found, p.name, r, protocol))
		}
	}
	return cells
}

func cell(found map[place]string, client string, r row, protocol string) string {
	streamed, buffered := found[place{client, r.name, protocol, true}], found[place{client, r.name, protocol, false}]
	if r.form.Streaming || streamed == buffered {
		return streamed
	}
	return streamed + " / " + buffered
}

// kept reads the cells of a page, of which all is but what rows say is current.
func kept(text string, all []player, list []row) (map[place]string, error) {
	if !strings.Contains(text, clientTable(all)) {
		return nil, errors.New(page + " tells of other clients: play all quirks, without -only")
	}
	said := cells(text)
	found := map[place]string{}
	for _, r := range list {
		for _, t := range titles {
			for _, p := range all {
				verdict := said[[3]string{t.title, r.name, p.name}]
				if verdict == "" {
					continue
				}
				streamed, buffered, two := strings.Cut(verdict, " / ")
				if !two {
					buffered = streamed
				}
				found[place{p.name, r.name, t.protocol, true}] = streamed
				if !r.form.Streaming {
					found[place{p.name, r.name, t.protocol, false}] = buffered
				}
			}
		}
	}
	return found, nil
}

// cells are those of the tables of a page, by title, quirk and client.
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

// markdown writes a table.
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

// npmVersions are those of conformance/npm/package.json, which are exact.
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

// goVersions are those of conformance/go.mod.
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

// requirement is a line of go.mod that pins a module.
var requirement = regexp.MustCompile(`(?m)^(?:require)?\s+(\S+) (v\S+)`)
