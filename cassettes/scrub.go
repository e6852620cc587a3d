package cassettes

// Scrubbed is for what was recorded without Redacted. It returns a copy without what
// Redacted takes out and without the keys and tokens that Suspects knows by their form,
// and the places where these stood; what Redact of the options takes out is not told.
// Scrubbed again, nothing is taken out.
func (o *Options) Scrubbed(x *Interaction) (clean *Interaction, taken []Suspect) {
	clean, found := o.redacted(x, true)
	for i := range found.leaves {
		l := &found.leaves[i]
		if spans := found.spans[i]; replaced(l.text, spans) == l.text {
			continue
		}
		place := l.place.String()
		taken = append(taken, Suspect{
			Request: clean.Request.Method + " " + clean.Request.URL, Part: l.part,
			Place: replaced(place, found.found.echoes(place)), What: "a secret",
		})
	}
	return clean, taken
}
