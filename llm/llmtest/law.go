package llmtest

// Law is something that holds for every model.
type Law string

// The laws. Those with an id of the invariants (see trace/check) are the model's
// part in them.
const (
	// Order: a call starts before its arguments come, and they come before its
	// end; nothing is said behind Finish, which comes once in an answer that ends.
	Order Law = "order"
	// OneEnd: an error comes once, last and with a nil event, an event comes
	// without an error, and nothing comes when the range has ended.
	OneEnd Law = "end"
	// Said: the turn is what was said.
	Said Law = "said"
	// Chunking (INV-10): the turn is the same however it was cut.
	Chunking Law = "chunking"
	// Deliveries (INV-12): the turn is the same streamed and buffered.
	Deliveries Law = "delivery"
	// Leave: who left early gets the whole answer when it asks again.
	Leave Law = "leave"
	// Leaks (INV-16): no goroutine and no connection is left when the range ends.
	Leaks Law = "leak"
	// Liveness (INV-26): an answer ends once its context has.
	Liveness Law = "liveness"
	// Cancel: a context that has ended before the answer is the error.
	Cancel Law = "cancel"
	// Immutable (INV-06): the request is not changed and not kept.
	Immutable Law = "immutable"
	// Lazy: nothing is asked before the range begins.
	Lazy Law = "lazy"
	// Repeat: the same request gets the same answer.
	Repeat Law = "repeat"
	// Concurrency: answers that come at once are not mixed.
	Concurrency Law = "concurrency"
	// Errors: a failure is an *llm.APIError that says what the provider said, and
	// what came before it stays.
	Errors Law = "error"
	// Echo (INV-22): what a turn said goes back as it was, where it stood.
	Echo Law = "echo"
	// Asked: what the request says reaches the other side.
	Asked Law = "request"
	// NoPanic: a request that cannot be asked is an error.
	NoPanic Law = "panic"
)

// Hint says what usually breaks the law.
func (l Law) Hint() string {
	switch l {
	case Order:
		return "A delta was passed on before its start, or the end of the stream was told before its last piece."
	case OneEnd:
		return "Return after yielding an error, and as soon as yield returns false."
	case Said:
		return "Something that came was not passed on, or not as it was."
	case Chunking:
		return "A piece was dropped, doubled, or taken for a whole."
	case Deliveries:
		return "The reader of whole answers and the reader of streams differ; let both make the same events."
	case Leave:
		return "What was left of the first answer was read as the second one's."
	case Leaks:
		return "Cancel the call's own context and close the response's body on every way out."
	case Liveness:
		return "Something waits without looking at the context: make the HTTP request with it."
	case Cancel:
		return "Wrap the context's error with %w, also where the connection tells another one."
	case Immutable:
		return "Copy what you change of a request, and keep nothing of it."
	case Lazy:
		return "Ask within the function that Stream returns, not before."
	case Repeat:
		return "Something of the first answer was kept in the model."
	case Concurrency:
		return "State of one answer stands in the model; let it stand in the call."
	case Errors:
		return "Make an *llm.APIError of every status and every error within a stream, and yield what came before it."
	case Echo:
		return "The Opaque of a part, or the part's place, was lost on the way to the request."
	case Asked:
		return "The request's field is not written, or under another name."
	case NoPanic:
		return "Return an error for what the protocol cannot say."
	}
	return ""
}
