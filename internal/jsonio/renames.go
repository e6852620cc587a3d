package jsonio

import "strings"

// Renames maps the names that members had in version 1 of a format to their
// names in later versions.
type Renames map[string]string

// Name returns the current name of the member that is called key in the text of
// d. A string of version 2 or later has current names only. A text of unknown
// version in which Name finds an earlier name has version 1 from there on.
func (r Renames) Name(d *Dec, key string) string {
	if d.Version > 1 {
		return key
	}
	return r.earlier(d, key)
}

func (r Renames) earlier(d *Dec, key string) string {
	name, encoded := strings.CutSuffix(key, b64Suffix)
	now, ok := r[name]
	if !ok {
		return key
	}
	d.Version = 1
	if encoded {
		return now + b64Suffix
	}
	return now
}

// b64Suffix ends the name of a member whose value is base64; see [AppendText].
const b64Suffix = "_b64"
