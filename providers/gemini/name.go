package gemini

import (
	"fmt"
	"net/url"
	"regexp"
	"strconv"
	"strings"

	"github.com/looptape/looptape/llm"
)

// Methods at the end of a path.
const (
	methodWhole  = "generateContent"
	methodStream = "streamGenerateContent"
)

// requestPath returns the path and query of a request. A model with a slash (tunedModels/x,
// publishers/google/models/x) is the whole path.
func requestPath(req *llm.Request) (path, query string, err error) {
	model := req.Model
	if model == "" {
		return "", "", fmt.Errorf("model: missing: set Request.Model")
	}
	if !strings.Contains(model, "/") {
		model = "models/" + model
	}
	parts := strings.Split(model, "/")
	for i, p := range parts {
		if p == "" || p == "." || p == ".." {
			return "", "", fmt.Errorf("model: %q is invalid in a path", req.Model)
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
	return "", "", fmt.Errorf("response_mode: %q is unknown: want %q or %q", req.ResponseMode, llm.Streaming, llm.NonStreaming)
}

func readPath(path string) (model string, mode llm.ResponseMode, err error) {
	rest, absolute := strings.CutPrefix(path, "/")
	colon := strings.LastIndexByte(rest, ':')
	if !absolute || colon < 0 {
		return "", "", fmt.Errorf("the path %q is not /models/MODEL:METHOD", path)
	}
	switch method := rest[colon+1:]; method {
	case methodStream:
	case methodWhole:
		mode = llm.NonStreaming
	default:
		return "", "", fmt.Errorf("the path %q has the unknown method %q: want %s or %s", path, method, methodWhole, methodStream)
	}
	model, err = url.PathUnescape(rest[:colon])
	if err != nil {
		return "", "", fmt.Errorf("the path %q: %w", path, err)
	}
	if name, plain := strings.CutPrefix(model, "models/"); plain && !strings.Contains(name, "/") {
		model = name
	}
	if model == "" {
		return "", "", fmt.Errorf("the path %q has no model", path)
	}
	return model, mode, nil
}

// SignsCalls reports whether a model is of generation 3 or later. These models sign calls,
// require the signatures back and accept media in results. A name that ends with -latest and
// has no number is the newest model: gemini-pro-latest is Gemini 3.1 Pro since 6 March 2026
// (gemini-cli#20588), and gemini-flash-latest became Gemini 3.5 Flash with its release.
func SignsCalls(model string) bool {
	_, version, _ := strings.Cut(model, "gemini-")
	major := version[:len(version)-len(strings.TrimLeft(version, "0123456789"))]
	if n, err := strconv.Atoi(major); err == nil {
		return n >= 3
	}
	return strings.HasSuffix(version, "-latest")
}

// functionName matches the function names that Gemini accepts.
var functionName = regexp.MustCompile(`^[a-zA-Z_][a-zA-Z0-9_.:-]{0,63}$`)

// wireName prefixes a name that begins with a digit or dash with an underscore, because Gemini
// requires a letter or underscore first. A name that already has this form gets another
// underscore, so that toolName can reverse it.
func wireName(name string) string {
	if leads(name) {
		return "_" + name
	}
	return name
}

func toolName(wire string) string {
	if strings.HasPrefix(wire, "_") && leads(wire) {
		return wire[1:]
	}
	return wire
}

// leads reports whether a name begins with a digit or a dash after any underscores.
func leads(name string) bool {
	name = strings.TrimLeft(name, "_")
	return name != "" && (name[0] == '-' || name[0] >= '0' && name[0] <= '9')
}

const noName = "unnamed"

// callName returns the name of a call for a request. Models invent names that Gemini rejects.
func callName(name string) string {
	name = wireName(name)
	switch {
	case functionName.MatchString(name):
		return name
	case name == "":
		return noName
	}
	repaired := []byte(name)
	for i, c := range repaired {
		if !functionName.Match([]byte{'_', c}) {
			repaired[i] = '_'
		}
	}
	return string(repaired[:min(len(repaired), 64)])
}
