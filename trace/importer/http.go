package importer

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"iter"
	"maps"
	"net/http"
	"net/url"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/looptape/looptape/cassettes"
	"github.com/looptape/looptape/cassettes/convert"
	"github.com/looptape/looptape/cassettes/recording"
	"github.com/looptape/looptape/internal/eventstream"
	"github.com/looptape/looptape/internal/jsonio"
	"github.com/looptape/looptape/internal/ordered"
	"github.com/looptape/looptape/llm"
	"github.com/looptape/looptape/providers/openai/chat"
	"github.com/looptape/looptape/providers/openai/responses"
	"github.com/looptape/looptape/providers/protocol"
	"github.com/looptape/looptape/trace/importer/internal/body"
	"github.com/looptape/looptape/trace/importer/internal/message"
	"github.com/looptape/looptape/trace/importer/internal/tree"
)

// Exchange is a recorded HTTP request with its response.
type Exchange struct {
	Number  int    // in the recording, from 1
	Line    int    // where it begins in the file; 0 if unknown
	Session string // of the client; may be empty
	// Title is the method and the URL, without its query.
	Title string
	// Protocol is nil, like Request and Response, if the request is not to a model. If it seems to
	// be to a model, in an unknown protocol, that is an error.
	Protocol protocol.Protocol
	// Request is nil if it cannot be decoded, which is an error.
	Request *llm.Request
	// Response is nil if it is an error of the provider or ends in one, if it is not there yet, or if it
	// cannot be read as a whole. In the last case Incomplete is an [*Error] with the reason.
	Response   *llm.Response
	Incomplete error
	// Status is the status of the response; 0 if unknown.
	Status int
	// Accepted is true if the response shows that the provider accepted the request: it is not an
	// error, or has content before one.
	Accepted bool
	// Body is the body of the response, and RequestBody that of the request, without compression;
	// nil if that failed.
	Body, RequestBody []byte
	// Unknown are the parts of the request and of the response that were not understood.
	Unknown []*Error

	failed *failure
}

// failure is a response that ends in an error of the provider. A client does not send it back.
type failure struct {
	response *llm.Response // before the error
	err      *llm.APIError
}

// json returns the content and the usage before the error, and the error.
func (f *failure) json() json.RawMessage {
	out := jsonio.AppendString([]byte(`{"error":`), f.err.Error())
	out = f.response.Message().AppendJSON(append(out, `,"message":`...))
	return append(f.response.Usage.AppendJSON(append(out, `,"usage":`...)), '}')
}

// Exchanges yields the interactions of a recording of HTTP, in their order. An error is an
// [*Error] for a request to a model that cannot be decoded, with its Exchange, or for the
// missing rest of a recording that was not closed. Sources of other formats have no
// exchanges. Either Exchanges or Runs may be used, once.
func (s *Source) Exchanges() iter.Seq2[Exchange, error] {
	return func(yield func(Exchange, error) bool) {
		s.eachExchange(false, func(e *task, err error) bool { return yield(e.Exchange, err) })
	}
}

// task is an exchange that is read concurrently with others.
type task struct {
	Exchange

	from  *recording.Interaction
	err   error // of decoding
	asRun bool  // run is wanted
	run   Run   // of the exchange, if it has a request
}

// eachExchange reads the interactions on all processors, and yields them in their order.
func (s *Source) eachExchange(asRuns bool, yield func(*task, error) bool) {
	if s.http == nil {
		return
	}
	var later background
	stopped := false
	give := func(e *task) bool {
		stopped = stopped || !yield(e, s.finish(e, &later))
		return !stopped
	}
	q := ordered.New(batchSize, func(tasks iter.Seq[**task], give func(*task)) {
		for e := range tasks {
			s.start(*e)
			give(*e)
		}
	}, give)
	number := 0
	next := func() int { // gives the entries before the next interaction that cannot be read
		for number++; s.http.Unread[number] != nil && !stopped; number++ {
			wrong := s.http.Unread[number]
			e := &task{Exchange: Exchange{Number: number, Line: wrong.Line}, err: errors.Unwrap(wrong.Err)}
			if q == nil {
				give(e)
			} else {
				q.Add(0, e)
			}
		}
		return number
	}
	var all decodedSize
	for i, x := range s.http.Interactions {
		e := &task{Exchange: Exchange{Number: next(), Session: x.Session}, asRun: asRuns}
		var size int
		e.from, size, e.err = all.decode(x)
		if s.http.Lines != nil {
			e.Line = s.http.Lines[i]
		}
		if q == nil {
			s.start(e)
			give(e)
		} else {
			q.Add(size, e)
			q.Limit(maxAhead)
		}
		if stopped {
			return
		}
	}
	if next(); q != nil {
		q.Flush()
	}
	for _, e := range later.missing() {
		err := errors.New("the response is not complete, and a later one is not in the recording")
		if stopped = stopped || !yield(&task{Exchange: Exchange{Number: e.Number, Line: e.Line, Session: e.Session, Title: e.Title}}, s.exchangeError(e, err)); stopped {
			return
		}
	}
	if cut, ok := errors.AsType[*recording.IncompleteError](s.http.Incomplete); !stopped && ok && cut.TrailingBytes > 0 {
		err := fmt.Errorf("the recording was not closed: its last %d bytes are incomplete", cut.TrailingBytes)
		stopped = !yield(&task{}, s.errorAt(0, "", err))
	}
	if err := s.encodingError(); err != nil && !stopped {
		yield(&task{}, err)
	}
}

// start reads an exchange without the others.
func (s *Source) start(e *task) {
	if e.from == nil { // an entry of a HAR file that cannot be read
		return
	}
	to, _, _ := strings.Cut(e.from.Request.URL, "?") // a query may have a key
	e.Title = e.from.Request.Method + " " + to
	if e.err == nil {
		e.err = e.decode(e.from)
	}
	s.inspect(e)
}

// finish completes an exchange after the ones before it, and returns its error.
func (s *Source) finish(e *task, later *background) (err error) {
	if e.from == nil {
		return s.exchangeError(&e.Exchange, e.err)
	}
	request, response := e.Request, e.Response
	if reason := cmp.Or(e.err, later.complete(&e.Exchange, e.from)); reason != nil {
		err = s.exchangeError(&e.Exchange, reason)
	}
	if e.Request != request || e.Response != response {
		s.inspect(e)
	}
	if e.Incomplete != nil {
		e.Incomplete = s.exchangeError(&e.Exchange, fmt.Errorf("the response cannot be read as a whole: %w", e.Incomplete))
	}
	return err
}

// inspect finds what was not understood in an exchange, and makes its run.
func (s *Source) inspect(e *task) {
	if e.Request == nil {
		return
	}
	all := e.messages()
	messages := all
	if e.failed != nil {
		messages = append(messages, e.failed.response.Message())
	}
	e.Unknown = s.unknownParts(e.name(), e.Line, e.Protocol.Name(), messages)
	add := func(format string, args ...any) {
		e.Unknown = append(e.Unknown, s.exchangeError(&e.Exchange, fmt.Errorf(format, args...)))
	}
	for _, what := range body.UnreadSystem(e.Protocol.Name(), e.RequestBody) {
		add("%s", what)
	}
	for _, what := range body.UnreadRequest(e.Protocol.Name(), e.RequestBody, e.Request.Messages) {
		add("%s", what)
	}
	if e.Status < http.StatusBadRequest { // else the body is an error
		for _, what := range body.Unread(e.Protocol.Name(), e.Body, e.Response) {
			add("%s", what)
		}
	}
	if e.Response != nil && body.LacksFinishReason(e.Protocol, e.Body) {
		add("the response has no finish reason: it may not be complete")
	}
	for _, kind := range e.unknownTypes() {
		add("the request has a call of the unknown kind %q", kind)
	}
	if e.Response != nil {
		for _, ev := range e.Response.UnknownEvents {
			add("the stream has an event of the unknown kind %q", ev.Kind)
		}
	}
	if e.asRun {
		e.run = e.Exchange.run(all)
	}
}

// unknownTypes returns the unknown types of calls in a request of Chat Completions that have a function, which
// its codec reads.
func (e *Exchange) unknownTypes() (types []string) {
	if e.Protocol.Name() != (chat.Protocol{}).Name() {
		return nil
	}
	for _, m := range e.Request.Messages {
		for _, p := range m.Parts {
			call, ok := p.(llm.ToolCall)
			if !ok || call.ProviderExecuted {
				continue
			}
			if kind := message.TypeOf(call); message.UnknownKind(call) == "" && kind != "" && !slices.Contains(types, kind) {
				types = append(types, kind)
			}
		}
	}
	return types
}

func (s *Source) exchangeError(e *Exchange, err error) *Error {
	return s.errorAt(e.Line, "interaction "+strconv.Itoa(e.Number), err)
}

func (s *Source) openHTTP() error {
	src, err := s.in.all()
	if err != nil {
		return s.errorAt(0, "", err)
	}
	s.http, err = convert.Parse(s.name, src)
	if wrong, ok := errors.AsType[*recording.FormatError](err); ok && s.http == nil {
		return s.errorAt(wrong.Line, "", wrong.Err)
	}
	// The recorder names the formats that package convert cannot write.
	s.Format.Name = cmp.Or(string(s.http.Format), s.http.Metadata.Recorder)
	return nil
}

func (e *Exchange) decode(x *recording.Interaction) error {
	p, path := ProtocolOf(x.Request.URL)
	read := byPath(x.Request.URL) // a protocol that looptape only reads
	switch {
	case p != nil:
		read = nil
	case read != nil:
		p = read
	}
	text, err := cassettes.Decompress(x.Request.Header, x.Request.Body)
	if p != nil && err == nil && storesMessages(x, text) {
		p = nil
	}
	switch {
	case p == nil && mayBeModelRequest(x, text, err):
		return fmt.Errorf("the request may be to a model, but its body cannot be read: %w", cmp.Or(err, errNoJSON))
	case err != nil && p == nil:
		return nil
	case err != nil:
		e.Protocol = p
		return err
	case p != nil && x.Request.Method == http.MethodPost && hasPrompt(p, text):
	case p != nil && x.Request.Method == http.MethodPost && !isOtherService(x, text):
		e.Protocol = p
		return fmt.Errorf("the request to a model has no prompt: want a member %s", strings.Join(promptMembers[p.Name()], " or "))
	case p == nil && seemsModelRequest(x, text):
		return errors.New("the request seems to be to a model, but its protocol is unknown")
	default:
		return nil
	}
	e.Protocol = p
	e.RequestBody = text
	if err = checkBody(x.Request.Header, text); err != nil {
		return err
	}
	req, err := p.DecodeRequest(path, text)
	if err == nil {
		err = body.Complete(p, text, req)
	}
	if err != nil {
		return err
	}
	e.Request = req
	e.read(read, x)
	return nil
}

// read reads the response; read is nil for a protocol of package providers.
func (e *Exchange) read(read *body.Protocol, x *recording.Interaction) {
	var response *llm.Response
	var err error
	e.Body, err = cassettes.Decompress(x.Response.Header, x.Response.Body)
	encoding := err
	if x.Response.Termination != "" {
		err = errIncomplete
	} else if err == nil {
		err = checkBody(x.Response.Header, e.Body)
	}
	switch {
	case read == nil:
		client := &protocol.Client{Protocol: unsent{e.Protocol}, BaseURL: "http://recorded.invalid", HTTP: &http.Client{Transport: &recorded{x.Response, e.Body, err}}}
		response, err = llm.Collect(client.Stream(context.Background(), e.Request))
		err = cmp.Or(err, body.Check(e.Protocol, e.Body))
		if err == nil {
			err = body.CheckMessage(e.Protocol, e.Body, response)
		}
	case err == nil && x.Response.Status < http.StatusBadRequest:
		response, err = read.Read(e.Body)
	}
	provider, isProvider := errors.AsType[*llm.APIError](err)
	e.Status = x.Response.Status
	e.Accepted = e.Status >= http.StatusOK && e.Status < http.StatusMultipleChoices
	switch {
	case err == nil:
		if e.Response = response; response != nil {
			message.ClientCalls([]llm.Message{response.Message()})
		}
	case x.Response.Status >= http.StatusBadRequest: // an error that the provider sent
		e.Incomplete = encoding
	case isProvider && provider.Code != "":
		if response = beforeFailure(e, response); response != nil && (len(response.Parts) > 0 || response.Usage != (llm.Usage{})) {
			message.ClientCalls([]llm.Message{response.Message()})
			e.failed = &failure{response, provider}
		}
		e.Accepted = e.failed != nil
	default:
		e.Incomplete = err
	}
}

// checkBody returns an error for the text of a body that is not UTF-8.
func checkBody(h http.Header, text []byte) error {
	if strings.HasPrefix(h.Get("Content-Type"), eventstream.MediaType) {
		return nil
	}
	if wrong := checkText(text); wrong != nil {
		return fmt.Errorf("the body has the byte %#02x at offset %d, which is not UTF-8: record it again in UTF-8", wrong.value, wrong.offset)
	}
	return nil
}

// beforeFailure returns a response that failed with the items and the usage that Responses has next to
// the error, which the codec omits.
func beforeFailure(e *Exchange, got *llm.Response) *llm.Response {
	if e.Protocol.Name() != (responses.Protocol{}).Name() {
		return got
	}
	failed := json.RawMessage(e.Body)
	for line := range bytes.Lines(e.Body) {
		if data, ok := bytes.CutPrefix(line, []byte("data:")); ok && tree.Scalar(data, "type") == "response.failed" {
			failed = tree.Member(data, "response")
		}
	}
	var acc llm.Accumulator
	err := e.Protocol.DecodeResponse(tree.Without(failed, "error", "status"), func(ev llm.Event) { acc.Add(ev) })
	next := acc.Response()
	switch {
	case err != nil:
		return got
	case got != nil && len(next.Parts) < len(got.Parts):
		next.Parts = got.Parts
	}
	return next
}

// background is the exchanges of Responses whose response comes later, in answer to another request.
type background map[string]*Exchange // nil if the response is there, by the id of the response

// missing returns the exchanges whose response did not come, in their order.
func (b background) missing() []*Exchange {
	list := slices.DeleteFunc(slices.Collect(maps.Values(b)), func(e *Exchange) bool { return e == nil })
	slices.SortFunc(list, func(a, b *Exchange) int { return a.Number - b.Number })
	return list
}

var responsePath = regexp.MustCompile(`/responses/([^/]+)(/cancel)?$`)

// complete makes an exchange of a request for an earlier response, and remembers the others. It returns
// an error if the request of a response with content is not in the recording.
func (b *background) complete(e *Exchange, x *recording.Interaction) error {
	if *b == nil {
		*b = background{}
	}
	if e.Protocol != nil {
		id, status := tree.Scalar(e.Body, "id"), tree.Scalar(e.Body, "status")
		if e.Protocol.Name() == (responses.Protocol{}).Name() && e.Request != nil && (status == "queued" || status == "in_progress") {
			e.Response, e.Incomplete = nil, nil
			(*b)[id] = new(*e)
		} else if e.Response != nil {
			(*b)[e.Response.ResponseID] = nil
		}
		return nil
	}
	var id []string
	if u, err := url.Parse(x.Request.URL); err == nil { // another URL is of no response
		id = responsePath.FindStringSubmatch(u.Path)
	}
	text, err := cassettes.Decompress(x.Response.Header, x.Response.Body)
	if id == nil {
		other := tree.Scalar(text, "id")
		if _, known := (*b)[other]; !known && x.Request.Method == http.MethodGet && body.HasContent(text) { // such as a deferred completion of xAI
			return fmt.Errorf("the response %q is to a request that is not in the recording, or that looptape does not read", other)
		}
		return nil
	}
	status := tree.Scalar(text, "status")
	before, known := (*b)[id[1]]
	switch {
	case x.Response.Status >= http.StatusBadRequest, known && before == nil, status == "queued", status == "in_progress":
		return nil
	case tree.IsTrue(text, "deleted"):
		(*b)[id[1]] = nil
		return nil
	case err == nil && !known && body.Name(text) == "" && jsonio.ValidSyntax(text):
		return nil
	case !known:
		return fmt.Errorf("the response %q is to a request that is not in the recording", id[1])
	}
	e.Protocol, e.Request, e.RequestBody = responses.Protocol{}, before.Request, nil
	e.read(nil, x)
	(*b)[id[1]] = nil
	return nil
}

var errNoJSON = errors.New("the body is not valid JSON: record it again as a whole")

var errIncomplete = errors.New("the recorded response is incomplete")

func (e *Exchange) name() string { return "interaction-" + strconv.Itoa(e.Number) }

// messages returns the messages of the request, and the response as the last one.
func (e *Exchange) messages() []llm.Message {
	const others = 2 // the system prompt and the response
	messages := make([]llm.Message, 0, len(e.Request.Messages)+others)
	messages = append(append(messages, message.System(e.Request.System.Text())...), e.Request.Messages...)
	if e.Response != nil {
		messages = append(messages, e.Response.Message())
	}
	return messages
}

// unsent is a protocol that does not encode requests: that of a recorded response was sent before.
type unsent struct{ protocol.Protocol }

// EncodeRequest implements protocol.Protocol.
func (unsent) EncodeRequest(*llm.Request) (*protocol.Request, error) { return &protocol.Request{}, nil }

// recorded returns a recorded response to any request, with its decompressed body, or the error of
// that.
type recorded struct {
	recording.Response

	text []byte
	err  error
}

// RoundTrip implements http.RoundTripper.
func (r *recorded) RoundTrip(req *http.Request) (*http.Response, error) {
	text, header, err := r.text, r.Header, r.err
	if err == nil && strings.HasPrefix(header.Get("Content-Type"), eventstream.MediaType) {
		header = http.Header{"Content-Type": {"text/event-stream"}}
		text, err = body.ServerSentEvents(text)
	}
	if err != nil {
		return nil, err
	}
	return &http.Response{StatusCode: r.Status, Header: header, Request: req, Body: io.NopCloser(bytes.NewReader(text))}, nil
}

func (w *walker) exchanges() {
	w.eachExchange(true, func(e *task, err error) bool {
		switch {
		case err != nil:
			w.give(Run{}, err)
		case e.Request != nil:
			w.give(e.run, nil)
		}
		return !w.stopped
	})
}

// run returns the messages of an exchange as a run. Meta has the model and the tools of the request,
// and the id, the finish reason, the usage and the other data of the response.
func (e *Exchange) run(messages []llm.Message) Run {
	r := Run{Name: e.name(), Line: e.Line, Protocol: e.Protocol.Name(), Epoch: NoEpoch, Messages: messages, Response: e.Response != nil, Unknown: e.Unknown}
	r.Meta = map[string]json.RawMessage{}
	if e.Response != nil {
		r.Meta["finish_reason"] = jsonio.AppendString(nil, string(e.Response.FinishReason))
		r.Meta["response_id"] = jsonio.AppendString(nil, e.Response.ResponseID)
		if e.Response.Usage != (llm.Usage{}) {
			r.Meta["usage"] = e.Response.Usage.AppendJSON(nil)
		}
		for name, text := range map[string]string{"provider_finish_reason": e.Response.RawFinishReason, "finish_message": e.Response.FinishMessage} {
			if text != "" {
				r.Meta[name] = jsonio.AppendString(nil, text)
			}
		}
		for name, value := range map[string]json.RawMessage{"provider_usage": body.Usage(e.Body), "response": body.Other(e.Body)} {
			if value != nil {
				r.Meta[name] = value
			}
		}
	}
	if e.failed != nil {
		if usage := e.failed.response.Usage; usage != (llm.Usage{}) {
			r.Meta["usage"] = usage.AppendJSON(nil)
		}
		r.Meta["failed_responses"] = arrayOf(e.failed.json())
	}
	head := llm.Request{Model: e.Request.Model, Tools: e.Request.Tools}
	for name, raw := range tree.Members(head.AppendJSON(nil)) {
		if name == "model" || name == "tools" {
			r.Meta[name] = raw
		}
	}
	return r
}
