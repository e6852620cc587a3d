package cassettes

import "github.com/looptape/looptape/cassettes/recording"

type (
	// Interaction is one recorded request with its response.
	Interaction = recording.Interaction
	// Request is a recorded HTTP request.
	Request = recording.Request
	// Response is a recorded HTTP response.
	Response = recording.Response
	// Chunk is one chunk of a streamed body.
	Chunk = recording.Chunk
	// Termination tells how a response ended early.
	Termination = recording.Termination
	// Metadata is the header of a cassette.
	Metadata = recording.Metadata
	// FormatError locates a fault in a cassette file.
	FormatError = recording.FormatError
	// IncompleteError reports a cassette that was not closed.
	IncompleteError = recording.IncompleteError
)

// The terminations of a [Response].
const (
	Failed    = recording.Failed
	Truncated = recording.Truncated
	Canceled  = recording.Canceled
)
