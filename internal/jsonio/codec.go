package jsonio

// Codec codes objects of type T. Decode decodes the members after [Coder.Begin]. Text and OfText are
// only for [Codec.TextOrList].
type Codec[T any] struct {
	Encode func(v T, dst []byte) []byte
	Decode func(c *Coder) T
	// Text returns the string that represents a value; empty if none does. OfText returns its value.
	Text   func(v T) string
	OfText func(text string) T
}

// Code codes the object that is the value of a member.
func (o Codec[T]) Code(c *Coder, dst Out, key string, v *T) Out {
	switch {
	case c.Encoding:
		return o.Encode(*v, dst.Key(key))
	case c.Take(key):
		c.Begin()
		*v = o.Decode(c)
		c.Advance()
	}
	return dst
}

// Pointer is Code for an object that is absent if the pointer is nil.
func (o Codec[T]) Pointer(c *Coder, dst Out, key string, v **T) Out {
	if c.Take(key) {
		*v = new(T)
	}
	if c.Encoding && *v == nil {
		return dst
	}
	return o.Code(c, dst, key, *v)
}

// List codes an array of objects. An empty array is decoded as nil.
func (o Codec[T]) List(c *Coder, dst Out, key string, v *[]T) Out {
	switch {
	case c.Encoding:
		dst = append(dst.Key(key), '[')
		for _, x := range *v {
			dst = o.Encode(x, dst.comma())
		}
		return append(dst, ']')
	case c.Take(key):
		*v = nil
		for range c.Dec.Elements() {
			c.Begin()
			*v = append(*v, o.Decode(c))
		}
		c.Advance()
	}
	return dst
}

// OptionalList is List for an array that is absent if it is empty.
func (o Codec[T]) OptionalList(c *Coder, dst Out, key string, v *[]T) Out {
	if c.Encoding && len(*v) == 0 {
		return dst
	}
	return o.List(c, dst, key, v)
}

// TextOrList is OptionalList for an array that is a string if a string represents its only element.
func (o Codec[T]) TextOrList(c *Coder, dst Out, key string, v *[]T) Out {
	switch {
	case c.Encoding && len(*v) == 1 && o.Text((*v)[0]) != "":
		text := o.Text((*v)[0])
		return c.Text(dst, key, &text)
	case c.Encoding, c.Take(key) && c.Dec.Peek() == '[':
		return o.OptionalList(c, dst, key, v)
	}
	if text, ok := c.TakeText(key); ok {
		if *v = nil; text != "" {
			*v = []T{o.OfText(text)}
		}
		c.Advance()
	}
	return dst
}

// ListOrNil is List for an array that is absent if it is nil.
func (o Codec[T]) ListOrNil(c *Coder, dst Out, key string, v *[]T) Out {
	if c.Encoding && *v == nil || !c.Encoding && c.name != key {
		return dst
	}
	if dst = o.List(c, dst, key, v); *v == nil {
		*v = []T{}
	}
	return dst
}

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
