package redact

import (
	"regexp"
	"strings"
)

// Secrets of Kubernetes (https://kubernetes.io/docs/concepts/configuration/secret/) are the values below
// data and stringData of an object of this kind, under any name.
var (
	secretInYAML = regexp.MustCompile(`(?m)^[ \t-]*kind:[ \t]*["']?Secret["']?[ \t\r]*$`)
	secretInJSON = regexp.MustCompile(`"kind"\s*:\s*"Secret"`)
)

var manifestData = []string{"data", "stringData"}

// isManifest reports whether JSON has a secret of Kubernetes.
func isManifest(text string) bool {
	return strings.Contains(text, `"Secret"`) && secretInJSON.MatchString(text)
}

// manifest returns the values of secrets of Kubernetes in YAML.
func manifest(text string) (parts []part) {
	if !strings.Contains(text, "Secret") || !secretInYAML.MatchString(text) {
		return nil
	}
	from, within := 0, -1 // within is the indentation of data
	for line := range strings.SplitAfterSeq(text, "\n") {
		plain := strings.TrimRight(line, " \t\r\n")
		word := strings.TrimLeft(plain, " \t-")
		indent := len(plain) - len(word)
		name, value, named := strings.Cut(word, ":")
		switch {
		case word == "":
		case within < 0 || indent <= within:
			within = -1
			if named && value == "" && (name == manifestData[0] || name == manifestData[1]) {
				within = indent
			}
		default:
			if !named {
				value = word
			}
			if value = strings.Trim(value, ` "'`); secretIfLikely.covers(value) {
				at := from + strings.LastIndex(plain, value)
				parts = append(parts, part{from: at, to: at + len(value)})
			}
		}
		from += len(line)
	}
	return parts
}
