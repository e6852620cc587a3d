package assertions

import (
	"encoding/json"
	"fmt"
	"io"
	"strings"
)

// Table writes the results and the times of both tools.
func Table(w io.Writer, cases []Case, ours, theirs Outcomes) error {
	var b strings.Builder
	b.WriteString("| assertion | cases | passed | different results | looptape | promptfoo | promptfoo / looptape |\n| --- | ---: | ---: | ---: | ---: | ---: | ---: |\n")
	for _, kind := range Kinds {
		n, passed, different := 0, 0, 0
		for i := range cases {
			if cases[i].Kind != kind {
				continue
			}
			n++
			if ours.Results[i] == Pass {
				passed++
			}
			if ours.Results[i] != theirs.Results[i] {
				different++
			}
		}
		fmt.Fprintf(&b, "| %s | %d | %d | %d | %.1f µs | %.1f µs | %.1f |\n", kind, n, passed, different,
			ours.NS[kind]/1000, theirs.NS[kind]/1000, theirs.NS[kind]/ours.NS[kind])
	}
	_, err := io.WriteString(w, b.String())
	return err
}

// WriteDifferences writes the known differences as a table.
func WriteDifferences(w io.Writer) error {
	var b strings.Builder
	b.WriteString("| assertion | answer | value | looptape | promptfoo | reason |\n| --- | --- | --- | --- | --- | --- |\n")
	for _, c := range KnownDifferences {
		answer, err := json.Marshal(c.Answer)
		if err != nil {
			return err
		}
		value, err := json.Marshal(c.Value)
		if err != nil {
			return err
		}
		fmt.Fprintf(&b, "| %s | ``%s`` | ``%s`` | %s | %s | %s |\n", c.Kind, answer, value, c.Ours, c.Theirs, c.Why)
	}
	_, err := io.WriteString(w, b.String())
	return err
}

// UnknownDifferences returns the cases with different results.
func UnknownDifferences(cases []Case, ours, theirs Outcomes) (lines []string) {
	for i := range cases {
		if ours.Results[i] != theirs.Results[i] {
			lines = append(lines, fmt.Sprintf("%+v: looptape %s, promptfoo %s", cases[i], ours.Results[i], theirs.Results[i]))
		}
	}
	return lines
}

// Obsolete returns the known differences with other results than listed.
func Obsolete(ours, theirs Outcomes) (lines []string) {
	for i, c := range KnownDifferences {
		if ours.Results[i] != c.Ours || theirs.Results[i] != c.Theirs {
			lines = append(lines, fmt.Sprintf("%+v: looptape %s, promptfoo %s", c, ours.Results[i], theirs.Results[i]))
		}
	}
	return lines
}
