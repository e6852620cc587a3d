package evals

import (
	"cmp"
	wire "encoding/binary"
	"encoding/hex"
	"encoding/json"
	"iter"
	"math"
	"slices"
	"strings"

	"github.com/looptape/looptape/internal/jsonval"
	"github.com/looptape/looptape/llm"
)

// Rows is a list of rows in a compact form: a row with one score takes some 60 bytes, a [Row] 400. The zero
// value is an empty list. Its JSON is an array. Several goroutines may read a list.
type Rows struct {
	pages   []*page
	at      []uint64 // of each row, its page and its place in the page, 32 bits each
	scratch []byte
	kinds   rowKinds // of the rows, and maybe of further ones
}

// rowKinds are sets of kinds of rows that few lists have.
type rowKinds uint8

const (
	withoutRun rowKinds = 1 << iota
	withTags
	withCluster
)

func (r *Row) kinds() (k rowKinds) {
	if r.NoRun {
		k |= withoutRun
	}
	if len(r.Tags) > 0 {
		k |= withTags
	}
	if r.Cluster != "" {
		k |= withCluster
	}
	return k
}

// page contains encoded rows. Its text never moves, so that decoded rows share it.
type page struct {
	strings.Builder

	names *texts
}

// texts are texts that many rows have, by number.
type texts struct {
	list   []string
	number map[string]int
}

func (t *texts) add(text string) int {
	n, ok := t.number[text]
	if !ok {
		n, text = len(t.list), strings.Clone(text)
		t.list, t.number[text] = append(t.list, text), n
	}
	return n
}

// NewRows returns a list of rows, which shares no memory with them.
func NewRows(rows ...Row) Rows {
	var r Rows
	for i := range rows {
		r.Add(&rows[i])
	}
	return r
}

// Len returns the number of rows.
func (r Rows) Len() int { return len(r.at) }

// At returns row i, from 0.
func (r Rows) At(i int) Row {
	row, c := Row{}, rowCodec{decodes: true}
	c.read(r, r.at[i]).row(&row)
	return row
}

// All yields the rows in their order.
func (r Rows) All() iter.Seq[Row] {
	return func(yield func(Row) bool) {
		row, c := Row{}, rowCodec{decodes: true}
		for _, at := range r.at {
			row = Row{}
			if c.read(r, at).row(&row); !yield(row) {
				return
			}
		}
	}
}

// scan is All, except that a row shares the memory of its scores with the next one.
func (r Rows) scan() iter.Seq[*Row] {
	return func(yield func(*Row) bool) {
		row, c := Row{}, rowCodec{decodes: true}
		for _, at := range r.at {
			row = Row{Scores: row.Scores[:0]}
			if c.read(r, at).row(&row); !yield(&row) {
				return
			}
		}
	}
}

// scanFor yields the rows of a kind as scan does.
func (r Rows) scanFor(k rowKinds) iter.Seq[*Row] {
	return func(yield func(*Row) bool) {
		if r.kinds&k == 0 {
			return
		}
		for row := range r.scan() {
			if row.kinds()&k != 0 && !yield(row) {
				return
			}
		}
	}
}

// MarshalJSON returns an array.
func (r Rows) MarshalJSON() ([]byte, error) { return jsonval.Line(slices.Collect(r.All())) }

// UnmarshalJSON reads an array.
func (r *Rows) UnmarshalJSON(text []byte) error {
	var list []Row
	err := json.Unmarshal(text, &list)
	*r = NewRows(list...)
	return err
}

const (
	firstPage = 1 << 10 // bytes; each page is twice as large as the one before it
	lastPage  = 1 << 16 // size of all further pages; a longer row has a page of its own
)

// Add adds a row. The list shares no memory with it.
func (r *Rows) Add(row *Row) {
	n := len(r.pages)
	c := rowCodec{out: r.scratch[:0]}
	if n > 0 {
		c.names = r.pages[n-1].names
	} else {
		c.names = &texts{number: map[string]int{}}
	}
	c.row(row)
	r.kinds |= row.kinds()
	if n == 0 || r.pages[n-1].Cap()-r.pages[n-1].Len() < len(c.out) {
		r.pages = append(r.pages, &page{names: c.names})
		r.pages[n].Grow(max(len(c.out), min(lastPage, firstPage<<min(n, 10))))
		n++
	}
	p := r.pages[n-1]
	r.at = append(r.at, uint64(n-1)<<32|uint64(p.Len()))
	p.Write(c.out)
	r.scratch = c.out
}

// addAll adds the rows of another list, and shares their memory.
func (r *Rows) addAll(more Rows) {
	r.kinds |= more.kinds
	first := uint64(len(r.pages)) << 32
	r.pages, r.at = append(r.pages, more.pages...), slices.Grow(r.at, len(more.at))
	for _, at := range more.at {
		r.at = append(r.at, at+first)
	}
}

// where returns the rows for which has is true. Both lists share memory.
func (r Rows) where(has func(*Row) bool) Rows {
	part := Rows{pages: slices.Clip(r.pages), kinds: r.kinds} // adding to one list does not change the other
	i := 0
	for row := range r.scan() {
		if has(row) {
			part.at = append(part.at, r.at[i])
		}
		i++
	}
	return part
}

// each returns the rows with a change.
func (r Rows) each(change func(*Row)) Rows {
	var changed Rows
	for row := range r.scan() {
		change(row)
		changed.Add(row)
	}
	return changed
}

// sort sorts the list.
func (r *Rows) sort() {
	if len(r.at) == 0 {
		return
	}
	common := r.caseAt(r.at[0])
	for _, at := range r.at {
		name, n := r.caseAt(at), 0
		for n < min(len(name), len(common)) && name[n] == common[n] {
			n++
		}
		common = common[:n]
	}
	type key struct{ begin, at uint64 } // begin is what follows common in the name of the case, up to 8 bytes
	keys := make([]key, len(r.at))
	for i, at := range r.at {
		var begin [8]byte
		copy(begin[:], r.caseAt(at)[len(common):])
		keys[i] = key{wire.BigEndian.Uint64(begin[:]), at}
	}
	var a, b Row
	c := rowCodec{decodes: true}
	slices.SortFunc(keys, func(x, y key) int {
		if x.begin != y.begin {
			return cmp.Compare(x.begin, y.begin)
		}
		c.read(*r, x.at).place(&a)
		c.read(*r, y.at).place(&b)
		return a.compare(&b)
	})
	for i := range keys {
		r.at[i] = keys[i].at
	}
}

// caseAt returns the case of a row, which is the first member.
func (r *Rows) caseAt(at uint64) string {
	text := r.pages[at>>32].String()[uint32(at):]
	n, size := uint64(text[0]), 1
	if n >= 0x80 {
		n, size = wire.Uvarint([]byte(text[:min(len(text), wire.MaxVarintLen64)]))
	}
	return text[size:][:n]
}

// rowCodec encodes or decodes a row: each method writes a value to out, or sets it from in.
type rowCodec struct {
	names   *texts
	decodes bool
	in      string
	at      int // how much of in was read
	out     []byte
}

// read begins a row of a list.
func (c *rowCodec) read(r Rows, at uint64) *rowCodec {
	p := r.pages[at>>32]
	c.names, c.in, c.at = p.names, p.String(), int(uint32(at))
	return c
}

// place is for what [Row.compare] compares.
func (c *rowCodec) place(r *Row) {
	c.text(&r.Case)
	integer(c, &r.Epoch)
	c.digest(&r.Digest)
	c.name(&r.File)
	integer(c, &r.Line)
	c.text(&r.Run)
}

func (c *rowCodec) row(r *Row) {
	c.place(r)
	c.name(&r.part)
	byName(c, &r.Scores, c.float)
	c.name(&r.Cluster)
	has := r.members()
	c.number(&has)
	if has&hasTexts != 0 {
		list(c, &r.Tags, c.name)
		r.NoRun = c.has(r.NoRun)
		integer(c, &r.DigestVersion)
		byName(c, &r.Errors, c.text)
		byName(c, &r.Explanations, c.text)
		byName(c, &r.Findings, func(rules *[]string) { list(c, rules, c.name) })
		byName(c, &r.Gradings, func(g *Grading) {
			list(c, &g.Responses, c.text)
			c.usage(&g.Usage)
		})
	}
	if has&hasUsage != 0 {
		c.usage(&r.Usage)
		c.float(&r.Cost)
		integer(c, &r.Latency)
	}
	if has&hasSteps != 0 {
		integer(c, &r.Steps)
	}
	if has&hasCalls != 0 {
		byName(c, &r.Calls, func(calls *Calls) {
			integer(c, &calls.N)
			integer(c, &calls.Failed)
		})
	}
}

// Members of a row that many rows do not have, so that they take no memory there.
const (
	hasTexts = 1 << iota
	hasUsage
	hasSteps
	hasCalls
)

func (r *Row) members() (has uint64) {
	if len(r.Tags)+len(r.Errors)+len(r.Explanations)+len(r.Findings)+len(r.Gradings) > 0 || r.NoRun || r.DigestVersion != 0 {
		has |= hasTexts
	}
	if r.Usage != (llm.Usage{}) || r.Cost != 0 || r.Latency != 0 {
		has |= hasUsage
	}
	if r.Steps != 0 {
		has |= hasSteps
	}
	if len(r.Calls) > 0 {
		has |= hasCalls
	}
	return has
}

func (c *rowCodec) usage(u *llm.Usage) {
	for _, n := range []*int64{&u.InputTokens, &u.OutputTokens, &u.CacheReadInputTokens, &u.CacheCreationInputTokens, &u.ReasoningOutputTokens} {
		integer(c, n)
	}
}

func (c *rowCodec) number(v *uint64) {
	if !c.decodes {
		c.out = wire.AppendUvarint(c.out, *v)
		return
	}
	*v = 0
	for shift := 0; ; shift += 7 {
		b := c.in[c.at]
		c.at++
		*v |= uint64(b&0x7f) << shift
		if b < 0x80 {
			return
		}
	}
}

// integer encodes small absolute values in few bytes.
func integer[T ~int | ~int64](c *rowCodec, v *T) {
	n := uint64(*v)<<1 ^ uint64(*v>>63)
	c.number(&n)
	*v = T(n>>1) ^ -T(n&1)
}

func (c *rowCodec) float(v *float64) {
	const size = 8
	if !c.decodes {
		c.out = wire.LittleEndian.AppendUint64(c.out, math.Float64bits(*v))
		return
	}
	b := []byte(c.in[c.at : c.at+size])
	*v = math.Float64frombits(wire.LittleEndian.Uint64(b))
	c.at += size
}

func (c *rowCodec) has(is bool) bool {
	var n uint64
	if is {
		n = 1
	}
	c.number(&n)
	return n == 1
}

func (c *rowCodec) text(v *string) {
	n := uint64(len(*v))
	c.number(&n)
	if c.decodes {
		*v = c.in[c.at : c.at+int(n)]
		c.at += int(n)
	} else {
		c.out = append(c.out, *v...)
	}
}

// digest encodes a text of hexadecimal digits in half of its bytes.
func (c *rowCodec) digest(v *string) {
	var buf [64]byte
	text := *v
	isHex := c.has(text != "" && len(text)%2 == 0 && strings.Trim(text, "0123456789abcdef") == "")
	switch {
	case !isHex:
		c.text(v)
	case c.decodes:
		c.text(&text)
		*v = string(hex.AppendEncode(buf[:0], []byte(text)))
	default:
		raw, _ := hex.AppendDecode(buf[:0], []byte(text))
		text = string(raw)
		c.text(&text)
	}
}

// name encodes a text that many rows have.
func (c *rowCodec) name(v *string) {
	var n uint64
	if !c.decodes {
		n = uint64(c.names.add(*v))
	}
	c.number(&n)
	*v = c.names.list[n]
}

// list distinguishes nil from a list without elements.
func list[T any](c *rowCodec, v *[]T, element func(*T)) {
	n := uint64(len(*v)) + 1
	if *v == nil {
		n = 0
	}
	c.number(&n)
	switch {
	case !c.decodes:
	case n == 0:
		*v = nil
	case n > 1 && n-1 <= uint64(cap(*v)):
		*v = (*v)[:n-1]
	default:
		*v = make([]T, n-1)
	}
	for i := range *v {
		element(&(*v)[i])
	}
}

func byName[T any](c *rowCodec, v *ByName[T], value func(*T)) {
	list(c, (*[]item[T])(v), func(i *item[T]) {
		c.name(&i.Name)
		value(&i.Value)
	})
}
