package convert

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"reflect"
	"slices"
	"strings"
	"time"

	"go.yaml.in/yaml/v3"

	"github.com/looptape/looptape/cassettes/internal/match"
	"github.com/looptape/looptape/cassettes/internal/tape"
	"github.com/looptape/looptape/cassettes/recording"
)

// Loss is data that a format cannot represent.
type Loss struct {
	// What was omitted or changed, such as "the session".
	What string
	// Of are the numbers of the interactions, from 1. It is empty for a loss of the whole
	// recording.
	Of []int
	// Interactions is true if whole interactions were omitted: most formats have no requests without a
	// response.
	Interactions bool
}

// Write writes a recording and reports losses. It returns an error if the format cannot
// represent a request, a status or a body.
func Write(f Format, h recording.Metadata, list []*recording.Interaction) (text []byte, lost []Loss, err error) {
	i := slices.IndexFunc(formats, func(x format) bool { return x.Format == f })
	if i < 0 {
		return nil, nil, fmt.Errorf("unknown format %q: want one of %v", f, Formats())
	}
	var l ledger
	kept, numbers := l.answered(f, list)
	if text, err = formats[i].write(h, kept); err != nil {
		return nil, nil, fmt.Errorf("%s: %w", f, err)
	}
	// What does not come back is lost.
	back, err := Parse(string(f), text)
	if err != nil {
		return nil, nil, fmt.Errorf("what was written cannot be read back: %w", err)
	}
	for i, x := range kept {
		if what := l.compare(facts(x), facts(back.Interactions[i]), numbers[i]); what != "" {
			return nil, nil, fmt.Errorf("%s cannot hold the %s of interaction %d", f, what, numbers[i])
		}
	}
	l.compare(headFacts(h), headFacts(back.Metadata))
	return text, l, nil
}

type ledger []Loss

func (l *ledger) lose(what string, of ...int) {
	i := slices.IndexFunc(*l, func(x Loss) bool { return x.What == what })
	if i < 0 {
		i = len(*l)
		*l = append(*l, Loss{What: what})
	}
	(*l)[i].Of = append((*l)[i].Of, of...)
}

// answered returns the interactions that a format can represent; see [Loss].Interactions.
func (l *ledger) answered(f Format, list []*recording.Interaction) (kept []*recording.Interaction, numbers []int) {
	const what = "the request without a response"
	for i, x := range list {
		if x.Response.Status == 0 && f != Cassette && f != HAR {
			l.lose(what, i+1)
			continue
		}
		kept, numbers = append(kept, x), append(numbers, i+1)
	}
	for i := range *l {
		(*l)[i].Interactions = true
	}
	return kept, numbers
}

// compare adds the facts that differ. It returns the name of a required one.
func (l *ledger) compare(want, got []fact, of ...int) (required string) {
	for i, x := range want {
		switch {
		case reflect.DeepEqual(x, got[i]):
		case x.required:
			return x.name
		default:
			l.lose(x.name, of...)
		}
	}
	return ""
}

// fact is a value that comes back if a format can represent it. Required facts are first.
type fact struct {
	required bool
	name     string
	value    any
}

func facts(x *recording.Interaction) []fact {
	r := &x.Response
	header := x.Request.Header.Clone()
	header.Del("Host")
	header.Del("Transfer-Encoding")
	to := x.Request.URL
	if u, err := url.Parse(to); err == nil {
		to = u.String() // as Go writes it
	}
	return []fact{
		{true, "method", x.Request.Method},
		{true, "URL", tape.EscapedURL(to)},
		{true, "body of the request", string(x.Request.Body)},
		{true, "status", r.Status},
		{true, "body of the response", string(r.Body)},
		{false, "the session", x.Session},
		{false, "the encoding of the URL", to},
		{false, "the Host of the request", match.OtherHost(&x.Request)},
		{false, "whether the request declared its length", x.Request.Header.Get("Transfer-Encoding")},
		{false, "the header of the request", filled(header)},
		{false, "the trailer of the request", filled(x.Request.Trailer)},
		{false, "the reason phrase", r.StatusText()},
		{false, "the protocol", r.Proto},
		{false, "the header of the response", filled(r.Header)},
		{false, "the trailer of the response", filled(r.Trailer)},
		{false, "whether the response declared its length", r.Chunked},
		{false, "that the transport decompressed the body", r.Uncompressed},
		{false, "the time to the header", r.Wait.Round(time.Millisecond)},
		{false, "the chunks of the body and their times", append([]recording.Chunk{}, r.Chunks...)},
		{false, "how the response ended", [2]string{string(r.Termination), r.Failure}},
	}
}

func headFacts(h recording.Metadata) []fact {
	return []fact{
		{false, "when it was recorded", h.Recorded.Truncate(time.Second).UTC()},
		{false, "what recorded it", h.Recorder},
		{false, "the servers of the proxy", len(h.Upstreams)},
	}
}

func filled(h http.Header) http.Header {
	if len(h) == 0 {
		return nil
	}
	return h
}

// Rewrite returns the file with the same number of other interactions and changes nothing
// else. It returns an error if the format cannot be written or if the file contains data
// that [Parse] does not read. The error lists these data.
func (r *Recording) Rewrite(list []*recording.Interaction) ([]byte, error) {
	if r.Format == "" {
		return nil, errors.New("unsupported output format")
	}
	now, _, err := Write(r.Format, r.Metadata, list)
	if err != nil || r.Format == Cassette {
		return now, err
	}
	was, _, err := Write(r.Format, r.Metadata, r.Interactions)
	if err != nil {
		return nil, err
	}
	if r.Format == HAR {
		return now, r.checkLossless(json.Unmarshal, was, true)
	}
	if err := r.checkLossless(yaml.Unmarshal, was, false); err != nil {
		return nil, err
	}
	return r.patched(was, now, list)
}

const maxPlaces = 5 // in an error

// checkLossless returns an error if the file has data that the rewritten file lacks and, if all is
// true, the reverse.
func (r *Recording) checkLossless(unmarshal func([]byte, any) error, rewritten []byte, all bool) error {
	var src, written any
	if err := errors.Join(unmarshal(r.src, &src), unmarshal(rewritten, &written)); err != nil {
		return err
	}
	places := map[string]bool{}
	missing(places, "", src, written)
	if all {
		missing(places, "", written, src)
	}
	list := slices.Sorted(maps.Keys(places))
	if n := len(list) - maxPlaces; n > 0 {
		list = append(list[:maxPlaces], fmt.Sprintf("and %d more", n))
	}
	if len(list) > 0 {
		return fmt.Errorf("writing it as %s would change %s", r.Format, strings.Join(list, ", "))
	}
	return nil
}

// missing adds the places of different or missing values; * means each element.
func missing(places map[string]bool, path string, was, now any) {
	switch was := was.(type) {
	case map[string]any:
		for name, value := range was {
			missing(places, strings.TrimPrefix(path+"/"+name, "/"), value, member(now, name))
		}
		return
	case []any:
		if now, _ := now.([]any); len(now) == len(was) {
			for i := range was {
				missing(places, path+"/*", was[i], now[i])
			}
			return
		}
	}
	if !isNothing(was) && !reflect.DeepEqual(alone(was), alone(now)) && !sameMethod(path, was, now) {
		places[path] = true
	}
}

// sameMethod reports whether two values are a method, which is read in upper case.
func sameMethod(path string, was, now any) bool {
	a, _ := was.(string)
	b, _ := now.(string)
	return strings.HasSuffix(path, "/request/method") && strings.EqualFold(a, b)
}

// member ignores case, as header names do.
func member(object any, name string) any {
	members, _ := object.(map[string]any)
	if value, ok := members[name]; ok {
		return value
	}
	for key, value := range members {
		if strings.EqualFold(key, name) {
			return value
		}
	}
	return nil
}

func alone(value any) any {
	if list, ok := value.([]any); ok && len(list) == 1 {
		return list[0]
	}
	return value
}

// isNothing reports whether a value is equivalent to none.
func isNothing(value any) bool {
	v := reflect.ValueOf(value)
	return !v.IsValid() || v.IsZero() || (v.Kind() == reflect.Slice || v.Kind() == reflect.Map) && v.Len() == 0
}

// patched returns the YAML file with the changes between two written recordings.
func (r *Recording) patched(wasText, nowText []byte, list []*recording.Interaction) ([]byte, error) {
	var src yaml.Node
	var was, now any
	if err := errors.Join(yaml.Unmarshal(r.src, &src), yaml.Unmarshal(wasText, &was), yaml.Unmarshal(nowText, &now)); err != nil {
		return nil, err
	}
	if err := patch(src.Content[0], was, now); err != nil {
		return nil, err
	}
	out, err := r.laidOut(&src)
	if err != nil {
		return nil, err
	}
	back, err := Parse("what was written", out)
	if err != nil {
		return nil, err
	}
	var l ledger
	for i, x := range list {
		if what := l.compare(facts(x), facts(back.Interactions[i]), i+1); what != "" {
			return nil, fmt.Errorf("the %s of interaction %d cannot be changed in its %s", what, i+1, r.Format)
		}
	}
	if l != nil {
		return nil, fmt.Errorf("%s of interaction %d cannot be changed in its %s", l[0].What, l[0].Of[0], r.Format)
	}
	return out, nil
}

func (r *Recording) laidOut(doc *yaml.Node) ([]byte, error) {
	var out bytes.Buffer
	if bytes.HasPrefix(r.src, []byte("---\n")) {
		out.WriteString("---\n")
	}
	enc := yaml.NewEncoder(&out)
	if !bytes.Contains(r.src, []byte("interactions:\n    - ")) {
		enc.SetIndent(2)
	}
	if bytes.Contains(r.src, []byte("interactions:\n- ")) {
		enc.CompactSeqIndent()
	}
	if err := enc.Encode(doc); err != nil {
		return nil, err
	}
	return out.Bytes(), enc.Close()
}

func patch(n *yaml.Node, was, now any) error {
	if reflect.DeepEqual(was, now) {
		return nil
	}
	switch n.Kind {
	case yaml.MappingNode:
		for i := 0; i < len(n.Content); i += 2 {
			name := n.Content[i].Value
			if err := patch(n.Content[i+1], member(was, name), member(now, name)); err != nil {
				return err
			}
		}
	case yaml.SequenceNode:
		before, _ := was.([]any)
		after, _ := now.([]any)
		for i := range min(len(n.Content), len(before), len(after)) {
			if err := patch(n.Content[i], before[i], after[i]); err != nil {
				return err
			}
		}
	case yaml.ScalarNode:
		s, ok := alone(now).(string)
		if !ok {
			return n.Encode(now)
		}
		n.Style = 0
		n.SetString(s)
		quote(n)
	default: // an alias can represent unchanged values
	}
	return nil
}
