package redact

import (
	"slices"
	"strings"
)

// Names of random values that are not secrets, in lower case without - and _.
var (
	// Signatures and encrypted reasoning.
	opaqueThoughts = []string{"signature", "thoughtsignature", "encryptedcontent", "encryptedindex", "redactedthinking"}
	// Media and other data.
	opaqueMedia = []string{"data", "b64json", "partialimageb64", "imageurl", "url", "uri", "fileuri", "filedata", "blob", "embedding"}
	// Fingerprints, cursors and padding.
	opaqueIDs = []string{
		"systemfingerprint", "etag", "hash", "digest", "sha256", "checksum", "nonce", "obfuscation", "p", "cfray", "traceparent", "tracestate", "reportto", "nel",
		"nextpagetoken", "pagetoken", "turntoken", "cursor", "after", "before", "openaiorganization", "openaiproject", "contentsecuritypolicy", "useragent", "boundary", "idempotencykey", "secwebsocketkey",
	}
)

// isOpaque reports whether the name of text allows random values.
func (o *Rules) isOpaque(p *place) bool {
	field := p.name
	if p.at != nil {
		field = p.field()
	}
	name := plainName(field)
	for _, list := range [][]string{opaqueThoughts, opaqueMedia, opaqueIDs} {
		if slices.Contains(list, name) {
			return true
		}
	}
	return isID(field) || hasName(o.NotSecret, name) || leadsTo(o.NotSecret, p)
}

// isID reports whether a name is that of an id: id, item_id, responseId, X-Request-Id.
func isID(name string) bool {
	for _, end := range []string{"id", "ids"} {
		at := len(name) - len(end)
		if at < 0 || !strings.EqualFold(name[at:], end) {
			continue
		}
		if at == 0 || name[at-1] == '_' || name[at-1] == '-' || name[at] == 'I' {
			return true
		}
	}
	return false
}
