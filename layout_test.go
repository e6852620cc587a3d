package looptape_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

const module = "github.com/looptape/looptape"

// packageRule describes a package: what it is for and what it may import. docs/design.md has
// these descriptions as a table.
type packageRule struct {
	name string
	does string // its responsibility
	not  string // what is elsewhere, if that needs saying
	// large is the reason for more than maxFiles files or maxLines lines; empty for other packages.
	large string
	// packages of this module that it may import. A pattern that ends in /... includes all
	// packages below it.
	packages []string
	// modules are the paths of third-party packages that it may import, with all below them.
	modules []string
}

// Limits of a package without its tests.
const (
	maxFiles = 20
	maxLines = 3000
)

const (
	yaml        = "go.yaml.in/yaml/v3"
	jsonschema  = "github.com/google/jsonschema-go"
	goCmp       = "github.com/google/go-cmp"
	gonum       = "gonum.org/v1/gonum"
	tableWriter = "github.com/olekukonko/tablewriter"
	zstd        = "github.com/klauspost/compress/zstd"
)

// Imports of several packages.
var (
	kernelPackages     = []string{"internal/jsonio", "internal/jsonval", "llm"}
	kernelModules      = []string{jsonschema}
	presetPackages     = []string{"internal/jsonio", "internal/responsehook", "llm", "trace", "loop", "loop/files", "loop/history", "loop/internal/dialect", "loop/layers", "loop/middleware/...", "loop/preset/...", "loop/store", "loop/uistream"}
	openAIPackages     = []string{"internal/jsonio", "internal/jsonval", "internal/sse", "llm", "providers/protocol", "providers/internal/codec", "providers/openai/..."}
	providerPackages   = []string{"internal/jsonio", "internal/jsonval", "internal/sse", "llm", "providers/protocol", "providers/internal/codec"}
	evaluationPackages = []string{"internal/atomicfile", "internal/visible", "internal/child", "internal/decompress", "internal/jsonio", "internal/jsonval", "internal/suggest", "internal/markdown", "internal/parquet", "internal/plot", "internal/tabular", "internal/testreport", "internal/yamljson", "llm", "trace", "trace/check", "trace/importer", "loop", "fake", "cassettes", "cassettes/recording", "evals/..."}
	evaluationModules  = []string{gonum, jsonschema, yaml}
	examplePackages    = []string{"llm", "loop/...", "fake/...", "providers/..."}
)

// table has a row for each package, and no other row. An import without a row fails the test.
var table = []packageRule{
	{
		name: "internal/atomicfile", does: "writes files of users: the old or the new content is there, and no link is followed; refuses pipes as inputs",
	},
	{
		name: "internal/access", does: "which requests a local server accepts: no web pages, only with the token",
		not: "commands",
	},
	{
		name: "internal/bubble", does: "contract suites in bubbles of `testing/synctest`",
	},
	{
		name: "internal/docpage", does: "the examples of pages in docs, for the tests that run them",
		not: "how an example is run",
	},
	{
		name: "internal/cassettetest", does: "the recordings of `testdata/cassettes`: their table, recording, replay",
		not:      "what they show",
		packages: []string{"internal/jsonval", "llm", "loop", "loop/scenario", "fake", "fake/wire", "providers/...", "cassettes", "cassettes/convert", "cassettes/recording"},
		modules:  []string{"github.com/dnaeon/go-vcr/v2", "github.com/tidwall/gjson"},
	},
	{
		name: "internal/child", does: "starts and stops other programs",
	},
	{
		name: "internal/decompress", does: "gzip and zstd with limits",
		modules: []string{zstd},
	},
	{
		name: "internal/cmd/gencodec", does: "generates the JSON codecs and schemas of `llm` and `trace`",
		modules: []string{jsonschema},
	},
	{
		name: "internal/jsonio", does: "reads and writes JSON without reflection",
	},
	{
		name: "internal/jsonval", does: "canonical form, equality and pointers of JSON values",
		packages: []string{"internal/jsonio"},
	},
	{
		name: "internal/linediff", does: "shows where two texts differ",
	},
	{
		name: "internal/lockfile", does: "a lock on a file for one process",
		modules: []string{"golang.org/x/sys"},
	},
	{
		name: "internal/markdown", does: "escapes foreign text for Markdown",
		packages: []string{"internal/visible"},
	},
	{
		name: "internal/ordered", does: "concurrent tasks, whose results come in order",
	},
	{
		name: "internal/parquet", does: "writes Parquet files",
	},
	{
		name: "internal/sse", does: "reads and writes server-sent events",
	},
	{
		name: "internal/eventstream", does: "reads and writes the event streams of Amazon",
	},
	{
		name: "internal/responsehook", does: "reports the HTTP responses of a model client to the caller of the model",
	},
	{
		name: "internal/slab", does: "allocates short slices from a long one",
	},
	{
		name: "internal/suggest", does: "the known name that is nearest to an unknown one",
	},
	{
		name: "internal/plot", does: "draws plots as SVG, for pages that work without scripts",
		not:      "what is plotted",
		packages: []string{"internal/tabular"},
	},
	{
		name: "internal/tabular", does: "formats numbers and tables for people",
	},
	{
		name: "internal/testreport", does: "results of checks as JUnit, annotations of GitHub and Markdown",
		packages: []string{"internal/markdown", "internal/visible"},
	},
	{
		name: "internal/visible", does: "escapes in text that a terminal or a CI system would obey",
		not: "Markdown and HTML",
	},
	{
		name: "internal/yamljson", does: "YAML as JSON",
		packages: []string{"internal/jsonio"},
		modules:  []string{yaml},
	},
	{
		name: "llm", does: "messages, parts, tools, requests, responses, stream events, usage, errors; the `Model` interface",
		not:      "wire formats, decisions",
		packages: []string{"internal/jsonio", "internal/jsonval", "internal/slab"},
	},
	{
		name: "llm/llmtest", does: "contract suite for any `llm.Model`",
		not:      "properties of one provider",
		packages: []string{"internal/jsonval", "internal/bubble", "llm"},
	},
	{
		name: "trace", does: "the events of a run; their file, canonical form and text form",
		not:      "checking, scoring",
		packages: []string{"internal/jsonio", "internal/visible", "llm", "trace/internal/..."},
		large:    "The canonical, joined and text forms share the decoder of events, and an eighth is generated.",
	},
	{
		name: "trace/internal/chain", does: "the rolling hashes of the conversations in a trace",
		modules: []string{"github.com/cespare/xxhash/v2"},
	},
	{
		name: "trace/internal/signed", does: "the members of opaque data with signatures and encrypted data",
	},
	{
		name: "trace/internal/stored", does: "requests that refer to earlier responses, which the provider stores",
		packages: []string{"llm"},
	},
	{
		name: "trace/check", does: "the invariants: events in, violations out",
		not:      "running a loop",
		large:    "The invariants share the state of a run and of the messages of its requests.",
		packages: []string{"internal/jsonio", "llm", "trace", "trace/check/internal/..."},
	},
	{
		name: "trace/check/internal/echo", does: "compares what a request repeats with what a response sent",
		packages: []string{"internal/jsonio", "llm", "trace/internal/signed"},
	},
	{
		name: "trace/check/internal/idtable", does: "a table of call ids in little memory",
		modules: []string{"github.com/cespare/xxhash/v2"},
	},
	{
		name: "trace/importer", does: "recordings of other tools and of HTTP become runs; the table of formats",
		not:      "checking, scoring",
		large:    "All readers share the walk over one file, its places and its memory limits.",
		packages: []string{"internal/decompress", "internal/eventstream", "internal/jsonio", "internal/jsonval", "internal/ordered", "internal/yamljson", "llm", "trace", "providers/...", "cassettes/...", "trace/importer/internal/...", "trace/internal/stored"},
		modules:  []string{"github.com/andybalholm/brotli", zstd}, // in tests
	},
	{
		name: "trace/importer/internal/archive", does: "logs of Inspect that are ZIPs, in bounded memory",
		packages: []string{"internal/decompress", "internal/jsonio"},
		modules:  []string{zstd},
	},
	{
		name: "trace/importer/internal/format", does: "one file for each format of recordings",
		not:      "files, memory limits",
		large:    "The formats are independent of each other, one file each, and share the type of a run.",
		packages: []string{"internal/jsonio", "internal/jsonval", "internal/ordered", "llm", "providers/anthropic", "providers/openai/responses", "providers/protocol", "trace/importer/internal/body", "trace/importer/internal/message", "trace/importer/internal/shape", "trace/importer/internal/tree"},
	},
	{
		name: "trace/importer/internal/spans", does: "traces with spans, some of which are model calls; the conversations of these",
		not: "files, memory limits",
		packages: []string{
			"internal/jsonio", "internal/jsonval", "internal/ordered", "llm", "trace/importer/internal/format", "trace/importer/internal/message",
			"trace/importer/internal/modelcall", "trace/importer/internal/shape", "trace/importer/internal/tree",
		},
	},
	{
		name: "trace/importer/internal/body", does: "bodies of requests and responses, in all protocols that are read",
		packages: []string{
			"internal/eventstream", "internal/jsonio", "internal/jsonval", "internal/sse", "llm", "providers/anthropic", "providers/gemini", "providers/openai/chat", "providers/openai/responses",
			"providers/protocol", "trace/importer/internal/message", "trace/importer/internal/shape", "trace/importer/internal/tree",
		},
	},
	{
		name: "trace/importer/internal/message", does: "messages in the formats of the providers and SDKs",
		packages: []string{"internal/jsonio", "internal/jsonval", "llm", "providers/anthropic", "providers/openai/responses", "providers/protocol", "trace/importer/internal/tree"},
	},
	{
		name: "trace/importer/internal/modelcall", does: "input and output of a model call, in the form of any framework",
		packages: []string{"internal/jsonio", "llm", "trace/importer/internal/body", "trace/importer/internal/message", "trace/importer/internal/tree"},
	},
	{
		name: "trace/importer/internal/shape", does: "the JSON types that the members of responses have in each protocol",
		not:      "the content of members",
		packages: []string{"internal/jsonio", "internal/jsonval", "trace/importer/internal/message", "trace/importer/internal/tree"},
	},
	{
		name: "trace/importer/internal/tree", does: "members and pointers of raw JSON",
		packages: []string{"internal/jsonio", "internal/jsonval"},
	},
	{
		name: "trace/watch", does: "requests to models, live or recorded, compared with earlier responses",
		not:      "what one provider rejects",
		packages: []string{"internal/jsonio", "internal/jsonval", "llm", "trace/check", "trace/internal/signed", "trace/internal/stored", "providers/..."},
	},
	{
		name: "loop", does: "the kernel, its options and hooks, typed tools",
		large:    "The parts of a run share its unexported state, and a split would export it.",
		not:      "middleware that only some users need",
		packages: []string{"internal/jsonio", "internal/jsonval", "internal/slab", "llm", "loop/internal/...", "trace"},
		modules:  []string{jsonschema, "github.com/cespare/xxhash/v2"},
	},
	{
		name: "loop/internal/arguments", does: "arguments of a call: decoding, checks, repair",
		packages: kernelPackages,
		modules:  kernelModules,
	},
	{
		name: "loop/internal/conversation", does: "checks and repairs conversations and call ids",
		packages: kernelPackages,
		modules:  kernelModules,
	},
	{
		name: "loop/internal/dialect", does: "what the events of the reference loops share",
		not:      "behavior of one loop",
		packages: []string{"internal/jsonio", "trace"},
	},
	{
		name: "loop/internal/stall", does: "cancels a model that delivers nothing",
		packages: kernelPackages,
		modules:  kernelModules,
	},
	{
		name: "loop/internal/workers", does: "the worker pool of tools",
		packages: kernelPackages,
		modules:  kernelModules,
	},
	{
		name: "loop/layers", does: "layered system prompts",
		not:      "the loop",
		packages: []string{"llm"},
	},
	{
		name: "loop/history", does: "conversations: tokens, limits, serialization",
		not:      "the loop",
		packages: []string{"llm", "loop/layers"},
	},
	{
		name: "loop/orchestrate", does: "agents in sequence, in parallel and by delegation",
		not:      "the loop",
		packages: []string{"llm", "loop", "loop/history", "loop/layers", "loop/middleware"},
	},
	{
		name: "loop/explore", does: "choices of a run, drivers, shrinking",
		not:      "what a loop does",
		packages: []string{"internal/linediff", "trace/check"},
	},
	{
		name: "loop/looptest", does: "contract suite for any loop in Go",
		not:      "options of one loop",
		packages: []string{"internal/bubble", "internal/jsonio", "internal/jsonval", "llm", "loop/explore", "loop/internal/arguments", "trace", "trace/check", "fake", "fake/wire", "providers/..."},
		modules:  []string{goCmp},
		large:    "The suite and the explorations share the loop, its input and tools, and the checks of messages.",
	},
	{
		name: "loop/scenario", does: "a scenario file becomes a run, and a recorded run becomes a scenario file",
		not:      "checking, scoring",
		packages: []string{"internal/jsonio", "internal/jsonval", "internal/linediff", "internal/suggest", "internal/visible", "llm", "trace", "trace/check", "loop", "loop/explore", "loop/files", "loop/middleware/...", "loop/preset/...", "loop/store", "fake"},
		modules:  []string{yaml, "golang.org/x/tools/txtar"},
		large:    "The choices of an exploration take the place of what the readers of options make, and both are unexported.",
	},
	{
		name: "loop/files", does: "an agent's files, in memory or in a folder",
		not: "tools that use them",
	},
	{
		name: "loop/store", does: "values under keys, in memory or in a folder; documents of JSON",
		not:      "formats of values",
		packages: []string{"internal/atomicfile", "internal/lockfile"},
	},
	{
		name: "loop/store/storetest", does: "contract suite for any `store.Store`",
		not:      "properties of one store",
		packages: []string{"llm", "trace", "loop", "loop/middleware", "loop/preset", "loop/store", "fake"},
		modules:  []string{goCmp, "pgregory.net/rapid"},
	},
	{
		name: "loop/middleware", does: "middleware; each file has one",
		not:      "the kernel",
		packages: []string{"internal/jsonio", "internal/jsonval", "llm", "trace", "loop", "loop/files", "loop/history", "loop/store", "loop/middleware/..."},
		modules:  []string{jsonschema},
	},
	{
		name: "loop/uistream", does: "a run as the AI SDK's UI message stream",
		not:      "reading that stream",
		packages: []string{"llm", "trace", "loop/internal/dialect"},
	},
	{
		name: "loop/preset", does: "the table of presets",
		not:      "behavior of one loop",
		packages: presetPackages,
	},
	{
		name: "loop/preset/deuz", does: "the reference loop deuz: its options and its own events",
		not:      "shared behavior",
		packages: presetPackages,
	},
	{
		name: "loop/preset/agentier", does: "the reference loop agentier: its options and its own events",
		not:      "shared behavior",
		packages: presetPackages,
	},
	{
		name: "loop/preset/deepagents", does: "the reference loop deepagents: its options and its own events",
		not:      "shared behavior",
		packages: presetPackages,
	},
	{
		name: "loop/preset/agentloop", does: "the reference loop AgentLoop: its options and its own events",
		not:      "shared behavior",
		packages: presetPackages,
	},
	{
		name: "loop/preset/reactagent", does: "the reference loop ReactAgent: its options and its own events",
		not:      "shared behavior",
		packages: presetPackages,
	},
	{
		name: "providers/internal/codec", does: "tolerant readers, the writer of requests, kept members, and parts of other providers",
		not:      "names of one provider",
		packages: []string{"internal/jsonio", "llm"},
	},
	{
		name: "providers/protocol", does: "the interface of a codec, and the HTTP client",
		not:      "the meaning of bytes",
		packages: []string{"internal/responsehook", "internal/sse", "llm", "providers/internal/codec"},
	},
	{
		name: "providers/openai", does: "the clients for both protocols of OpenAI",
		not:      "one protocol",
		packages: openAIPackages,
	},
	{
		name: "providers/openai/chat", does: "codec of Chat Completions, in both directions",
		not:      "retries, decisions",
		packages: openAIPackages,
	},
	{
		name: "providers/openai/responses", does: "codec of the Responses API, in both directions",
		not:      "retries, decisions",
		packages: openAIPackages,
	},
	{
		name: "providers/openai/internal/api", does: "errors and media that both protocols share",
		packages: openAIPackages,
	},
	{
		name: "providers/anthropic", does: "codec of the Messages API, in both directions, and its client",
		not:      "retries, decisions",
		packages: providerPackages,
	},
	{
		name: "providers/gemini", does: "codec of the Gemini API, in both directions, and its client",
		not:      "retries, decisions",
		packages: providerPackages,
	},
	{
		name: "fake", does: "scripted models and tools, the scenario format, the virtual clock",
		not:      "the loop",
		large:    "The world of an explored run shares the unexported state of the clock, the model and the tools.",
		packages: []string{"internal/jsonio", "internal/jsonval", "internal/suggest", "internal/visible", "llm", "fake/internal/yamlfile"},
		modules:  []string{yaml, goCmp},
	},
	{
		name: "fake/internal/yamlfile", does: "codecs between YAML nodes, Go values and a JSON Schema",
		not:      "the keys of a format",
		packages: []string{"internal/jsonio", "internal/suggest"},
		modules:  []string{yaml},
	},
	{
		name: "fake/wire", does: "the HTTP server and its report; rules for recorded requests",
		not:      "the content of a script",
		packages: []string{"internal/access", "internal/sse", "llm", "trace/check", "trace/watch", "fake", "fake/wire/internal/...", "providers/..."},
		modules:  []string{"github.com/tidwall/gjson"},
	},
	{
		name: "fake/wire/internal/reply", does: "the response of a script on the wire, before and after a quirk changes it",
		packages: []string{"internal/jsonio", "internal/sse", "llm", "fake", "providers/..."},
		modules:  []string{"github.com/tidwall/gjson", "github.com/tidwall/sjson"},
	},
	{
		name: "fake/wire/internal/quirk", does: "quirks of providers, by protocol",
		packages: []string{"internal/jsonio", "llm", "fake", "fake/wire/internal/reply", "providers/openai/..."},
		modules:  []string{"github.com/tidwall/gjson"},
	},
	{
		name: "fake/wire/internal/strict", does: "which requests real providers reject, by protocol",
		packages: []string{"internal/jsonio", "llm", "trace/watch", "fake", "fake/wire/internal/reply", "providers/..."},
	},
	{
		name: "cassettes/recording", does: "the types of a recorded interaction",
	},
	{
		name: "cassettes/internal/tape", does: "the file of recorded HTTP, its journal and checksums",
		not:      "matching",
		packages: []string{"internal/atomicfile", "internal/jsonio", "internal/lockfile", "cassettes/recording"},
	},
	{
		name: "cassettes/internal/match", does: "keys, canonical bodies, the nearest match",
		not:      "files",
		packages: []string{"internal/decompress", "internal/jsonio", "internal/jsonval", "cassettes/recording", "cassettes/internal/tape"},
		modules:  []string{"github.com/andybalholm/brotli", "github.com/cespare/xxhash/v2", zstd},
	},
	{
		name: "cassettes/redact", does: "names and shapes of secrets; redaction; scrubbing",
		not:      "files",
		large:    "The table of the keys of vendors is in the package of the scan, and the places of texts are unexported.",
		packages: []string{"internal/eventstream", "internal/jsonio", "internal/jsonval", "internal/slab", "cassettes/recording", "cassettes/internal/tape", "cassettes/internal/match"},
	},
	{
		name: "cassettes", does: "a transport and a proxy that record and replay; options; `ForTest`",
		not:      "models",
		packages: []string{"internal/access", "internal/atomicfile", "internal/visible", "cassettes/recording", "cassettes/internal/...", "cassettes/redact"},
	},
	{
		name: "cassettes/convert", does: "other recorders' formats",
		not:      "matching",
		packages: []string{"internal/decompress", "internal/jsonio", "internal/jsonval", "internal/ordered", "internal/yamljson", "cassettes", "cassettes/recording", "cassettes/redact", "cassettes/internal/..."},
		modules:  []string{"github.com/dnaeon/go-vcr/v2", yaml, "gopkg.in/yaml.v2"},
	},
	{
		name: "evals/stats", does: "formulas: errors, intervals, tests",
		not:     "where values come from",
		modules: []string{gonum},
	},
	{
		name: "evals", does: "rows, comparison, power, gate, score files",
		large:    "Comparison, gate, baseline and suite share the rows and the samples of a metric.",
		not:      "formulas, output",
		packages: evaluationPackages,
		modules:  evaluationModules,
	},
	{
		name: "evals/facts", does: "answer, tool calls and errors of a run",
		not:      "scoring",
		packages: evaluationPackages,
		modules:  evaluationModules,
	},
	{
		name: "evals/scorers", does: "scores of a run, by settings",
		not:      "statistics",
		large:    "The kinds of scorers are independent of each other, one file each, and share the form of their settings.",
		packages: evaluationPackages,
		modules:  evaluationModules,
	},
	{
		name: "evals/scorers/internal/assign", does: "pairs of expected calls and those of a run",
	},
	{
		name: "evals/report", does: "results as tables, Markdown, JSON, CSV and Parquet",
		not:      "statistics",
		packages: evaluationPackages,
		modules:  evaluationModules,
	},
	{
		name: "evals/report/page", does: "the HTML page",
		not:      "statistics",
		packages: evaluationPackages,
		modules:  evaluationModules,
	},
	{
		name: "evals/rerun", does: "recorded runs with changed tools or another model",
		not:      "scoring",
		packages: evaluationPackages,
		modules:  evaluationModules,
	},
	{
		name: "examples", does: "the test of the programs below it",
		packages: examplePackages,
	},
	{
		name: "examples/deuz", does: "a program that does what the documentation of deuz does",
		packages: examplePackages,
	},
	{
		name: "examples/agentier", does: "a program that does what the documentation of agentier does",
		packages: examplePackages,
	},
	{
		name: "examples/reactagent", does: "a program that does what the documentation of reactagent does",
		packages: examplePackages,
	},
	{
		name: "examples/deepagents", does: "a program that does what the documentation of deepagents does",
		packages: examplePackages,
	},
	{
		name: "examples/agentloop", does: "a program that does what the documentation of agentloop does",
		packages: examplePackages,
	},
	{
		name: "cmd/looptape", does: "main",
		not:      "logic",
		packages: []string{all},
		modules:  []string{"github.com/mattn/go-isatty", "github.com/spf13/cobra"},
	},
	{
		name: "cmd/looptape/internal/cli", does: "what commands share: arguments, flags, files, tables, exit status",
		packages: []string{"internal/atomicfile", "internal/testreport", "internal/visible", "cassettes/...", "loop/scenario", "trace/check", "trace/importer", "cmd/looptape/internal/cli/clitest"},
		modules:  []string{"github.com/spf13/cobra", "github.com/spf13/pflag", tableWriter},
	},
	{
		name: "cmd/looptape/internal/cli/clitest", does: "a terminal for the tests of commands",
		packages: []string{"cmd/looptape/internal/cli"},
	},
	{
		name: "cmd/looptape/internal/cassette", does: "cassette ls, show, verify, scrub, convert",
		packages: []string{"cassettes/...", "cmd/looptape/internal/cli/...", "internal/tabular", "internal/testreport"},
		modules:  []string{"github.com/spf13/cobra"},
	},
	{
		name: "cmd/looptape/internal/demo", does: "demo, with its recordings",
		packages: []string{all},
		modules:  []string{"github.com/spf13/cobra"},
	},
	{
		name: "cmd/looptape/internal/eval", does: "eval score, compare, gate, power, report, rerun, merge, trend",
		large:    "The commands share the sets of runs, their flags and their graders.",
		packages: []string{all},
		modules:  []string{"github.com/spf13/cobra", "github.com/spf13/pflag"},
	},
	{
		name: "cmd/looptape/internal/program", does: "runs of a user's program with chosen HTTP responses",
		not:      "flags, output",
		packages: []string{"internal/child", "llm", "trace/check", "fake", "fake/wire", "loop", "loop/explore"},
	},
	{
		name: "cmd/looptape/internal/project", does: "init, with the files that it writes",
		packages: []string{"internal/atomicfile", "cmd/looptape/internal/cli/..."},
		modules:  []string{"github.com/spf13/cobra"},
	},
	{
		name: "cmd/looptape/internal/project/files/looptape-tests", does: "the Go test that init writes",
		packages: []string{"fake/wire", "loop/scenario", "cassettes"},
	},
	{
		name: "cmd/looptape/internal/root", does: "the root command, with all commands",
		packages: []string{"cmd/looptape/internal/..."},
		modules:  []string{"github.com/spf13/cobra", "github.com/spf13/pflag"},
	},
	{
		name: "cmd/looptape/internal/runs", does: "run, check, trace, scenario, explore",
		packages: []string{all},
		modules:  []string{"github.com/spf13/cobra"},
	},
	{
		name: "cmd/looptape/internal/serve", does: "serve, record, replay, and the program of their arguments",
		packages: []string{all},
		modules:  []string{"github.com/spf13/cobra", "golang.org/x/net"},
	},
}

const all = "..."

// tests are the imports that the tests of each package may have in addition.
var tests = packageRule{
	packages: []string{"internal/bubble", "internal/cassettetest", "internal/jsonio", "llm", "llm/llmtest", "trace", "trace/check", "trace/importer", "fake", "loop", "providers/...", "cassettes", "loop/explore", "loop/looptest", "loop/history", "loop/layers", "loop/scenario", "loop/store/...", "loop/middleware/...", "loop/preset/..."},
	modules: []string{
		goCmp, jsonschema, yaml,
		"pgregory.net/rapid",
		"github.com/sebdah/goldie/v2",
		"go.uber.org/goleak",
		"github.com/rogpeppe/go-internal",
		"golang.org/x/tools/txtar",
		"github.com/dnaeon/go-vcr/v2",
		"github.com/andybalholm/brotli",
		"github.com/klauspost/compress",
	},
}

// listed is the output of `go list -json` for a package.
type listed struct {
	ImportPath, Name                            string
	GoFiles, Imports, TestImports, XTestImports []string
}

func TestLayout(t *testing.T) {
	unused := map[string]bool{}
	for _, rule := range table {
		if unused[rule.name] {
			t.Errorf("the table has two rows for %s", rule.name)
		}
		unused[rule.name] = true
	}
	for _, p := range list(t) {
		if p.ImportPath == module {
			continue // the tests of the whole module, such as this one
		}
		name := strings.TrimPrefix(p.ImportPath, module+"/")
		delete(unused, name)
		rule, ok := find(name)
		if !ok {
			t.Errorf("the table of layout_test.go has no row for %s: add one with its responsibility and its imports", name)
			continue
		}
		for _, edge := range forbidden(rule, name, p.Imports) {
			t.Error(edge)
		}
		rule.packages = slices.Concat(rule.packages, tests.packages)
		rule.modules = slices.Concat(rule.modules, tests.modules)
		for _, edge := range forbidden(rule, name, slices.Concat(p.TestImports, p.XTestImports)) {
			t.Error("in a test: " + edge)
		}
	}
	for name := range unused {
		t.Errorf("the table of layout_test.go has a row for %s, which does not exist: remove the row", name)
	}
}

// TestLayoutForbiddenImports checks which imports the rules reject.
func TestLayoutForbiddenImports(t *testing.T) {
	rule := packageRule{name: "b/x", packages: []string{"a", "c/..."}, modules: []string{"example.org/m"}}
	got := forbidden(rule, "b/x", []string{
		"fmt", "net/http", "example.org/m", "example.org/m/sub", module + "/a", module + "/c", module + "/c/d", module + "/b/x",
		module + "/a/b", module + "/cc", module + "/b", module, "example.org/mm", "example.org",
	})
	want := []string{
		"b/x must not import a/b", "b/x must not import cc", "b/x must not import b",
		"b/x must not import " + module, "b/x must not import example.org/mm", "b/x must not import example.org",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("forbidden edges (-want +got):\n%s", diff)
	}
	for name, want := range map[string]bool{"llm": true, "llm/sub": false, "loop/preset": true, "loop/preset/deuz": true, "trace/checks": false} {
		if _, ok := find(name); ok != want {
			t.Errorf("find(%q) = %v, want %v", name, ok, want)
		}
	}
}

// TestDesignPackages checks the large packages: each has a reason in the table, and no other
// package has one.
func TestDesignPackages(t *testing.T) {
	for _, p := range list(t) {
		name := strings.TrimPrefix(p.ImportPath, module+"/")
		rule, _ := find(name)
		lines := 0
		for _, f := range p.GoFiles {
			lines += strings.Count(read(t, name+"/"+f), "\n")
		}
		switch large := len(p.GoFiles) > maxFiles || lines > maxLines; {
		case large && rule.large == "":
			t.Errorf("%s has %d files and %d lines, want at most %d and %d: split it, or give the reason in its row of layout_test.go", name, len(p.GoFiles), lines, maxFiles, maxLines)
		case !large && rule.large != "":
			t.Errorf("%s has only %d files and %d lines: remove the reason from its row of layout_test.go", name, len(p.GoFiles), lines)
		}
	}
	const page = "docs/design.md"
	is := read(t, page)
	if want := tables(t, is); *update {
		write(t, page, want)
	} else if diff := cmp.Diff(strings.Split(is, "\n"), strings.Split(want, "\n")); diff != "" {
		t.Errorf("the tables of %s are not current: run go test . -run TestDesign -update (-page +table of layout_test.go):\n%s", page, diff)
	}
}

// designPlace is a function or type with its file, as docs/design.md names it.
var designPlace = regexp.MustCompile("`([A-Za-z.]+)` \\(`([a-z0-9_/]+\\.go)`\\)")

// TestDesignPlaces checks that each function and type that docs/design.md names is in the file
// that it names.
func TestDesignPlaces(t *testing.T) {
	const page = "docs/design.md"
	found := designPlace.FindAllStringSubmatch(read(t, page), -1)
	if len(found) == 0 {
		t.Fatalf("%s names no function", page)
	}
	for _, m := range found {
		if !slices.Contains(declared(t, m[2]), m[1]) {
			t.Errorf("%s names %s in %s, which does not declare it", page, m[1], m[2])
		}
	}
}

// declared returns the names of the functions, methods and types of a file.
func declared(t *testing.T, name string) (names []string) {
	t.Helper()
	file, err := parser.ParseFile(token.NewFileSet(), name, nil, parser.SkipObjectResolution)
	if err != nil {
		t.Error(err)
		return nil
	}
	for _, s := range typeSpecs(file) {
		names = append(names, s.Name.Name)
	}
	for _, d := range file.Decls {
		if d, ok := d.(*ast.FuncDecl); ok {
			names = append(names, strings.TrimPrefix(receiverName(d)+"."+d.Name.Name, "."))
		}
	}
	return names
}

// packageTable returns the table of the packages for docs/design.md.
func packageTable() string {
	var rows [][]string
	for _, r := range table {
		rows = append(rows, []string{"`" + r.name + "`", r.does, r.not})
	}
	return markdown([]string{"package", "responsibility", "not here"}, rows)
}

// largeTable returns the table of the large packages for docs/design.md.
func largeTable() string {
	var rows [][]string
	for _, r := range table {
		if r.large != "" {
			rows = append(rows, []string{"`" + r.name + "`", r.large})
		}
	}
	return markdown([]string{"package", "reason"}, rows)
}

// forbidden returns a line for each import that the rule does not allow. External tests of a
// package import it.
func forbidden(rule packageRule, name string, imports []string) (edges []string) {
	for _, path := range imports {
		first, _, _ := strings.Cut(path, "/")
		ours, inside := strings.CutPrefix(path, module+"/")
		switch {
		case !strings.Contains(first, "."), // the standard library
			inside && (ours == name || slices.ContainsFunc(rule.packages, func(p string) bool { return covers(p, ours) })),
			!inside && slices.ContainsFunc(rule.modules, func(m string) bool { return covers(m+"/...", path) }):
		default:
			edges = append(edges, fmt.Sprintf("%s must not import %s", name, ours))
		}
	}
	return edges
}

func find(name string) (packageRule, bool) {
	i := slices.IndexFunc(table, func(r packageRule) bool { return r.name == name })
	if i < 0 {
		return packageRule{}, false
	}
	return table[i], true
}

// covers reports whether a pattern, a name or a name with /... at its end, covers a path.
func covers(pattern, path string) bool {
	if pattern == all {
		return true
	}
	base, open := strings.CutSuffix(pattern, "/...")
	return path == base || open && strings.HasPrefix(path, base+"/")
}

func list(t *testing.T) (packages []listed) {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), "go", "list", "-json=ImportPath,Name,GoFiles,Imports,TestImports,XTestImports", "./...")
	out, err := cmd.Output()
	if err != nil {
		if exit, ok := errors.AsType[*exec.ExitError](err); ok {
			t.Fatalf("%v: %v\n%s", cmd, err, exit.Stderr)
		}
		t.Fatalf("%v: %v", cmd, err)
	}
	for dec := json.NewDecoder(bytes.NewReader(out)); ; {
		var p listed
		switch err := dec.Decode(&p); {
		case errors.Is(err, io.EOF):
			return packages
		case err != nil:
			t.Fatalf("the output of %v: %v", cmd, err)
		}
		packages = append(packages, p)
	}
}

// A struct of the kernel with many fields is several things; see docs/design.md. Config has one
// field for each option.
func TestLoopStructFields(t *testing.T) {
	const limit = 20
	files, err := filepath.Glob("loop/*.go")
	if err != nil {
		t.Fatal(err)
	}
	structs := 0
	for _, name := range files {
		if strings.HasSuffix(name, "_test.go") {
			continue
		}
		set := token.NewFileSet()
		file, err := parser.ParseFile(set, name, nil, 0)
		if err != nil {
			t.Fatal(err)
		}
		ast.Inspect(file, func(n ast.Node) bool {
			if spec, is := n.(*ast.TypeSpec); is && spec.Name.Name == "Config" {
				return false
			}
			if s, is := n.(*ast.StructType); is {
				structs++
				if n := s.Fields.NumFields(); n > limit {
					t.Errorf("%s: a struct with %d fields: split it, or group what belongs together; the limit is %d", set.Position(s.Pos()), n, limit)
				}
			}
			return true
		})
	}
	if structs < 30 {
		t.Errorf("%d structs in loop: the test reads other files than those of the kernel", structs)
	}
}

// TestDependencies pins the modules that a program builds that imports only these packages. Heavy
// dependencies belong to nested modules, such as those below contrib.
func TestDependencies(t *testing.T) {
	for name, want := range map[string]string{
		"loop":      "github.com/cespare/xxhash/v2 github.com/google/jsonschema-go",
		"fake":      "go.yaml.in/yaml/v3",
		"cassettes": "github.com/andybalholm/brotli github.com/cespare/xxhash/v2 github.com/klauspost/compress",
	} {
		out, err := exec.CommandContext(t.Context(), "go", "list", "-deps", "-f", "{{with .Module}}{{.Path}}{{end}}", "./"+name).Output()
		if err != nil {
			t.Fatalf("go list ./%s: %v", name, err)
		}
		modules := slices.DeleteFunc(strings.Fields(string(out)), func(path string) bool { return path == module })
		slices.Sort(modules)
		if got := strings.Join(slices.Compact(modules), " "); got != want {
			t.Errorf("package %s depends on the modules %s, want %s", name, got, want)
		}
		if name == "cassettes" { // a client of HTTP
			continue
		}
		out, err = exec.CommandContext(t.Context(), "go", "list", "-deps", "./"+name).Output()
		if err != nil {
			t.Fatalf("go list ./%s: %v", name, err)
		}
		for pkg := range strings.FieldsSeq(string(out)) {
			if pkg == "net" || pkg == "crypto" || strings.HasPrefix(pkg, "crypto/sha") {
				t.Errorf("package %s depends on %s, which makes each program with it a few per cent larger", name, pkg)
			}
		}
	}
}
