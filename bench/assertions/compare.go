package assertions

import (
	"encoding/json"
	"fmt"
	"io"
	"strings"
)

// Table writes what both sides say of cases, and how long they take.
func Table(w io.Writer, cases []Case, ours, theirs Outcome) error {
	var b strings.Builder
	b.WriteString("| assertion | cases | hold | other verdict | looptape | promptfoo | promptfoo / looptape |\n| --- | ---: | ---: | ---: | ---: | ---: | ---: |\n")
	for _, kind := range Kinds {
		n, hold, other := 0, 0, 0
		for i := range cases {
			if cases[i].Kind != kind {
				continue
			}
			n++
			if ours.Verdicts[i] == Pass {
				hold++
			}
			if ours.Verdicts[i] != theirs.Verdicts[i] {
				other++
			}
		}
		fmt.Fprintf(&b, "| %s | %d | %d | %d | %.1f µs | %.1f µs | %.1f |\n", kind, n, hold, other,
			ours.NS[kind]/1000, theirs.NS[kind]/1000, theirs.NS[kind]/ours.NS[kind])
	}
	_, err := io.WriteString(w, b.String())
	return err
}

// Differences writes the corners as a table.
func Differences(w io.Writer) error {
	var b strings.Builder
	b.WriteString("| assertion | answer | value | looptape | promptfoo | because |\n| --- | --- | --- | --- | --- | --- |\n")
	for _, c := range Corners {
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

// Unexplained are the cases on which the verdicts differ.
func Unexplained(cases []Case, ours, theirs Outcome) (lines []string) {
	for i := range cases {
		if ours.Verdicts[i] != theirs.Verdicts[i] {
			lines = append(lines, fmt.Sprintf("%+v: looptape %s, promptfoo %s", cases[i], ours.Verdicts[i], theirs.Verdicts[i]))
		}
	}
	return lines
}

// Unfounded are the corners on which the verdicts are not those that they tell.
func Unfounded(ours, theirs Outcome) (lines []string) {
	for i, c := range Corners {
		if ours.Verdicts[i] != c.Ours || theirs.Verdicts[i] != c.Theirs {
			lines = append(lines, fmt.Sprintf("%+v: looptape %s, promptfoo %s", c, ours.Verdicts[i], theirs.Verdicts[i]))
		}
	}
	return lines
}
