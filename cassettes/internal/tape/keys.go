package tape

import "fmt"

// keys are what a request, which is redacted, is known by.
type Keys struct {
	Exact uint64
	// bare leaves out what tells one secret from another; it is 0 if nothing was redacted
	// in what counts.
	Bare uint64
	// sent is that of the request byte by byte, see sentKey; it is 0 if it is not told.
	Sent uint64
}

// The words before the other keys of a request in a file.
const (
	bareWord = "bare"
	sentWord = "sent"
)

// keyText is keys as they stand in a file.
func keyText(k Keys) string {
	text := fmt.Sprintf("%016x", k.Exact)
	if k.Bare != 0 {
		text += fmt.Sprintf(" %s %016x", bareWord, k.Bare)
	}
	if k.Sent != 0 {
		text += fmt.Sprintf(" %s %016x", sentWord, k.Sent)
	}
	return text
}
