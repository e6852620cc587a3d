package redact

import (
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"

	"github.com/looptape/looptape/cassettes/internal/match"
	"github.com/looptape/looptape/cassettes/recording"
)

// SuspectedSecret is a place that may contain a secret. It does not contain the secret.
type SuspectedSecret struct {
	// Interaction is the number of the interaction, from 1; 0 means unknown.
	Interaction int
	// Request is the method and the URL, without suspected secrets.
	Request string
	// Part is request, response or metadata.
	Part string
	// Place is the place in the part, such as "header X-Tenant" or "event 12
	// /choices/0/text".
	Place string
	// What describes the suspected secret.
	What string
	// Begins has at most the first four characters, and Length is the length in bytes.
	Begins string
	Length int
}

func (s SuspectedSecret) String() string {
	text := fmt.Sprintf("%s, %s: %s", s.Part, s.Place, s.What)
	if s.Request != "" {
		text = s.Request + ", " + text
	}
	if s.Length > 0 {
		text += fmt.Sprintf(" (%s…, %d bytes)", s.Begins, s.Length)
	}
	if s.Interaction > 0 {
		text = fmt.Sprintf("%d %s", s.Interaction, text)
	}
	return text
}

// SecretError reports that a recording failed because of suspected secrets that redaction
// left. The recording is deleted; an older cassette is unchanged.
type SecretError struct {
	File    string
	Secrets []SuspectedSecret
}

func (e *SecretError) Error() string {
	text := e.File + ": nothing was recorded because of suspected secrets:"
	for _, s := range e.Secrets {
		text += "\n  " + s.String()
	}
	return text + "\nName secret fields in Options.Secret (--secret), and other fields in Options.NotSecret (--not-secret)"
}

// FindSecrets returns the suspected secrets of a redacted interaction: keys and tokens of
// known shapes, private keys, and random words of 32 characters or more. It accepts
// signatures, media, ids and hashes by their names and by NotSecret, unless they begin like
// a known key. A body that cannot be decoded is suspected. FindSecrets also examines the
// session, the method and header names, which are not redacted.
func (o *Rules) FindSecrets(x *recording.Interaction) []SuspectedSecret {
	return o.findSecrets(x, &secrets{})
}

// findSecrets implements FindSecrets with additional known secrets.
func (o *Rules) findSecrets(x *recording.Interaction, known *secrets) []SuspectedSecret {
	s := scan{o: o, known: known}
	s.request = s.masked(x.Request.Method + " " + x.Request.URL)
	plain := *x
	plain.Request.Body = s.plain(sideRequest, x.Request.Header, x.Request.Body)
	plain.Response.Body = s.plain(sideResponse, x.Response.Header, x.Response.Body)
	leaves, _ := o.leaves(&plain)
	for _, list := range [][]leaf{fixed(x), leaves} {
		for i := range list {
			s.leaf(&list[i])
		}
	}
	for _, g := range groupsOf(leaves) {
		s.group(leaves, g)
		for _, at := range known.occurrences(g.text, false) {
			s.add(&leaves[g.leaves[0]].place, elsewhere+", in parts", g.text[at.from:at.to])
		}
	}
	return s.found
}

func fixed(x *recording.Interaction) []leaf {
	list := []leaf{
		{place: place{part: sideRequest, kind: kindSession}, text: x.Session},
		{place: place{part: sideRequest, kind: kindMethod}, text: x.Request.Method},
	}
	add := func(part side, h http.Header) {
		for _, name := range slices.Sorted(maps.Keys(h)) {
			list = append(list, leaf{place: place{part: part, kind: kindHeader}, text: name})
		}
	}
	add(sideRequest, x.Request.Header)
	add(sideRequest, x.Request.Trailer)
	add(sideResponse, x.Response.Header)
	add(sideResponse, x.Response.Trailer)
	return list
}

type scan struct {
	o       *Rules
	known   *secrets
	request string
	found   []SuspectedSecret
}

func (s *scan) add(p *place, what, text string) {
	s.found = append(s.found, SuspectedSecret{Request: s.request, Part: p.part.String(), Place: s.masked(p.String()), What: what, Begins: text[:min(len(text), 4)], Length: len(text)})
}

const elsewhere = "a secret that is named in another place"

// masked replaces known secrets, and masks suspected ones after their first characters.
func (s *scan) masked(text string) string {
	text = replaced(text, s.known.occurrences(text, false))
	var spans []span
	for _, h := range s.o.findShapes(text) {
		spans = append(spans, span{min(h.from+4, h.to), h.to, "…"})
	}
	return replaced(text, spans)
}

func (s *scan) plain(part side, h http.Header, body []byte) []byte {
	c := match.Decode(h, body)
	if c.Problem != "" {
		s.add(&place{part: part, kind: kindBody}, fmt.Sprintf("its encoding, %s, cannot be undone to look into it: %s", match.ContentEncoding(h), c.Problem), "")
	}
	return c.Plain
}

func (s *scan) leaf(l *leaf) {
	for _, h := range s.o.hitsIn(l) {
		s.add(&l.place, h.what, l.text[h.from:h.to])
	}
	for _, at := range s.known.occurrences(l.text, false) {
		s.add(&l.place, elsewhere, l.text[at.from:at.to])
	}
}

// hitsIn returns the suspected secrets in text.
func (o *Rules) hitsIn(l *leaf) []hit {
	return o.withoutOpaque(&l.place, l.text, o.findShapes(l.text))
}

// withoutOpaque returns the suspected secrets in text at a place. If the text is opaque by its name, only
// known shapes count: in a URL, in encoded text, and where a word begins, since data in base64 contains such
// shapes by chance.
func (o *Rules) withoutOpaque(p *place, text string, hits []hit) []hit {
	if len(hits) == 0 || !o.isOpaque(p) {
		return hits
	}
	url := strings.Index(text, "://")
	return slices.DeleteFunc(hits, func(h hit) bool {
		inData := h.from > 0 && wordChars[text[h.from-1]] || strings.HasSuffix(text[:h.from], ";base64,")
		return !h.known || inData && !h.encoded && (url < 0 || h.from < url)
	})
}

// group examines joined text for secrets across several events.
func (s *scan) group(leaves []leaf, g *group) {
	for _, h := range s.o.hitsAcross(leaves, g) {
		for n, end := range g.ends {
			if h.from < end {
				if h.to > end {
					s.add(&leaves[g.leaves[n]].place, h.what+", in parts", g.text[h.from:h.to])
				}
				break
			}
		}
	}
}

func (o *Rules) hitsAcross(leaves []leaf, g *group) []hit {
	first := &leaves[g.leaves[0]]
	if strings.Repeat(first.text, len(g.leaves)) == g.text {
		return nil
	}
	return o.withoutOpaque(&first.place, g.text, o.findShapes(g.text))
}

func overlaps(hits []hit, h hit) bool {
	return slices.ContainsFunc(hits, func(o hit) bool { return o.from < h.to && h.from < o.to })
}

func wordLength(text string) int {
	for i := range len(text) {
		if !wordChars[text[i]] {
			return i
		}
	}
	return len(text)
}

var wordChars = charsOf("-_+/")
