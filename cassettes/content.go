package cassettes

import (
	"cmp"
	"mime"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"github.com/looptape/looptape/internal/jsonio"
)

// content is a body as it counts in matching.
type content struct {
	form url.Values // nil if it is none
	json *tree      // nil if it is none
	text string
}

func (m matching) content(r *Request) content {
	if m.own != nil {
		return content{text: m.own(r)}
	}
	body, contentType := decode(r.Header, r.Body).plain, r.Header.Get("Content-Type")
	kind, params, _ := mime.ParseMediaType(contentType)
	if form, err := url.ParseQuery(string(body)); err == nil && kind == urlencoded {
		form = m.counting(form)
		return content{form: form, text: form.Encode()}
	}
	if params["boundary"] != "" || !jsonio.Valid(body) {
		return content{text: string(m.appendBody(nil, contentType, body))}
	}
	d := jsonio.NewDec(jsonio.View(body))
	return content{json: m.tree(&d, nil), text: string(body)}
}

// like is how much two bodies have in common, from 0 to 1.
func (c content) like(other content) float64 {
	if c.json == nil || other.json == nil {
		return alike(c.text, other.text)
	}
	var same, all float64
	pairs("", c.json, other.json, func(_ string, a, b *tree) {
		all += float64(max(a.leaves(), b.leaves()))
		if a != nil && b != nil && a.kind == 0 && b.kind == 0 {
			same += (1 + alike(a.text, b.text)) / 2
		}
	})
	if all == 0 {
		return 1
	}
	return same / all
}

// alike is how much of two texts is the same at their ends, from 0 to 1.
func alike(a, b string) float64 {
	if a == b {
		return 1
	}
	n, short := 0, min(len(a), len(b))
	for n < short && a[n] == b[n] {
		n++
	}
	for i := 1; n < short && a[len(a)-i] == b[len(b)-i]; i++ {
		n++
	}
	return float64(n) / float64(max(len(a), len(b)))
}

// tree is a value of JSON, without what does not count.
type tree struct {
	kind    byte     // { or [, or 0 of a leaf
	text    string   // as it is written; of a leaf, in its one spelling
	members []member // in the order of their names
}

// member is a member of an object, or an element of an array with its index.
type member struct {
	name  string
	value *tree
}

// tree reads the next value, to which a path leads.
func (m matching) tree(d *jsonio.Dec, path []string) *tree {
	v, from := &tree{}, d.Offset()
	add := func(name string) {
		at := append(path, name)
		if m.isVolatile(at) {
			d.Skip()
			return
		}
		v.members = append(v.members, member{name, m.tree(d, at)})
	}
	switch d.Peek() {
	case '{':
		v.kind = '{'
		d.Object()
		for first := true; ; {
			name, ok := d.Key(&first)
			if !ok {
				break
			}
			add(name)
		}
		slices.SortStableFunc(v.members, v.order)
	case '[':
		v.kind = '['
		d.Array()
		for first, n := true, 0; d.More(&first); n++ {
			add(strconv.Itoa(n))
		}
	case '"':
		v.text = string(jsonio.AppendString(nil, d.String()))
		return v
	default:
		d.Skip()
	}
	v.text = d.Since(from)
	return v
}

// order is that of the members: of an array, that of the numbers.
func (v *tree) order(a, b member) int {
	if v.kind == '[' {
		return cmp.Or(len(a.name)-len(b.name), strings.Compare(a.name, b.name))
	}
	return strings.Compare(a.name, b.name)
}

// member is the first member of a name, or nil.
func (v *tree) member(name string) *tree {
	for _, x := range v.members {
		if x.name == name {
			return x.value
		}
	}
	return nil
}

// leaves is how many there are in a value, at least one, or none in no value.
func (v *tree) leaves() (n int) {
	if v == nil {
		return 0
	}
	for _, x := range v.members {
		n += x.value.leaves()
	}
	return max(n, 1)
}

// spaced is a value on one line, or nothing of no value.
func (v *tree) spaced() string {
	if v == nil {
		return ""
	}
	return string(appendSpaced(nil, v.text, true))
}

// pairs calls f for what two values have at the same place, which begins with a path:
// for leaves, values of two kinds, and what only one of them has, the other one being
// nil.
func pairs(path string, a, b *tree, f func(path string, a, b *tree)) {
	if a == nil || b == nil || a.kind != b.kind || a.kind == 0 {
		f(path, a, b)
		return
	}
	left, right := a.members, b.members
	for len(left) > 0 || len(right) > 0 {
		var x, y *tree
		var name string
		order := len(right) - len(left)
		if len(left) > 0 && len(right) > 0 {
			order = a.order(left[0], right[0])
		}
		if order <= 0 {
			name, x, left = left[0].name, left[0].value, left[1:]
		}
		if order >= 0 {
			name, y, right = right[0].name, right[0].value, right[1:]
		}
		pairs(path+"/"+pointerWord.Replace(name), x, y, f)
	}
}

// pointerWord writes a name as RFC 6901 has it in a pointer.
var pointerWord = strings.NewReplacer("~", "~0", "/", "~1")
