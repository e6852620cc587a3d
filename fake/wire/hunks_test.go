package wire_test

import (
	"bytes"
	"fmt"
	"hash/crc32"
	"regexp"
	"slices"
	"strings"
)

// edits returns the responses of o that differ from those without the quirk. The key
// is the diff, the value the numbers of the responses that have it.
func (o *played) edits(plain *played) (diffs []string, numbers map[string][]string) {
	numbers = map[string][]string{}
	for i, x := range o.exchanges {
		from, to := maskIDs(plain.like(x, i).answer), maskIDs(x.answer)
		if bytes.Equal(from, to) {
			continue
		}
		diff := hunks(textLines(from), textLines(to))
		if numbers[diff] == nil {
			diffs = append(diffs, diff)
		}
		numbers[diff] = append(numbers[diff], fmt.Sprint(i+1))
	}
	return diffs, numbers
}

// like returns the exchange of o with the same request, or else the i-th.
func (o *played) like(x exchanged, i int) exchanged {
	for _, y := range o.exchanges {
		if bytes.Equal(maskIDs(x.request), maskIDs(y.request)) {
			return y
		}
	}
	if i < len(o.exchanges) {
		return o.exchanges[i]
	}
	return exchanged{}
}

// serverIDs matches the ids that the server generates: they depend on the attempt and
// on the conversation.
var serverIDs = regexp.MustCompile(`([-_"])(?:[0-9a-f]{24}|[0-9a-f]{16})([_"])`)

func maskIDs(text []byte) []byte { return serverIDs.ReplaceAll(text, []byte("${1}ID$2")) }

// Limits of a diff. A checksum represents the edited text that a diff omits.
const (
	maxHunks   = 4   // per response
	maxRemoved = 2   // lines per hunk
	maxAdded   = 6   // lines per hunk
	maxShown   = 300 // bytes of a changed line
	maxSame    = 60  // bytes of a run that did not change
)

// loneCR matches a line that CR ends.
var loneCR = regexp.MustCompile(`\r([^\n])`)

// textLines returns the lines of text with escapes.
func textLines(text []byte) (lines []string) {
	for line := range bytes.Lines(loneCR.ReplaceAll(loneCR.ReplaceAll(text, []byte("\r\n$1")), []byte("\r\n$1"))) {
		lines = append(lines, string(escaped(bytes.TrimSuffix(line, []byte("\n")))))
	}
	return lines
}

// hunks returns a unified diff of two texts with at most one line of context.
func hunks(a, b []string) string {
	var out strings.Builder
	shown, hidden := 0, ""
	context := ""
	for _, block := range diffBlocks(a, b) {
		if block.same {
			context = lastText(block.from)
			continue
		}
		if shown++; shown > maxHunks {
			hidden += strings.Join(block.to, "\n") + "\n"
			continue
		}
		if context != "" {
			out.WriteString("  " + elide(context, maxSame) + "\n")
		}
		writeHunk(&out, block.from, block.to)
	}
	if shown > maxHunks {
		fmt.Fprintf(&out, "… (%d more hunks, crc32 %08x)\n", shown-maxHunks, crc32.ChecksumIEEE([]byte(hidden)))
	}
	return out.String()
}

// lastText returns the last line that is not empty.
func lastText(lines []string) string {
	for _, line := range slices.Backward(lines) {
		if line != "" {
			return line
		}
	}
	return ""
}

func writeHunk(out *strings.Builder, from, to []string) {
	if len(from) == len(to) {
		for i := range from {
			before, after := changes(from[i], to[i])
			fmt.Fprintf(out, "- %s\n+ %s\n", before, after)
			if i+1 == maxAdded && len(to) > maxAdded {
				fmt.Fprintf(out, "… (%d more lines, crc32 %08x)\n", len(to)-maxAdded, checksum(to[maxAdded:]))
				return
			}
		}
		return
	}
	for i, line := range from {
		if i == maxRemoved && len(from) > maxRemoved+1 {
			fmt.Fprintf(out, "- … (%d more lines)\n", len(from)-i)
			break
		}
		out.WriteString("- " + elide(line, maxSame) + "\n")
	}
	for i, line := range to {
		if i == maxAdded && len(to) > maxAdded+1 {
			fmt.Fprintf(out, "+ … (%d more lines, crc32 %08x)\n", len(to)-i, checksum(to[i:]))
			break
		}
		out.WriteString("+ " + elide(line, maxShown) + "\n")
	}
}

func checksum(lines []string) uint32 {
	return crc32.ChecksumIEEE([]byte(strings.Join(lines, "\n")))
}

// elide shortens text to about limit bytes. Of more than maxSame bytes it keeps a
// checksum.
func elide(text string, limit int) string {
	if len(text) <= limit+40 {
		return text
	}
	if limit <= maxSame {
		return strings.ToValidUTF8(text[:limit/3], "") + "…" + strings.ToValidUTF8(text[len(text)-limit:], "")
	}
	return fmt.Sprintf("%s… (%d bytes, crc32 %08x)", strings.ToValidUTF8(text[:limit], ""), len(text), checksum([]string{text}))
}

// tokens splits a line of JSON after each of its punctuation marks.
func tokens(line string) (out []string) {
	for {
		at := strings.IndexAny(line, ",{}[]") + 1
		if at == 0 {
			return append(out, line)
		}
		out, line = append(out, line[:at]), line[at:]
	}
}

// changes returns two lines without most of what they have in common.
func changes(from, to string) (before, after string) {
	for _, block := range diffBlocks(tokens(from), tokens(to)) {
		if block.same {
			same := strings.Join(block.from, "")
			if len(same) > maxSame {
				const kept = maxSame / 2
				same = strings.ToValidUTF8(same[:kept/2], "") + "…" + strings.ToValidUTF8(same[len(same)-kept:], "")
			}
			before, after = before+same, after+same
			continue
		}
		before += elide(strings.Join(block.from, ""), maxSame)
		after += elide(strings.Join(block.to, ""), maxShown)
	}
	return before, after
}

// diffBlock is a run of lines that two texts share, or that one replaces.
type diffBlock struct {
	same     bool
	from, to []string
}

// diffBlocks compares two texts by their longest common subsequence.
func diffBlocks(a, b []string) (out []diffBlock) {
	most := make([][]int32, len(a)+1) // the length of the longest common subsequence of a[i:] and b[j:]
	for i := range most {
		most[i] = make([]int32, len(b)+1)
	}
	for i := len(a) - 1; i >= 0; i-- {
		for j := len(b) - 1; j >= 0; j-- {
			most[i][j] = max(most[i+1][j], most[i][j+1])
			if a[i] == b[j] {
				most[i][j] = 1 + most[i+1][j+1]
			}
		}
	}
	block := func(same bool) *diffBlock {
		if n := len(out); n == 0 || out[n-1].same != same {
			out = append(out, diffBlock{same: same})
		}
		return &out[len(out)-1]
	}
	for i, j := 0, 0; i < len(a) || j < len(b); {
		switch {
		case i < len(a) && j < len(b) && a[i] == b[j]:
			x := block(true)
			x.from = append(x.from, a[i])
			i, j = i+1, j+1
		case j == len(b) || i < len(a) && most[i+1][j] >= most[i][j+1]:
			x := block(false)
			x.from = append(x.from, a[i])
			i++
		default:
			x := block(false)
			x.to = append(x.to, b[j])
			j++
		}
	}
	return out
}
