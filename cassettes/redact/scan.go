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

// Suspect is a place in an interaction where something looks like a secret. It does not
// hold the secret.
type SuspectedSecret struct {
	// Interaction is its number in the order of the requests, from 1; 0 if it is not
	// known.
	Interaction int
	// Request is the method and the URL, without what looks like a secret in it.
	Request string
	// Part is request or response.
	Part string
	// Place is where it stands there: "header X-Tenant", or "event 12 /choices/0/text".
	Place string
	// What says what it looks like.
	What string
	// Begins is how it begins, four characters at most, and Length how many bytes it
	// has.
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

// SecretError says that a recording failed, since what was left of an interaction after
// its redaction looks like a secret. Nothing of the recording is left on disk, and an
// older cassette is as it was.
type SecretError struct {
	File    string
	Secrets []SuspectedSecret
}

func (e *SecretError) Error() string {
	text := e.File + ": nothing was recorded, since this looks like secrets:"
	for _, s := range e.Secrets {
		text += "\n  " + s.String()
	}
	return text + "\nName the fields that are secret in Options.Secret (--secret), and those that are not in Options.Opaque (--opaque)"
}

// Suspects returns what looks like a secret in an interaction, which should be redacted:
// keys and tokens in the forms that are known, private keys, and words of 32 characters
// or more that seem to be random. Signatures of thoughts, media, ids, hashes and the like
// are none, by their names and those of Opaque; there only what begins like a known key
// counts. A body whose Content-Encoding cannot be undone is suspect. The session, the method
// and the names of headers, which are not redacted, are looked at, too.
func (o *Rules) FindSecrets(x *recording.Interaction) []SuspectedSecret {
	return o.suspects(x, &secrets{})
}

// suspects is Suspects, and tells where secrets stand that are known.
func (o *Rules) suspects(x *recording.Interaction, known *secrets) []SuspectedSecret {
	s := scan{o: o, known: known}
	s.request = s.veiled(x.Request.Method + " " + x.Request.URL)
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
		for _, at := range known.echoes(g.text, false) {
			s.add(&leaves[g.leaves[0]].place, elsewhere+", in parts", g.text[at.from:at.to])
		}
	}
	return s.found
}

// fixed are the texts of an interaction that are not redacted.
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

// scan looks for secrets in an interaction.
type scan struct {
	o       *Rules
	known   *secrets
	request string
	found   []SuspectedSecret
}

func (s *scan) add(p *place, what, text string) {
	s.found = append(s.found, SuspectedSecret{Request: s.request, Part: p.part.String(), Place: s.veiled(p.String()), What: what, Begins: text[:min(len(text), 4)], Length: len(text)})
}

// veiled is a text without more than the beginnings of what in it looks like secrets.
func veiled(text string) string {
	var spans []span
	for _, h := range suspicious(text) {
		spans = append(spans, span{min(h.from+4, h.to), h.to, "…"})
	}
	return replaced(text, spans)
}

// elsewhere is what a secret is that a name in another place tells.
const elsewhere = "a secret that is named elsewhere"

// veiled is veiled, without what is known to be secret.
func (s *scan) veiled(text string) string {
	return veiled(replaced(text, s.known.echoes(text, false)))
}

// plain is a body without its encoding.
func (s *scan) plain(part side, h http.Header, body []byte) []byte {
	c := match.Decode(h, body)
	if c.Problem != "" {
		s.add(&place{part: part, kind: kindBody}, fmt.Sprintf("its encoding, %s, cannot be undone to look into it: %s", match.ContentEncoding(h), c.Problem), "")
	}
	return c.Plain
}

// leaf looks at a text.
func (s *scan) leaf(l *leaf) {
	for _, h := range s.o.hitsIn(l) {
		s.add(&l.place, h.what, l.text[h.from:h.to])
	}
	for _, at := range s.known.echoes(l.text, false) {
		s.add(&l.place, elsewhere, l.text[at.from:at.to])
	}
}

// hitsIn are the parts of a text that look like secrets, in an opaque one only what it
// begins with.
func (o *Rules) hitsIn(l *leaf) []hit {
	hits := suspicious(l.text)
	if len(hits) > 0 && o.isOpaque(&l.place) {
		return slices.DeleteFunc(hits, func(h hit) bool { return h.from > 0 || !h.known })
	}
	return hits
}

// group looks at what events say together, for what is in more than one of them.
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

// hitsAcross are the parts of what events say together that look like secrets.
func (o *Rules) hitsAcross(leaves []leaf, g *group) []hit {
	first := &leaves[g.leaves[0]]
	if o.isOpaque(&first.place) || strings.Repeat(first.text, len(g.leaves)) == g.text {
		return nil
	}
	return suspicious(g.text)
}
