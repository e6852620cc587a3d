package importer

import (
	"bytes"
	"encoding/json"
	"mime"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"github.com/looptape/looptape/cassettes"
	"github.com/looptape/looptape/cassettes/recording"
	"github.com/looptape/looptape/internal/jsonio"
	"github.com/looptape/looptape/providers/anthropic"
	"github.com/looptape/looptape/providers/gemini"
	"github.com/looptape/looptape/providers/openai/chat"
	"github.com/looptape/looptape/providers/openai/responses"
	"github.com/looptape/looptape/providers/protocol"
	"github.com/looptape/looptape/trace/importer/internal/body"
	"github.com/looptape/looptape/trace/importer/internal/tree"
)

// ProtocolOf returns the protocol of a request to a model by its URL, and the path for the
// codec. It accepts any base path, and the URLs of Azure, Vertex, Bedrock and Databricks. The protocol is
// nil if the path is of no known protocol. Other services have some of these paths as well;
// see [Exchange].
func ProtocolOf(address string) (p protocol.Protocol, path string) {
	u, err := url.Parse(address)
	if err != nil {
		return nil, ""
	}
	path = u.EscapedPath()
	ends := func(suffixes ...string) bool {
		return slices.ContainsFunc(suffixes, func(s string) bool { return strings.HasSuffix(path, s) })
	}
	if ends(":generateContent", ":streamGenerateContent") {
		for _, parent := range []string{"/models/", "/tunedModels/", "/endpoints/"} { // the last two for tuned models
			if i := strings.LastIndex(path, parent); i >= 0 {
				return gemini.GenerateContent{}, path[i:]
			}
		}
	}
	claude := strings.Contains(path, "anthropic") && !strings.Contains(path, "/count-tokens")
	switch {
	case ends("/chat/completions", "/agents/completions"), // the latter of Mistral
		strings.Contains(path, "/serving-endpoints/") && ends("/invocations"),             // Databricks
		strings.Contains(path, "/mistralai/") && ends(":rawPredict", ":streamRawPredict"): // Vertex
		return chat.Protocol{}, "/chat/completions"
	case ends("/responses"):
		return responses.Protocol{}, "/responses"
	case ends("/messages"),
		claude && ends(":rawPredict", ":streamRawPredict"),        // Vertex
		claude && ends("/invoke", "/invoke-with-response-stream"): // Bedrock
		return anthropic.Messages{}, "/v1/messages"
	}
	return nil, ""
}

// hasPrompt reports whether the body of a request may have one of the protocol: a JSON object needs
// a member of which each request of the protocol has one.
func hasPrompt(p protocol.Protocol, body []byte) bool {
	d := jsonio.NewDec(jsonio.View(body))
	if d.Peek() != '{' {
		return true
	}
	for key := range d.Members() {
		if slices.Contains(promptMembers[p.Name()], key) {
			return true
		}
		d.Skip()
	}
	return d.Err() != nil
}

// isOtherService reports whether a request without a prompt is one of a service that has a path of a
// protocol as well: the path is not that of a provider alone, and neither the request nor the response
// is one of a model.
func isOtherService(x *recording.Interaction, text []byte) bool {
	u, err := url.Parse(x.Request.URL)
	if err != nil || isOtherEndpoint(u.Path) {
		return true
	}
	shared := slices.ContainsFunc([]string{"/responses", "/messages", "/completions", "/api/chat", "/invocations"}, func(end string) bool { return strings.HasSuffix(u.Path, end) })
	provider := slices.ContainsFunc([]string{"openai", "anthropic", "bedrock"}, func(name string) bool { return strings.Contains(u.Host+u.Path, name) })
	if !shared || strings.HasSuffix(u.Path, "/chat/completions") || provider || tree.Member(text, "model") != nil {
		return false
	}
	answer, err := cassettes.Decompress(x.Response.Header, x.Response.Body)
	return err == nil && body.Name(answer) == "" && !slices.ContainsFunc(bytes.Split(answer, []byte("\n")), isModelEvent)
}

// storesMessages reports whether a request with a path and a list of messages as Anthropic has them is one of another
// service, such as a memory of conversations: it names no model, and the response is a whole one of another kind.
func storesMessages(x *recording.Interaction, text []byte) bool {
	u, err := url.Parse(x.Request.URL)
	if err != nil || !strings.HasSuffix(u.Path, "/messages") || strings.Contains(u.Host+u.Path, "anthropic") || tree.Member(text, "model") != nil {
		return false
	}
	answer, err := cassettes.Decompress(x.Response.Header, x.Response.Body)
	return err == nil && x.Response.Termination == "" && x.Response.Status < http.StatusBadRequest && jsonio.ValidSyntax(answer) && body.Name(answer) == ""
}

// isModelEvent reports whether a line of a response is an event of a model.
func isModelEvent(line []byte) bool {
	data, ok := bytes.CutPrefix(line, []byte("data:"))
	kind := tree.Scalar(data, "type")
	return ok && (body.Name(data) != "" || kind == "message_start" || strings.HasPrefix(kind, "response."))
}

// promptMembers are the members of requests, by protocol, of which each request has one.
var promptMembers = map[string][]string{
	"openai-chat":        {"messages"},
	"openai-responses":   {"input", "previous_response_id", "conversation", "prompt"},
	"anthropic-messages": {"messages"},
	"gemini":             {"contents"},
	"bedrock-converse":   {"messages"},
	"cohere-chat":        {"messages"},
	"ollama-chat":        {"messages"},
	"openai-completions": {"prompt"},
}

// otherEndpoints are the beginnings of path segments of requests with the members of a request to
// a model that produce no messages. From the API references of the providers.
var otherEndpoints = []string{
	"embed", "batch", "count_tokens", "count-tokens", "counttokens", "input_tokens", "token_counter", "tokenize", "compact", "moderation",
	"images", "image_generation", "image-generation", "image-synthesis", "text2image", "text-to-image", "audio", "speech", "video", "files", "uploads", "rerank", "fine_tuning", "fine-tuning", "vector_stores", "cachedcontents",
	"predict", "classify", "guardrail", "assistants", "threads", "evals", "traces", "ingest",
}

// Members of requests to models in unknown protocols, such as those of Titan on Bedrock, Text Generation
// Inference of Hugging Face, and llama.cpp, and of their responses; and members of requests and responses of
// models that generate no text, such as those for images, embeddings and classes.
var (
	prompts           = []string{"messages", "contents", "prompt", "input", "inputs", "inputText"}
	inputPrompts      = []string{"text", "question", "query", "instruction", "message"} // of predictions
	requestParameters = []string{"max_tokens", "max_new_tokens", "max_tokens_to_sample", "max_gen_len", "maxTokens", "n_predict", "temperature", "top_p", "tools", "tool_choice"}
	generated         = []string{"choices", "candidates", "completion", "generated_text", "generation", "generations"}

	mediaParameters = []string{"num_inference_steps", "guidance_scale", "negative_prompt", "aspect_ratio", "image_size", "num_images", "num_outputs"}
	withoutText     = []string{"images", "image", "videos", "video", "audio", "audio_url", "audio_file", "artifacts", "embedding", "embeddings", "embeddingsByType", "label", "labels", "entity_group", "entity", "token_str", "flagged", "b64_json", "image_urls", "generation_type"}
	withText        = []string{"output", "outputs", "results", "response", "reply", "answer", "text", "content", "message", "messages"}
)

// seemsModelRequest reports whether a request at an unknown path is like one to a model: it has a prompt,
// and a model, parameters of requests to models or a generated text. A run of the Assistants API is one, too,
// and so is a prediction of Replicate with a prompt. A request for an image or an embedding is not.
func seemsModelRequest(x *recording.Interaction, body []byte) bool {
	path, host := strings.ToLower(x.Request.URL), ""
	if u, err := url.Parse(x.Request.URL); err == nil {
		path, host = strings.ToLower(u.Path), u.Host
	}
	answer, unread := cassettes.Decompress(x.Response.Header, x.Response.Body) // without it, the request decides
	switch {
	case x.Request.Method != http.MethodPost:
		return false
	case strings.Contains(path, "/threads/") && strings.HasSuffix(path, "/submit_tool_outputs"),
		strings.Contains(path, "/threads/") && strings.HasSuffix(path, "/runs") && bytes.Contains(answer, []byte("thread.run")):
		return true
	}
	isStored := responsePath.MatchString(path) || strings.Contains(path, "/completions/")
	if !isStored && !isOtherEndpoint(path) && hasInBody(answer, isGenerated) {
		return true
	}
	object := json.RawMessage(bytes.TrimSpace(body))
	if !jsonio.ValidSyntax(object) || tree.First(object, mediaParameters...) != nil || isWithoutText(x.Response.Header, answer) {
		return false
	}
	if input := tree.Member(object, "input"); strings.HasSuffix(path, "/predictions") && !strings.Contains(path, "embed") && len(input) > 0 && input[0] == '{' {
		return tree.First(input, slices.Concat(prompts, inputPrompts)...) != nil && tree.First(input, mediaParameters...) == nil
	}
	if isBatch(path, object) || isPrediction(path, object, answer) {
		return true
	}
	if isOtherEndpoint(path) {
		return false
	}
	if isContinued(object, answer, x.Response.Status) {
		return true
	}
	isModel := tree.Member(object, "model") != nil || strings.Contains(path, "/model") || strings.Contains(path, "llm") || strings.HasSuffix(path, "/generate") && hasWithin(answer, maxLevels, hasReply)
	if tree.First(object, prompts...) == nil { // version 1 of Cohere has a message
		return tree.Member(object, "message") != nil && strings.HasSuffix(path, "/chat") && (isModel || strings.Contains(host, "cohere"))
	}
	first := firstElement(answer)
	return unread != nil || isModel || tree.First(object, requestParameters...) != nil || tree.First(tree.Member(object, "parameters"), requestParameters...) != nil ||
		jsonio.ValidSyntax(first) && tree.First(first, generated...) != nil
}

// mayBeModelRequest reports whether a request at an unknown path, whose body is not JSON or has an encoding that
// cannot be decoded, may be one to a model: it is JSON by its header, and neither its path nor its response is
// known to be of another service.
func mayBeModelRequest(x *recording.Interaction, text []byte, encoding error) bool {
	u, err := url.Parse(x.Request.URL)
	if x.Request.Method != http.MethodPost || err == nil && isOtherEndpoint(u.Path) {
		return false
	}
	text = bytes.TrimSpace(text)
	mediaType, _, _ := mime.ParseMediaType(x.Request.Header.Get("Content-Type"))
	if mediaType != "" && mediaType != "application/json" || encoding == nil && (!bytes.HasPrefix(text, []byte("{")) || jsonio.ValidSyntax(text)) {
		return false
	}
	answer, err := cassettes.Decompress(x.Response.Header, x.Response.Body)
	if err != nil || x.Response.Termination != "" || x.Response.Status >= http.StatusBadRequest {
		return true
	}
	if answer = bytes.TrimSpace(answer); !jsonio.ValidSyntax(answer) {
		return bytes.HasPrefix(answer, []byte("{")) || bytes.Contains(answer, []byte("data:"))
	}
	return body.Name(answer) != "" || tree.First(firstElement(answer), slices.Concat(withText, generated)...) != nil
}

// isBatch reports whether the body of a request has whole requests to a model, as a batch of Anthropic or Gemini has.
func isBatch(path string, object json.RawMessage) bool {
	if strings.HasSuffix(path, ":batchgeneratecontent") {
		return hasWithin(object, maxLevels, func(o json.RawMessage) bool { return tree.Member(o, "contents") != nil })
	}
	params := tree.Member(tree.Element(tree.Member(object, "requests"), "0"), "params")
	return tree.Member(params, "model") != nil && tree.First(params, prompts...) != nil
}

// isPrediction reports whether a request at a path of predictions, which other models have as well, is to one that
// generates text: it has a limit of tokens, or is to a model of Vertex AI with a prompt and without an image in the
// response.
func isPrediction(path string, object, answer json.RawMessage) bool {
	if strings.Contains(path, "embed") || !strings.HasSuffix(path, "predict") {
		return false
	}
	if tree.First(object, prompts...) != nil && tree.First(object, requestParameters...) != nil {
		return true
	}
	instance, parameters := tree.Element(tree.Member(object, "instances"), "0"), tree.Member(object, "parameters")
	isMedia := tree.First(parameters, vertexMedia...) != nil || tree.First(tree.Element(tree.Member(answer, "predictions"), "0"), vertexMedia...) != nil
	return strings.Contains(path, "/models/") && tree.First(instance, "prompt", "messages") != nil && tree.First(instance, "image", "video") == nil && !isMedia
}

// vertexMedia are members of requests and responses of models of Vertex AI for images, videos and music.
var vertexMedia = []string{"sampleCount", "aspectRatio", "bytesBase64Encoded", "mimeType", "gcsUri", "storageUri"}

// isWithoutText reports whether a response is known to have no text of a model: it is an image or a sound, it has images,
// embeddings or classes, also as data or results, or an output of URLs or numbers.
func isWithoutText(header http.Header, answer json.RawMessage) bool {
	if kind, _, _ := strings.Cut(header.Get("Content-Type"), "/"); slices.Contains([]string{"image", "audio", "video"}, kind) {
		return true
	}
	if answer = bytes.TrimSpace(answer); !jsonio.ValidSyntax(answer) {
		return false
	}
	answer = firstElement(answer)
	output, isOther := firstElement(tree.Member(answer, "output")), isOfOther(answer)
	for _, name := range []string{"data", "results"} {
		others := tree.Without(answer, name)
		isOther = isOther || isOfOther(firstElement(tree.Member(answer, name)), "url") && tree.First(others, slices.Concat(withText, generated)...) == nil
	}
	isURL := func(prefix string) bool { return bytes.HasPrefix(output, []byte(`"`+prefix)) }
	return isOther || isNumber(answer) || isNumber(output) || slices.ContainsFunc([]string{"https://", "http://", "data:"}, isURL)
}

// isOfOther reports whether an object has members of responses without text, or further ones, and none of those with text.
func isOfOther(object json.RawMessage, further ...string) bool {
	return tree.First(object, slices.Concat(withoutText, further)...) != nil && tree.First(object, slices.Concat(withText, generated)...) == nil
}

func isNumber(value json.RawMessage) bool {
	return len(value) > 0 && (value[0] == '-' || '0' <= value[0] && value[0] <= '9')
}

// firstElement returns the first value in lists, or the value itself.
func firstElement(value json.RawMessage) json.RawMessage {
	for {
		first := tree.Element(value, "0")
		if first == nil {
			return value
		}
		value = first
	}
}

func isOtherEndpoint(path string) bool {
	if strings.Contains(path, "embed") {
		return true
	}
	segments := strings.FieldsFunc(strings.ToLower(path), func(r rune) bool { return r == '/' || r == ':' })
	return slices.ContainsFunc(segments, func(segment string) bool {
		return slices.ContainsFunc(otherEndpoints, func(name string) bool { return strings.HasPrefix(segment, name) })
	})
}

func byPath(address string) *body.Protocol {
	u, err := url.Parse(address)
	if err != nil {
		return nil
	}
	return body.ByPath(u.Host, u.Path)
}
