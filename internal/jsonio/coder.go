package jsonio

import (
	"encoding/base64"
	"encoding/json"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"
)

// Coder encodes or decodes objects. A codec calls the same methods for both directions, one for
// each member. A decoder first reads the members in the order of the calls, as an encoder writes
// them. It then repeats the calls for each member that has another position or an earlier name.
// It skips unknown members.
type Coder struct {
	Dec      Dec    // the input of a decoder
	Decoding bool   // false encodes
	Dst      []byte // the output of an encoder
	// Words, if set, keeps copies of the strings that [Coder.Word] decodes, so that equal strings
	// share memory and the input need not stay in memory.
	Words map[string]string
	// Other, if set, reads a member of the [Coder.Root] that the codec does not have. It reports
	// whether it did.
	Other func(name string) bool
	// Record makes [RecordList] append the encoded elements to Recorded.
	Record   bool
	Recorded []string
	// Depth counts lists of parts in lists of parts.
	Depth int

	object
}

// object is the state of the object that is coded.
type object struct {
	name    string // of the member that is read by name
	key     string // its current name, without _b64
	phase   phase
	base64  bool // the name ends in _b64
	found   bool // the codec has the member
	first   bool // no member has been read
	root    bool
	omit    bool // if it has no members
	keyFrom int  // where the object's own member begins in Dst
}

type phase byte

const (
	phaseBegun phase = iota
	phaseInOrder
	phaseByName
)

// Scope is the state of the enclosing object.
type Scope struct {
	object
	from int  // the object's offset in the input
	skip bool // the object is not the member that is read
}

// Absent reports whether the object is not the member that is coded.
func (s *Scope) Absent() bool { return s.skip }

// Root begins the outermost object.
func (c *Coder) Root() Scope {
	s := c.Element()
	c.root = true
	return s
}

// Element begins an object that is not the value of a member.
func (c *Coder) Element() Scope { return c.begin(true) }

// Object begins the object that is the value of a member.
func (c *Coder) Object(key string) Scope { return c.begin(c.Take(key)) }

// Optional is Object for a member that is absent if its object has no members.
func (c *Coder) Optional(key string) Scope {
	from := len(c.Dst)
	s := c.Object(key)
	if !s.skip {
		c.omit, c.keyFrom = true, from
	}
	return s
}

func (c *Coder) begin(ok bool) Scope {
	s := Scope{object: c.object, skip: !ok}
	switch {
	case !ok:
		return s
	case c.Decoding:
		c.Dec.Object()
	default:
		c.Dst = append(c.Dst, '{')
	}
	c.object = object{first: true}
	return s
}

// Typed begins the encoding of an object with its member type.
func (c *Coder) Typed(kind string) Scope {
	s := c.Element()
	c.Text("type", &kind)
	return s
}

// Type begins to decode an object and returns the value of its member type, which may have any
// position. [Coder.Rest] or [Coder.Next] ends the object.
func (c *Coder) Type() (kind string, s Scope) {
	s = Scope{object: c.object, from: c.Dec.Offset()}
	ahead := c.Dec
	c.object = object{first: true}
	if c.Dec.Object() && c.Dec.Member("type", &c.first) {
		return c.Dec.String(), s
	}
	for key := range ahead.Members() {
		if key == "type" {
			return ahead.String(), s
		}
		ahead.Skip()
	}
	return "", s
}

// Rest skips the members of an object that Type began and returns the whole object.
func (c *Coder) Rest(s Scope) json.RawMessage {
	for range c.Dec.MembersAfter(c.first) {
		c.Dec.Skip()
	}
	c.object = s.object
	return AppendRaw(nil, []byte(c.Dec.Since(s.from)))
}

// Next reports whether the codec has to code the members (again). When the object has ended, it
// returns to the enclosing object. V1 contains the names of members in version 1.
func (c *Coder) Next(s *Scope, v1 Renames) bool {
	switch {
	case s.skip:
		return false
	case c.phase == phaseBegun:
		c.phase = phaseInOrder
		return true
	case c.Decoding:
		return c.nextName(s, v1)
	case c.omit && c.Dst[len(c.Dst)-1] == '{':
		c.Dst = c.Dst[:c.keyFrom]
	default:
		c.Dst = append(c.Dst, '}')
	}
	c.object = s.object
	return false
}

func (c *Coder) nextName(s *Scope, v1 Renames) bool {
	if c.phase == phaseByName && !c.found && (!c.root || c.Other == nil || !c.Other(c.name)) {
		c.Dec.Skip()
	}
	name, ok := c.Dec.Key(&c.first)
	if !ok {
		c.object = s.object
		return false
	}
	c.phase, c.found, c.name = phaseByName, false, name
	if v1 != nil {
		name = v1.Name(&c.Dec, name)
	}
	c.key, c.base64 = strings.CutSuffix(name, b64Suffix)
	return true
}

// Named calls members to read the value of the member name, outside of [Coder.Next]. It reports
// whether they did.
func (c *Coder) Named(name string, members func()) (found bool) {
	outer := c.object
	c.phase, c.found, c.name = phaseByName, false, name
	c.key, c.base64 = strings.CutSuffix(name, b64Suffix)
	members()
	found = c.found
	c.object = outer
	return found
}

// First reports whether no member of the object has been read.
func (c *Coder) First() bool { return c.first }

// End returns to the enclosing object of a Root whose members were read without [Coder.Next].
func (c *Coder) End(s Scope) { c.object = s.object }

// Take begins a member. An encoder writes its name; a decoder reports whether it comes next.
func (c *Coder) Take(key string) bool {
	switch {
	case !c.Decoding:
		if c.Dst[len(c.Dst)-1] != '{' {
			c.Dst = append(c.Dst, ',')
		}
		c.Dst = append(append(append(c.Dst, '"'), key...), '"', ':')
		return true
	case c.phase != phaseByName:
		return c.Dec.Member(key, &c.first)
	case c.key != key || c.base64:
		return false
	}
	c.found = true
	return true
}

// Name encodes the name of a member, which may be any string.
func (c *Coder) Name(name string) {
	if c.Dst[len(c.Dst)-1] != '{' {
		c.Dst = append(c.Dst, ',')
	}
	c.Dst = append(AppendString(c.Dst, name), ':')
}

// Coming reports, without reading, whether a member has to be coded: in an encoder if set is true.
func (c *Coder) Coming(key string, set bool) bool {
	switch {
	case !c.Decoding:
		return set
	case c.phase != phaseByName:
		ahead, first := c.Dec, c.first
		return ahead.Member(key, &first)
	}
	return c.key == key && !c.base64
}

// Text codes a string. One that is not UTF-8 is base64; see [AppendText].
func (c *Coder) Text(key string, v *string) {
	switch {
	case !c.Decoding:
		if c.Dst[len(c.Dst)-1] != '{' {
			c.Dst = append(c.Dst, ',')
		}
		c.Dst = AppendText(c.Dst, key, *v)
	case c.phase != phaseByName:
		if c.Dec.Member(key, &c.first) {
			*v = c.Dec.String()
		}
	case c.key == key:
		c.found = true
		*v = c.Dec.Text(c.name)
	}
}

// OptionalText is Text for a member that is absent if the string is empty.
func (c *Coder) OptionalText(key string, v *string) {
	if c.Decoding || *v != "" {
		c.Text(key, v)
	}
}

// Word is Text for members of which many values are equal.
func (c *Coder) Word(key string, v *string) {
	was := *v
	if c.Text(key, v); c.Decoding && *v != was {
		*v = c.Intern(*v)
	}
}

// Intern returns the copy of s in Words.
func (c *Coder) Intern(s string) string {
	const maxWords, maxLength = 256, 64
	w, ok := c.Words[s]
	switch {
	case ok:
		return w
	case c.Words == nil || len(c.Words) == maxWords || len(s) > maxLength:
		return s
	}
	w = strings.Clone(s)
	c.Words[w] = w
	return w
}

// OptionalWord is Word for a member that is absent if the string is empty.
func (c *Coder) OptionalWord(key string, v *string) {
	if c.Decoding || *v != "" {
		c.Word(key, v)
	}
}

// Int codes an integer.
func (c *Coder) Int(key string, v *int) {
	n := int64(*v)
	if c.Int64(key, &n); c.Decoding {
		*v = int(n)
	}
}

// OptionalInt is Int for a member that is absent if the integer is 0.
func (c *Coder) OptionalInt(key string, v *int) {
	if c.Decoding || *v != 0 {
		c.Int(key, v)
	}
}

// Int64 codes an integer.
func (c *Coder) Int64(key string, v *int64) {
	switch {
	case !c.Take(key):
	case c.Decoding:
		*v = c.Dec.Int()
	default:
		c.Dst = AppendInt(c.Dst, *v)
	}
}

// OptionalInt64 is Int64 for a member that is absent if the integer is 0.
func (c *Coder) OptionalInt64(key string, v *int64) {
	if c.Decoding || *v != 0 {
		c.Int64(key, v)
	}
}

// OptionalBool codes a boolean that is absent if it is false.
func (c *Coder) OptionalBool(key string, v *bool) {
	switch {
	case !c.Decoding && !*v || !c.Take(key):
	case c.Decoding:
		*v = c.Dec.Bool()
	default:
		c.Dst = append(c.Dst, "true"...)
	}
}

// BoolPointer codes a boolean that is absent if the pointer is nil.
func (c *Coder) BoolPointer(key string, v **bool) {
	switch {
	case !c.Decoding && *v == nil || !c.Take(key):
	case c.Decoding:
		*v = new(c.Dec.Bool())
	default:
		c.Dst = strconv.AppendBool(c.Dst, **v)
	}
}

// IntPointer codes an integer that is absent if the pointer is nil.
func (c *Coder) IntPointer(key string, v **int64) {
	switch {
	case !c.Decoding && *v == nil || !c.Take(key):
	case c.Decoding:
		*v = new(c.Dec.Int())
	default:
		c.Dst = AppendInt(c.Dst, **v)
	}
}

// FloatPointer codes a number that is absent if the pointer is nil.
func (c *Coder) FloatPointer(key string, v **float64) {
	switch {
	case !c.Decoding && *v == nil || !c.Take(key):
	case c.Decoding:
		*v = new(c.Dec.Float())
	default:
		c.Dst = strconv.AppendFloat(c.Dst, **v, 'g', -1, 64)
	}
}

// Raw codes a value of any type that is absent if it is nil.
func (c *Coder) Raw(key string, v *json.RawMessage) {
	switch {
	case !c.Decoding && *v == nil || !c.Take(key):
	case c.Decoding:
		*v = json.RawMessage(c.Dec.Raw())
	default:
		c.Dst = AppendRaw(c.Dst, *v)
	}
}

// Bytes codes bytes as base64. They are absent if they are nil.
func (c *Coder) Bytes(key string, v *[]byte) {
	switch {
	case !c.Decoding && *v == nil || !c.Take(key):
	case c.Decoding:
		b, err := base64.StdEncoding.DecodeString(c.Dec.String())
		if err != nil {
			c.Dec.Fail("not base64: " + key)
		}
		*v = b
	default:
		c.Dst = append(base64.StdEncoding.AppendEncode(append(c.Dst, '"'), *v), '"')
	}
}

// OptionalTexts codes an array of strings that is absent if it is empty. A string that is not
// UTF-8 is an object {"_b64":"…"}.
func (c *Coder) OptionalTexts(key string, v *[]string) {
	if !c.Decoding && len(*v) == 0 {
		return
	}
	if c.TextsOrNil(key, v); c.Decoding && len(*v) == 0 {
		*v = nil
	}
}

// TextsOrNil is OptionalTexts for an array that is absent if it is nil.
func (c *Coder) TextsOrNil(key string, v *[]string) {
	switch {
	case !c.Decoding && *v == nil || !c.Take(key):
	case c.Decoding:
		*v = []string{}
		for range c.Dec.Elements() {
			if c.Dec.Peek() != '{' {
				*v = append(*v, c.Dec.String())
				continue
			}
			for name := range c.Dec.Members() {
				*v = append(*v, c.Dec.Text(name))
			}
		}
	default:
		c.Dst = append(c.Dst, '[')
		for i, s := range *v {
			c.comma(i)
			if utf8.ValidString(s) {
				c.Dst = AppendString(c.Dst, s)
				continue
			}
			c.Dst = append(AppendText(append(c.Dst, '{'), "", s), '}')
		}
		c.Dst = append(c.Dst, ']')
	}
}

func (c *Coder) comma(i int) {
	if i > 0 {
		c.Dst = append(c.Dst, ',')
	}
}

// OptionalTextMap codes an object of strings, sorted by name, that is absent if it is empty. A
// value that is not UTF-8 is base64, as in [AppendText].
func (c *Coder) OptionalTextMap(key string, v *map[string]string) {
	switch {
	case !c.Decoding && len(*v) == 0 || !c.Take(key):
	case c.Decoding:
		*v = map[string]string{}
		for name := range c.Dec.Members() {
			(*v)[strings.TrimSuffix(name, b64Suffix)] = c.Dec.Text(name)
		}
	default:
		c.Dst = append(c.Dst, '{')
		var buf [mapBuffer]string
		for i, name := range SortedKeys(buf[:0], *v) {
			c.comma(i)
			c.Dst = AppendNamed(c.Dst, name, (*v)[name])
		}
		c.Dst = append(c.Dst, '}')
	}
}

// OptionalRawMap codes an object of values of any type, sorted by name, that is absent if it is
// empty.
func (c *Coder) OptionalRawMap(key string, v *map[string]json.RawMessage) {
	switch {
	case !c.Decoding && len(*v) == 0 || !c.Take(key):
	case c.Decoding:
		*v = map[string]json.RawMessage{}
		for name := range c.Dec.Members() {
			(*v)[name] = json.RawMessage(c.Dec.Raw())
		}
	default:
		c.Dst = append(c.Dst, '{')
		var buf [mapBuffer]string
		for _, name := range SortedKeys(buf[:0], *v) {
			c.Name(name)
			c.Dst = AppendRaw(c.Dst, (*v)[name])
		}
		c.Dst = append(c.Dst, '}')
	}
}

// mapBuffer is how many keys of a map are sorted without an allocation.
const mapBuffer = 8

// SortedKeys appends the sorted keys of m to buf.
func SortedKeys[K ~string, V any](buf []K, m map[K]V) []K {
	for k := range m {
		buf = append(buf, k)
	}
	slices.Sort(buf)
	return buf
}

// List codes an array of objects. An empty array is decoded as nil.
func List[T any](c *Coder, key string, v *[]T, item func(Scope, *T)) {
	switch {
	case !c.Take(key):
	case c.Decoding:
		var list []T
		for range c.Dec.Elements() {
			from := c.Dec.Offset()
			var zero T
			list = append(list, zero)
			item(c.Element(), &list[len(list)-1])
			if c.Record {
				c.Recorded = append(c.Recorded, c.Dec.Since(from))
			}
		}
		*v = list
	default:
		c.Dst = append(c.Dst, '[')
		for i := range *v {
			c.comma(i)
			from := len(c.Dst)
			item(c.Element(), &(*v)[i])
			if c.Record {
				c.Recorded = append(c.Recorded, View(c.Dst[from:]))
			}
		}
		c.Dst = append(c.Dst, ']')
	}
}

// OptionalList is List for an array that is absent if it is empty.
func OptionalList[T any](c *Coder, key string, v *[]T, item func(Scope, *T)) {
	if c.Decoding || len(*v) > 0 {
		List(c, key, v, item)
	}
}

// ListOrNil is List for an array that is absent if it is nil.
func ListOrNil[T any](c *Coder, key string, v *[]T, item func(Scope, *T)) {
	if !c.Coming(key, *v != nil) {
		return
	}
	if List(c, key, v, item); *v == nil {
		*v = []T{}
	}
}
