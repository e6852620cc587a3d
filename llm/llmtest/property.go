package llmtest

// Property is a requirement that every [llm.Model] must satisfy.
type Property string

// The properties. See [Property.Description].
const (
	Order           Property = "order"
	OneEnd          Property = "end"
	ResponseContent Property = "content"
	Chunking        Property = "chunking"
	ResponseModes   Property = "response-mode"
	EarlyStop       Property = "early-stop"
	Leaks           Property = "leak"
	Liveness        Property = "liveness"
	Cancel          Property = "cancel"
	Immutable       Property = "immutable"
	Lazy            Property = "lazy"
	Repeat          Property = "repeat"
	Concurrency     Property = "concurrency"
	Errors          Property = "error"
	Echo            Property = "echo"
	RequestContent  Property = "request"
	NoPanic         Property = "panic"
)

// Properties returns all properties in a new slice.
func Properties() (all []Property) {
	for _, i := range catalog {
		all = append(all, i.property)
	}
	return all
}

// Description returns the requirement.
func (p Property) Description() string { return p.info().description }

// Invariant returns the invariant of package check that the property is a part of, or an
// empty string.
func (p Property) Invariant() string { return p.info().invariant }

// Hint returns the likely cause of a violation and a fix.
func (p Property) Hint() string { return p.info().hint }

func (p Property) info() (found info) {
	for _, i := range catalog {
		if i.property == p {
			found = i
		}
	}
	return found
}

type info struct {
	property                     Property
	description, invariant, hint string
}

var catalog = [...]info{
	{Order,
		"A call starts before its arguments, and its arguments precede its end. A complete response has one Finish, and no content follows it.", "",
		"The model sends a delta before its start, or the end before the last chunk."},
	{OneEnd,
		"An error comes once, last and with a nil event; an event comes without an error; nothing comes after the consumer stops the iteration.", "INV-13",
		"Return after yielding an error, and as soon as yield returns false."},
	{ResponseContent,
		"The response has the scripted content: text, reasoning, calls, media, all usage fields, finish reason, opaque data.", "",
		"The model drops or changes received content."},
	{Chunking,
		"The response does not depend on the chunk size.", "INV-10",
		"A chunk is dropped, duplicated, or handled as complete."},
	{ResponseModes,
		"Streaming and non-streaming responses are equal.", "INV-12",
		"The two decoders differ. Let both produce the same events."},
	{EarlyStop,
		"After the consumer stops early, the next request gets a complete response.", "",
		"The rest of a response is read as the next response."},
	{Leaks,
		"No goroutine and no connection remains after the iteration.", "INV-16",
		"Cancel the context of the call and close the response body on every return."},
	{Liveness,
		"A response ends when its context ends.", "INV-26",
		"The model waits without the context. Pass it to the HTTP request."},
	{Cancel,
		"If the context ends first, the response fails with the error of the context.", "INV-17",
		"Wrap the context's error with %w, also if the connection returns another error."},
	{Immutable,
		"The model neither changes nor keeps a request.", "INV-06",
		"Copy the parts of a request that you change, and keep no references to it."},
	{Lazy,
		"The model sends no request before the iteration begins.", "",
		"Send the request in the function that Stream returns."},
	{Repeat,
		"The same request gets the same response.", "",
		"The model keeps state of a response."},
	{Concurrency,
		"Concurrent responses are not mixed.", "",
		"The model has state of a response in a field. Use a local variable."},
	{Errors,
		"A failure is an *llm.APIError with the status, message and retry delay of the provider and with Retryable; the events before it remain.", "",
		"Return an *llm.APIError for each status and each error within a stream, after the events before it."},
	{Echo,
		"The parts of a response are sent back unchanged and in order, with their opaque data.", "INV-22",
		"The encoder drops the Opaque of a part, or changes the order of the parts."},
	{RequestContent,
		"The provider receives all fields of a request.", "",
		"The encoder omits the field or uses another name."},
	{NoPanic,
		"An invalid request is an error, not a panic.", "",
		"Return an error if the protocol cannot represent the request."},
}
