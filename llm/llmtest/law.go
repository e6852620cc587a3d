package llmtest

// Law is something that holds for every model.
type Property string

// The laws. See Catalogue for what they say.
const (
	Order         Property = "order"
	OneEnd        Property = "end"
	ResponseContent          Property = "said"
	Chunking      Property = "chunking"
	ResponseModes Property = "delivery"
	EarlyStop         Property = "leave"
	Leaks         Property = "leak"
	Liveness      Property = "liveness"
	Cancel        Property = "cancel"
	Immutable     Property = "immutable"
	Lazy          Property = "lazy"
	Repeat        Property = "repeat"
	Concurrency   Property = "concurrency"
	Errors        Property = "error"
	Echo          Property = "echo"
	RequestContent         Property = "request"
	NoPanic       Property = "panic"
)

// Info tells of one law.
type Info struct {
	Property  Property
	What      string // what holds
	Invariant string // the invariant that it is the model's part in (see trace/check); may be empty
	Hint      string // what usually breaks it, and what to do
}

// Catalogue returns all laws. The slice is the caller's.
func Catalogue() []Info { return append([]Info(nil), catalogue[:]...) }

var catalogue = [...]Info{
	{Order,
		"A call starts before its arguments come, and they come before its end. Finish comes once in an answer that ends, and nothing is said behind it.", "",
		"A delta is passed on before its start, or the end is told before the last piece."},
	{OneEnd,
		"An error comes once, last and with a nil event; an event comes without an error; nothing comes once the range was left.", "INV-13",
		"Return after yielding an error, and as soon as yield returns false."},
	{ResponseContent,
		"The turn is what was said: text, reasoning, calls, media, usage in all parts, finish, private data.", "",
		"Something that came is not passed on, or not as it was."},
	{Chunking,
		"The turn is the same however it was cut.", "INV-10",
		"A piece is dropped, doubled, or taken for a whole."},
	{ResponseModes,
		"The turn is the same streamed and buffered.", "INV-12",
		"The reader of whole answers and the reader of streams differ. Let both make the same events."},
	{EarlyStop,
		"Who left early gets the whole answer when it asks again.", "",
		"What was left of one answer is read as the next one's."},
	{Leaks,
		"No goroutine and no connection is left when a range ends.", "INV-16",
		"Cancel the call's own context and close the response's body on every way out."},
	{Liveness,
		"An answer ends once its context has.", "INV-26",
		"Something waits without a look at the context. Make the HTTP request with it."},
	{Cancel,
		"A context that ends before the answer does is the error of the answer.", "INV-17",
		"Wrap the context's error with %w, also where the connection tells another one."},
	{Immutable,
		"A request is not changed and not kept.", "INV-06",
		"Copy what you change of a request, and keep nothing of it."},
	{Lazy,
		"Nothing is asked before the range begins.", "",
		"Ask within the function that Stream returns, not before it."},
	{Repeat,
		"The same request gets the same answer.", "",
		"Something of an answer stays in the model."},
	{Concurrency,
		"Answers that come at once are not mixed.", "",
		"State of an answer stands in the model. Let it stand in the call."},
	{Errors,
		"A failure is an *llm.APIError with the provider's status, message and wait, and whether to try again; what came before it stays.", "",
		"Make an *llm.APIError of every status and of every error within a stream, and yield what came before it."},
	{Echo,
		"What a turn said goes back as it was, where it stood, its private data included.", "INV-22",
		"The Opaque of a part, or the place of the part, is lost on the way to the request."},
	{RequestContent,
		"What a request says reaches the other side.", "",
		"The field is not written, or under another name."},
	{NoPanic,
		"A request that cannot be asked is an error.", "",
		"Return an error for what the protocol cannot say."},
}

// hint is the law's own.
func (l Property) hint() string {
	for _, i := range catalogue {
		if i.Property == l {
			return i.Hint
		}
	}
	return ""
}
