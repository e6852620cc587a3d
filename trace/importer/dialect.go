package importer

import (
	"net/http"
	"net/url"
	"strings"

	"github.com/looptape/looptape/internal/jsonio"
	"github.com/looptape/looptape/providers/anthropic"
	"github.com/looptape/looptape/providers/gemini"
	"github.com/looptape/looptape/providers/openai/chat"
	"github.com/looptape/looptape/providers/openai/responses"
	"github.com/looptape/looptape/providers/protocol"
)

// ProtocolOf returns the protocol of a request to a model, and the path for its codec,
// by where the request goes: below any base path, at Azure, Vertex and Bedrock too. It is
// nil if no protocol has such a path. Other services have some of these paths as well;
// see Exchange.
func ProtocolOf(address string) (p protocol.Protocol, path string) {
	u, err := url.Parse(address)
	if err != nil {
		return nil, ""
	}
	path = u.EscapedPath()
	if i := strings.LastIndex(path, "/models/"); i >= 0 && ends(path, ":generateContent", ":streamGenerateContent") {
		return gemini.GenerateContent{}, path[i:]
	}
	claude := strings.Contains(path, "anthropic")
	switch {
	case ends(path, "/chat/completions"):
		return chat.Protocol{}, "/chat/completions"
	case ends(path, "/responses"):
		return responses.Protocol{}, "/responses"
	case ends(path, "/messages"),
		claude && ends(path, ":rawPredict", ":streamRawPredict"),        // Vertex
		claude && ends(path, "/invoke", "/invoke-with-response-stream"): // Bedrock
		return anthropic.Messages{}, "/v1/messages"
	}
	return nil, ""
}

func ends(path string, with ...string) bool {
	for _, end := range with {
		if strings.HasSuffix(path, end) {
			return true
		}
	}
	return false
}

// asks reports whether a request with this method and body may be one of the protocol:
// one with another method, or with a JSON object that lacks what each question has, is
// some other service's.
func asks(p protocol.Protocol, method string, body []byte) bool {
	if method != http.MethodPost {
		return false
	}
	d := jsonio.NewDec(string(body))
	if d.Peek() != '{' {
		return true
	}
	d.Object()
	for first := true; ; {
		key, ok := d.Key(&first)
		if !ok {
			return d.Err() != nil
		}
		if isQuestion(p.Name(), key) {
			return true
		}
		d.Skip()
	}
}

// isQuestion reports whether a member of a body holds what a protocol's questions have,
// or refers to it.
func isQuestion(name, key string) bool {
	switch name {
	case "openai-responses":
		return key == "input" || key == "previous_response_id" || key == "conversation" || key == "prompt"
	case "gemini":
		return key == "contents"
	}
	return key == "messages"
}
