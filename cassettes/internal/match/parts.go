package match

import "strings"

// appendParts writes a body of several parts with one boundary in the place of the one
// that its client has made up. A line of a part that might be taken for it is made longer.
func appendParts(dst []byte, boundary, body string) []byte {
	for line := range strings.Lines(body) {
		rest, found := strings.CutPrefix(line, "--"+boundary)
		switch {
		case found && strings.TrimRight(strings.TrimPrefix(rest, "--"), " \t\r\n") == "":
			line = "--boundary" + rest
		case strings.HasPrefix(line, "--") && strings.HasPrefix(strings.TrimLeft(line, "-"), "boundary"):
			line = "-" + line
		}
		dst = append(dst, line...)
	}
	return dst
}
