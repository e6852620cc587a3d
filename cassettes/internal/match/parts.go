package match

import "strings"

// appendParts appends a multipart body with a fixed boundary instead of the random boundary
// of the client. It lengthens a line that could be mistaken for the boundary.
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
