package strict

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
)

// maxCacheMarks is how many blocks of a request may have cache_control.
const maxCacheMarks = 4

// cacheMark is the cache_control of a tool, of a block or of the request.
type cacheMark struct {
	control value
	at, tag string // the position of its object, and the name that its type has in an error
	empty   bool   // the object is an empty text
	extra   bool   // the object must not have it
	tool    string // the name of a tool that is loaded later
}

// messagesCache rejects cache_control that the provider does not accept. The messages are those of
// the provider, except that about the type.
func messagesCache(body object) *Error {
	marks := slices.Concat(
		cacheMarks("tools", body.get("tools")), cacheMarks("system", body.get("system")), cacheMarks("messages", body.get("messages")),
	)
	if control := body.get("cache_control"); control.isSet() { // the mark of the last block
		marks = append(marks, cacheMark{control: control})
	}
	short := false
	for _, m := range marks {
		control := strings.TrimPrefix(m.at+".cache_control", ".")
		ttl := cmp.Or(m.control.get("ttl"), "null")
		switch {
		case m.extra:
			return reject("", "%s.cache_control: Extra inputs are not permitted", m.at+m.tag)
		case m.tool != "":
			return reject("", "Tool '%s' cannot have both defer_loading=true and cache_control set. Tools with defer_loading cannot use prompt caching.", m.tool)
		case m.empty:
			return reject("", "%s.text: cache_control cannot be set for empty text blocks", m.at)
		case m.control.text("type") != "ephemeral":
			return reject("", "%s.type: expected 'ephemeral'", control)
		case ttl.isSet() && ttl.string() != "5m" && ttl.string() != "1h":
			return reject("", "%s.ephemeral.ttl: Input should be '5m' or '1h'", strings.TrimPrefix(m.at+m.tag+".cache_control", "."))
		case ttl.string() == "1h" && short:
			return reject("", "%s.ttl: a ttl='1h' cache_control block must not come after a ttl='5m' cache_control block. Note that blocks are processed in the following order: `tools`, `system`, `messages`.", control)
		}
		short = short || ttl.string() != "1h"
	}
	if len(marks) > maxCacheMarks {
		return reject("", "A maximum of %d blocks with cache_control may be provided. Found %d.", maxCacheMarks, len(marks))
	}
	return nil
}

// cacheMarks returns the marks of a list at a position, in order. Those within a block precede its
// own.
func cacheMarks(at string, list value) (marks []cacheMark) {
	for i, v := range list.elements() {
		o := v.object()
		if content := o.get("content"); content.is('[') {
			marks = append(marks, cacheMarks(fmt.Sprintf("%s.%d.content", at, i), content)...)
		}
		control := o.get("cache_control")
		if !control.isSet() {
			continue
		}
		m := cacheMark{control: control, at: fmt.Sprintf("%s.%d", at, i), empty: o.text("type") == "text" && o.text("text") == ""}
		switch at {
		case "system":
		case "tools":
			m.tag = "." + cmp.Or(o.text("type"), "custom")
			if o.get("defer_loading") == "true" {
				m.tool = o.text("name")
			}
		case "messages": // marks are on blocks only
			m.extra = true
		default:
			m.tag, m.extra = "."+o.text("type"), isThought(o.text("type"))
		}
		marks = append(marks, m)
	}
	return marks
}
