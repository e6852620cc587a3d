package tape

import "fmt"

// Keys identify a redacted request.
type Keys struct {
	Exact uint64
	// Bare ignores differences between secrets. It is 0 if the request contains no secret.
	Bare uint64
	// Sent is the key of the exact bytes. It is 0 if missing.
	Sent uint64
}

const (
	bareWord = "bare"
	sentWord = "sent"
)

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
