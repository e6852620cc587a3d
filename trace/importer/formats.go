package importer

import (
	"bytes"
	"encoding/json"
	"regexp"
	"sync"

	"github.com/looptape/looptape/cassettes"
	"github.com/looptape/looptape/internal/jsonio"
	"github.com/looptape/looptape/trace"
	"github.com/looptape/looptape/trace/importer/internal/format"
	"github.com/looptape/looptape/trace/importer/internal/spans"
)

// Format describes a format of recordings. A format that one run of is a JSON value needs a
// file in internal/format and a row in the table of this package.
type Format struct {
	Name string
	// HTTP is true for recordings of HTTP; see [Source.Exchanges].
	HTTP bool
	// WholeFile is true if the whole file is held in memory. Otherwise one run is.
	WholeFile bool

	// sniff recognizes the format by the beginning of a file. It is nil if another format of
	// recordings of HTTP recognizes it.
	sniff func(*format.Head) (format.Layout, bool)
	read  func(*jsonio.Dec, *format.Run) // reads one run from a JSON value
	runs  func(*walker)                  // gives all runs; nil for runs that are JSON values
	// newest is the newest version of the head that is known; 0 means that it has no version.
	newest int
	// named returns how many runs a head requires; nil if it does not.
	named func(head map[string]json.RawMessage) int
	// records returns a reader of runs that consist of several records.
	records func() format.Records
}

// formats returns the table of formats. The first one that recognizes a file reads it. It is a
// function because the formats refer to the walker, which refers to them.
func formats() []Format {
	formatTable.Do(func() { formatTable.formats = newFormats() })
	return formatTable.formats
}

var formatTable struct {
	sync.Once
	formats []Format
}

func newFormats() []Format {
	http := func(name string, sniff func(*format.Head) bool) Format {
		f := Format{Name: name, HTTP: true, WholeFile: true, runs: (*walker).exchanges}
		if sniff != nil {
			f.sniff = func(h *format.Head) (format.Layout, bool) { return format.Layout{}, sniff(h) }
		}
		return f
	}
	records := func(name string, sniff func(*format.Head) (format.Layout, bool), reader func() format.Records) Format {
		return Format{Name: name, sniff: sniff, runs: (*walker).sessions, records: reader}
	}
	return []Format{
		http("cassette", func(h *format.Head) bool { return cassettes.IsCassette(h.Bytes) }), // or its journal
		http("httprr", func(h *format.Head) bool { return bytes.HasPrefix(h.Bytes, []byte("httprr trace ")) }),
		// A trace of package trace.
		{Name: "trace", sniff: sniffTrace, runs: (*walker).trace},
		records("codex", format.SniffCodex, format.NewCodex),
		records("codex-exec", format.SniffCodexExec, format.NewCodexExec),
		records("claude-agent-sdk", format.SniffAgentSDK, format.NewAgentSDK),
		records("claude-code", format.SniffClaudeCode, format.NewClaudeCode),
		{Name: "atif", sniff: format.SniffATIF, read: format.ATIF},
		records("langchain", format.SniffLangChain, format.NewLangChain),
		{Name: "langsmith", WholeFile: true, sniff: spans.SniffLangSmith, runs: (*walker).sessions, records: spans.NewLangSmith},
		records("managed-agents", format.SniffManagedAgents, format.NewManagedAgents),
		{Name: "inspect", newest: 3, named: format.InspectSamples, sniff: format.SniffInspect, read: format.Inspect},
		{Name: "swe-agent", sniff: format.SniffSWEAgent, read: format.SWEAgent},
		{Name: "ai-sdk", sniff: format.SniffAISDK, read: format.AISDK},
		{Name: "promptfoo", named: format.PromptfooResults, sniff: format.SniffPromptfoo, read: format.Promptfoo},
		{Name: "adk-set", sniff: format.SniffADKSet, read: format.ADKCase},
		{Name: "adk-result", sniff: format.SniffADKResult, read: format.ADKResult},
		{Name: "adk-session", sniff: format.SniffADKSession, read: format.ADKSession},
		{Name: "langfuse", sniff: spans.SniffLangfuse, read: spans.Langfuse},
		{Name: "langfuse-rows", WholeFile: true, sniff: spans.SniffLangfuseRows, runs: (*walker).sessions, records: spans.NewLangfuseRows},
		{Name: "otel", WholeFile: true, sniff: spans.SniffTelemetry, runs: (*walker).spans},
		// Streaming responses of a model.
		{Name: "stream", sniff: format.SniffStream, runs: (*walker).streams},
		{Name: "openinference", WholeFile: true, sniff: spans.SniffOpenInference, runs: (*walker).spans},
		{Name: "tau2-bench", sniff: format.SniffTau2, read: format.Tau2()},
		// A request to a model, or a response, in the protocol of a provider.
		{Name: "bodies", sniff: format.SniffBodies, read: format.Bodies},
		// Messages of a provider or the AI SDK: a list, or an object with a list.
		{Name: "messages", sniff: format.SniffMessages, read: format.Messages},
		// One message per line; the file is one run.
		{Name: "message-lines", sniff: format.SniffMessageLines, runs: (*walker).messageLines},
		http("har", func(h *format.Head) bool { return h.HasValue("log", "{") && h.Contains(`"entries"`, `"creator"`) }),
		http("go-vcr1", isVCR), // of go-vcr v1 and v2
		http("go-vcr2", nil),   // of go-vcr v3 and v4
		http("vcrpy", nil),     // YAML or JSON
		rowsFormat,             // see [OpenRows]
		{Name: "tau-bench", sniff: format.SniffTauBench, read: format.Messages},
	}
}

var rowsFormat = Format{Name: "rows", sniff: format.SniffRows, runs: (*walker).table}

func sniff(h *format.Head) (f Format, layout format.Layout, ok bool) {
	for _, f := range formats() {
		if f.sniff != nil {
			if layout, ok := f.sniff(h); ok {
				return f, layout, true
			}
		}
	}
	return f, layout, false
}

func sniffTrace(h *format.Head) (format.Layout, bool) {
	return format.Layout{}, h.Object && h.Format == trace.Format
}

// isVCR recognizes the YAML of go-vcr and vcrpy, and the JSON of vcrpy. Their parser
// distinguishes them.
func isVCR(h *format.Head) bool {
	// The search for a text is much faster than that for the expression.
	return bytes.Contains(h.Bytes, []byte("interactions:")) && yamlList.Match(h.Bytes) || h.HasValue("interactions", "[")
}

// yamlList matches the interactions in YAML: a list in lines of its own or in brackets.
var yamlList = regexp.MustCompile(`(?m)^interactions:[ \t]*(?:[\[#&!]|\r?$)`)
