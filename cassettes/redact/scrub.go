package redact

import (
	"maps"
	"slices"

	"github.com/looptape/looptape/cassettes/recording"
)

// Scrubbed redacts an interaction that was recorded without redaction. It also removes keys
// and tokens of known shapes. It returns the places of removed secrets, except those that
// Redact removed. A second call removes nothing.
func (o *Rules) Scrubbed(x *recording.Interaction) (clean *recording.Interaction, taken []SuspectedSecret) {
	clean, found := o.redacted(x, true, &secrets{})
	for i := range found.leaves {
		l := &found.leaves[i]
		if spans := found.spans[i]; replaced(l.text, spans) == l.text {
			continue
		}
		place := l.place.String()
		taken = append(taken, SuspectedSecret{
			Request: clean.Request.Method + " " + clean.Request.URL, Part: l.part.String(),
			Place: replaced(place, found.found.occurrences(place, false)), What: "a secret",
		})
	}
	return clean, taken
}

// ScrubbedMetadata is [Rules.Scrubbed] for the metadata of a cassette: the recorder and the
// URLs of the servers.
func (o *Rules) ScrubbedMetadata(h recording.Metadata) (clean recording.Metadata, taken []SuspectedSecret) {
	names := slices.Sorted(maps.Keys(h.Upstreams))
	r := &redaction{leaves: []leaf{{place: place{part: sideMetadata, kind: kindRecorder}, text: h.Recorder}}, spans: map[int][]span{}, before: &secrets{}}
	for _, name := range names {
		r.leaves = append(r.leaves, leaf{place: place{part: sideMetadata, kind: kindURL, name: name}, text: h.Upstreams[name]})
	}
	r.find(o, true)
	clean = h
	clean.Upstreams = maps.Clone(h.Upstreams)
	for i := range r.leaves {
		l := &r.leaves[i]
		text := replaced(l.text, r.spans[i])
		switch {
		case text == l.text:
			continue
		case i == 0:
			clean.Recorder = text
		default:
			clean.Upstreams[l.name] = text
		}
		taken = append(taken, SuspectedSecret{Part: l.part.String(), Place: l.place.String(), What: "a secret"})
	}
	return clean, taken
}
