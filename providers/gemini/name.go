package gemini

import (
	"fmt"
	"net/url"
	"regexp"
	"strconv"
	"strings"

	"github.com/looptape/looptape/llm"
)

// The two methods, as they stand at the end of a path.
const (
	methodWhole  = "generateContent"
	methodStream = "streamGenerateContent"
)

// requestPath returns the path and the query of a request. A model that has a
// slash in its name (tunedModels/x, publishers/google/models/x) has its whole
// path there.
func requestPath(req *llm.Request) (path, query string, err error) {
	model := req.Model
	if model == "" {
		return "", "", fmt.Errorf("model: Gemini has its name in the path; set Request.Model")
	}
	if !strings.Contains(model, "/") {
		model = "models/" + model
	}
	parts := strings.Split(model, "/")
	for i, p := range parts {
		if p == "" || p == "." || p == ".." {
			return "", "", fmt.Errorf("model: %q cannot stand in a path", req.Model)
		}
		parts[i] = url.PathEscape(p)
	}
	path = "/" + strings.Join(parts, "/") + ":"
	switch req.ResponseMode {
	case llm.Streaming:
		return path + methodStream, "alt=sse", nil
	case llm.NonStreaming:
		return path + methodWhole, "", nil
	}
	return "", "", fmt.Errorf("delivery: %q is none that is known; use %q or %q", req.ResponseMode, llm.Streaming, llm.NonStreaming)
}

// readPath reads what requestPath writes.
func readPath(path string) (model string, delivery llm.ResponseMode, err error) {
	rest, absolute := strings.CutPrefix(path, "/")
	colon := strings.LastIndexByte(rest, ':')
	if !absolute || colon < 0 {
		return "", "", fmt.Errorf("the path %q is not /models/MODEL:METHOD", path)
	}
	switch method := rest[colon+1:]; method {
	case methodStream:
	case methodWhole:
		delivery = llm.NonStreaming
	default:
		return "", "", fmt.Errorf("the path %q asks for the method %q; there are %s and %s", path, method, methodWhole, methodStream)
	}
	model, err = url.PathUnescape(rest[:colon])
	if err != nil {
		return "", "", fmt.Errorf("the path %q: %w", path, err)
	}
	if name, plain := strings.CutPrefix(model, "models/"); plain && !strings.Contains(name, "/") {
		model = name
	}
	if model == "" {
		return "", "", fmt.Errorf("the path %q names no model", path)
	}
	return model, delivery, nil
}

// SignsCalls reports whether a model is of the third generation or a later one, which
// signs its calls, wants the signatures back and takes media in a tool's result. A name
// without a number that ends with -latest is of the newest one: gemini-pro-latest has
// been Gemini 3.1 Pro since 6 March 2026 (gemini-cli#20588), and gemini-flash-latest
// Gemini 3.5 Flash since that came out.
func SignsCalls(model string) bool {
	_, version, _ := strings.Cut(model, "gemini-")
	major := version[:len(version)-len(strings.TrimLeft(version, "0123456789"))]
	if n, err := strconv.Atoi(major); err == nil {
		return n >= 3
	}
	return strings.HasSuffix(version, "-latest")
}

// functionName is what Gemini takes as the name of a function.
var functionName = regexp.MustCompile(`^[a-zA-Z_][a-zA-Z0-9_.:-]{0,63}$`)

// wireName returns the name of a tool with the letter or underscore first that
// Gemini wants. So that toolName can undo it, a name that looks as if it had got
// an underscore gets another.
func wireName(name string) string {
	if leads(name) {
		return "_" + name
	}
	return name
}

// toolName undoes wireName.
func toolName(wire string) string {
	if strings.HasPrefix(wire, "_") && leads(wire) {
		return wire[1:]
	}
	return wire
}

// leads reports whether a name begins with a digit or a dash, underscores aside.
func leads(name string) bool {
	name = strings.TrimLeft(name, "_")
	return name != "" && (name[0] == '-' || name[0] >= '0' && name[0] <= '9')
}

// noName stands for the name that a model's call lacks.
const noName = "unnamed"

// callName returns the name that a call is sent back with: models call functions
// that there are not, and by names that Gemini does not take.
func callName(name string) string {
	name = wireName(name)
	switch {
	case functionName.MatchString(name):
		return name
	case name == "":
		return noName
	}
	mended := []byte(name)
	for i, c := range mended {
		if !functionName.Match([]byte{'_', c}) {
			mended[i] = '_'
		}
	}
	return string(mended[:min(len(mended), 64)])
}
