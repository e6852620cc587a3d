package cassettes

import "github.com/looptape/looptape/cassettes/recording"

// The types of recorded HTTP. Package recording documents them.
type ( //nolint:revive // see package recording
	Interaction     = recording.Interaction
	Request         = recording.Request
	Response        = recording.Response
	Chunk           = recording.Chunk
	Termination     = recording.Termination
	Metadata        = recording.Metadata
	FormatError     = recording.FormatError
	IncompleteError = recording.IncompleteError
)

// The terminations of a [Response].
const (
	Failed    = recording.Failed
	Truncated = recording.Truncated
	Canceled  = recording.Canceled
)
