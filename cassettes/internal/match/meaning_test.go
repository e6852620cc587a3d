package match

import (
	"encoding/json"
	"mime"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"testing"
	"unicode/utf16"
	"unicode/utf8"

	"pgregory.net/rapid"

	"github.com/looptape/looptape/cassettes/recording"
)

// Two requests have the same key if and only if they are equivalent. A slow and simple
// comparison, which shares no code with the keys, decides that.
func TestKeysEquivalent(t *testing.T) {
	pairs := map[bool]int{}
	rapid.Check(t, func(t *rapid.T) {
		for range 50 {
			a, sessionA := &recording.Request{Method: "GET", URL: "http://a.b/", Header: http.Header{}}, ""
			change := rapid.SampledFrom(redraws()).Draw(t, "change")
			change(t, a, &sessionA)
			b, sessionB := &recording.Request{Method: a.Method, URL: a.URL, Header: a.Header.Clone(), Body: a.Body}, sessionA
			change(t, b, &sessionB)
			want := sessionA == sessionB && meanSame(a, b)
			if got := (Matcher{}).key(sessionA, a).Exact == (Matcher{}).key(sessionB, b).Exact; got != want {
				t.Fatalf("one key: %t, the same meaning: %t\n%q %q %q %q\n%q %q %q %q", got, want, a.Method, a.URL, a.Header, a.Body, b.Method, b.URL, b.Header, b.Body)
			}
			pairs[want]++
		}
	})
	const minShare = 50 // pairs for one of each kind
	if minPairs := (pairs[true] + pairs[false]) / minShare; pairs[true] < minPairs || pairs[false] < minPairs {
		t.Errorf("%d pairs were the same, %d were not", pairs[true], pairs[false])
	}
}

// redraws returns functions that draw one part of a request again from few values, so that
// many pairs are similar.
func redraws() []func(t *rapid.T, r *recording.Request, session *string) {
	one := func(t *rapid.T, list ...string) string { return rapid.SampledFrom(list).Draw(t, "one") }
	some := func(t *rapid.T, list ...string) string {
		return strings.Join(rapid.SliceOfN(rapid.SampledFrom(list), 0, 5).Draw(t, "some"), "")
	}
	return []func(t *rapid.T, r *recording.Request, session *string){
		func(t *rapid.T, r *recording.Request, session *string) {
			r.Method, *session = one(t, "GET", "POST"), one(t, "", "l")
			r.Header.Set("Content-Type", one(t, "application/json", "text/plain", "application/x-www-form-urlencoded", "multipart/x; boundary=X"))
			r.Body = []byte(one(t, `{"a": 1}`, `json {"a":1,}`, `{"a":1,}`, `{"a":1}`, `a=1`, `form a=1`, ``))
		},
		func(t *rapid.T, r *recording.Request, _ *string) {
			r.URL = one(t, "http://", "https://") + one(t, "a.b", "A.b", "a.b:80", "a.b:443", "a.b:") + one(t, "", "/", "/x", "/%2f", "/%2F", "/%78")
			r.Header.Set("Host", one(t, "", "a.b", "A.B", "a.b:80", "c", "C:443"))
		},
		func(t *rapid.T, r *recording.Request, _ *string) {
			r.URL = "http://a.b/" + one(t, "", "?") + some(t, "a", "b", "=", "=", "&", "1", "%", "%61", ";", "+", "%20", "%3B")
		},
		func(t *rapid.T, r *recording.Request, _ *string) {
			r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
			r.Body = []byte(some(t, "a", "b", "=", "=", "&", "1", "%", "%61", ";", "+"))
		},
		func(t *rapid.T, r *recording.Request, _ *string) {
			r.Header.Set("Content-Type", one(t, "multipart/x; boundary=X", "multipart/x; boundary=boundary"))
			r.Body = []byte(some(t, "--X", "--boundary", "--X--", "--boundary--", "\r\n", "\n", "\n", "-", "X", " "))
		},
		func(t *rapid.T, r *recording.Request, _ *string) {
			r.Body = []byte(drawEncoding(t, rapid.IntRange(0, 2).Draw(t, "depth")))
		},
	}
}

// drawEncoding draws an encoding of a small JSON value, or nearly one.
func drawEncoding(t *rapid.T, depth int) string {
	space := rapid.SampledFrom([]string{"", "\n "}).Draw(t, "space")
	text := rapid.SampledFrom([]string{`"a"`, `"\u0061"`, `"\ud800"`, `"\uD800"`, `"\udc00"`, `"\ufffd"`, "\"\ufffd\"", `"😀"`, `"\ud83d\ude00"`, `"\ud83d\\ude00"`, `"\\ud800"`, `"\ud800\ud83d\ude00"`, `"a` + "\xff" + `"`})
	number := rapid.SampledFrom([]string{"1", "1.0", "-0", "null", "true", "01", ""})
	switch kind := rapid.IntRange(0, 3).Draw(t, "kind"); {
	case kind == 0 || depth == 0:
		return space + text.Draw(t, "text")
	case kind == 1:
		return number.Draw(t, "number") + space
	case kind == 2:
		var list []string
		for range rapid.IntRange(0, 2).Draw(t, "elements") {
			list = append(list, drawEncoding(t, depth-1))
		}
		return "[" + strings.Join(list, ",") + rapid.SampledFrom([]string{"", "", "", ","}).Draw(t, "end") + "]"
	}
	var list []string
	for range rapid.IntRange(0, 3).Draw(t, "members") {
		list = append(list, text.Draw(t, "name")+space+":"+drawEncoding(t, depth-1))
	}
	return space + "{" + strings.Join(list, ",") + rapid.SampledFrom([]string{"", "", "", ","}).Draw(t, "end") + "}"
}

// meanSame reports whether two requests are equivalent.
func meanSame(a, b *recording.Request) bool {
	return a.Method == b.Method && sameURL(a.URL, b.URL) && hostAsked(a) == hostAsked(b) && sameBody(a, b)
}

func sameURL(a, b string) bool {
	x, errX := url.Parse(a)
	y, errY := url.Parse(b)
	if errX != nil || errY != nil {
		return a == b
	}
	return x.Scheme == y.Scheme && serverOf(x, x.Host) == serverOf(y, y.Host) && samePath(x, y) && sameFields(x.RawQuery, y.RawQuery)
}

// serverOf returns a host with its port.
func serverOf(u *url.URL, host string) string {
	at := &url.URL{Host: strings.ToLower(host)}
	port := at.Port()
	if port == "" {
		port = map[string]string{"http": "80", "https": "443"}[u.Scheme]
	}
	return at.Hostname() + " " + port
}

// hostAsked returns the server that the Host of a request names.
func hostAsked(r *recording.Request) string {
	u, err := url.Parse(r.URL)
	switch host := r.Header.Get("Host"); {
	case err != nil:
		return host
	case host == "":
		return serverOf(u, u.Host)
	default:
		return serverOf(u, host)
	}
}

// samePath compares two paths segment by segment, unescaped. An empty path is the root.
func samePath(x, y *url.URL) bool {
	a, b := x.EscapedPath(), y.EscapedPath()
	if a == "" {
		a = "/"
	}
	if b == "" {
		b = "/"
	}
	return len(a) == len(b) && strings.EqualFold(a, b) && x.Path == y.Path ||
		x.Path == "" && b == "/" || y.Path == "" && a == "/"
}

// sameFields compares two queries or forms: for each name the values in their order, and
// invalid parts byte for byte.
func sameFields(a, b string) bool {
	x, y := fieldsByName(a), fieldsByName(b)
	if len(x) != len(y) {
		return false
	}
	for name := range x {
		if !slices.Equal(x[name], y[name]) {
			return false
		}
	}
	return true
}

func fieldsByName(text string) map[string][]string {
	out := map[string][]string{}
	for _, pair := range strings.Split(text, "&") {
		if pair == "" {
			continue
		}
		one, err := url.ParseQuery(pair)
		if err != nil {
			name, _, _ := strings.Cut(pair, "=")
			if read, err := url.QueryUnescape(name); err == nil && !strings.Contains(pair, ";") {
				name = read
			}
			out[name] = append(out[name], "as it is: "+pair)
		}
		for name, values := range one {
			out[name] = append(out[name], strconv.FormatBool(strings.Contains(pair, "="))+values[0])
		}
	}
	return out
}

func sameBody(a, b *recording.Request) bool {
	kindA, paramsA, _ := mime.ParseMediaType(a.Header.Get("Content-Type"))
	kindB, paramsB, _ := mime.ParseMediaType(b.Header.Get("Content-Type"))
	formA, formB := kindA == "application/x-www-form-urlencoded", kindB == "application/x-www-form-urlencoded"
	partsA, partsB := paramsA["boundary"], paramsB["boundary"]
	switch {
	case formA != formB || (partsA == "") != (partsB == ""):
		return false
	case formA:
		return sameFields(string(a.Body), string(b.Body))
	case partsA != "":
		return slices.Equal(partsOf(string(a.Body), partsA), partsOf(string(b.Body), partsB))
	}
	isA, isB := json.Valid(a.Body) && utf8.Valid(a.Body), json.Valid(b.Body) && utf8.Valid(b.Body)
	if !isA || !isB {
		return isA == isB && string(a.Body) == string(b.Body)
	}
	return sameJSON(a.Body, b.Body)
}

// partsOf returns the parts of a body, and the lines between them without the boundary.
func partsOf(body, boundary string) (parts []string) {
	part := ""
	for len(body) > 0 {
		line := body
		if i := strings.Index(body, "\n"); i >= 0 {
			line = body[:i+1]
		}
		body = body[len(line):]
		bare := strings.TrimRight(line, " \t\r\n")
		if bare == "--"+boundary || bare == "--"+boundary+"--" {
			parts = append(parts, part, line[len("--"+boundary):])
			part = ""
		} else {
			part += line
		}
	}
	return append(parts, part)
}

// sameJSON compares two valid JSON texts.
func sameJSON(a, b []byte) bool {
	a, b = []byte(strings.Trim(string(a), " \t\r\n")), []byte(strings.Trim(string(b), " \t\r\n"))
	if a[0] != b[0] {
		return false
	}
	switch a[0] {
	case '[':
		var x, y []json.RawMessage
		return json.Unmarshal(a, &x) == nil && json.Unmarshal(b, &y) == nil &&
			slices.EqualFunc(x, y, func(x, y json.RawMessage) bool { return sameJSON(x, y) })
	case '{':
		x, y := membersOf(a), membersOf(b)
		return slices.EqualFunc(x, y, func(x, y oneMember) bool { return x.name == y.name && sameJSON(x.value, y.value) })
	case '"':
		return unitsOf(a) == unitsOf(b)
	}
	return string(a) == string(b)
}

// oneMember is a member of an object.
type oneMember struct {
	name  string
	value json.RawMessage
}

// membersOf returns the members of an object, sorted by name.
func membersOf(object []byte) (list []oneMember) {
	d := json.NewDecoder(strings.NewReader(string(object)))
	_, _ = d.Token() // the text is valid
	for d.More() {
		from := d.InputOffset()
		_, _ = d.Token()
		m := oneMember{name: unitsOf([]byte(strings.TrimLeft(string(object[from:d.InputOffset()]), ", \n")))}
		_ = d.Decode(&m.value)
		list = append(list, m)
	}
	slices.SortStableFunc(list, func(a, b oneMember) int { return strings.Compare(a.name, b.name) })
	return list
}

// unitsOf returns the UTF-16 units of a string in words. Each lone surrogate is one unit.
func unitsOf(text []byte) string {
	var units []uint16
	for s := string(text[1 : len(text)-1]); s != ""; {
		if strings.HasPrefix(s, `\u`) {
			n, _ := strconv.ParseUint(s[2:6], 16, 16)
			units, s = append(units, uint16(n)), s[6:]
			continue
		}
		if strings.HasPrefix(s, `\`) {
			c, _, rest, _ := strconv.UnquoteChar(strings.Replace(s, `\/`, `/`, 1), 0)
			units, s = append(units, uint16(c)), rest
			continue
		}
		c, n := utf8.DecodeRuneInString(s)
		units, s = utf16.AppendRune(units, c), s[n:]
	}
	out := ""
	for _, u := range units {
		out += strconv.Itoa(int(u)) + " "
	}
	return out
}
