package jsonio

// Codec encodes v in the object that s has begun and returns it, or decodes the object and
// returns the value, of which v is the default.
type Codec[T any] func(c *Coder, s Scope, v T) T

// codecs are the values of [Register].
var codecs []any

// Register makes codecs known to [CodecOf]. Package llm calls it for package trace, which codes
// the same types within its events.
func Register(list ...any) bool {
	codecs = append(codecs, list...)
	return true
}

// CodecOf returns the registered codec of a type.
func CodecOf[T any]() Codec[T] {
	for _, x := range codecs {
		if code, ok := x.(Codec[T]); ok {
			return code
		}
	}
	panic("jsonio: no codec is registered")
}
