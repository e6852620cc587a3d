package scorers

import (
	"encoding/json"
	"errors"
	"fmt"
	"regexp"
	"strings"
)

// grade is what a grader answered: a label or a number, and why.
type grade struct{ text, reason string }

var (
	gradeMember = regexp.MustCompile(`"grade"\s*:`)
	gradeLine   = regexp.MustCompile(`(?mi)^[ \t*_]*grade[ \t*_]*:[ \t*_]*(.*?)[ \t*_\r]*$`)
)

// readGrade reads the response of a grader: a JSON object, which is the whole response or its
// only fenced block, or else its only line "grade: …". Anything else is an error.
func readGrade(answer string) (grade, error) {
	text := answer
	if blocks := fence.FindAllStringSubmatch(answer, -1); len(blocks) == 1 {
		text = blocks[0][1]
	}
	if v, err := decode([]byte(text)); err == nil {
		return gradeIn(v, text)
	}
	lines := gradeLine.FindAllStringSubmatch(answer, -1)
	if len(lines) != 1 {
		return grade{}, fmt.Errorf("the grader's answer has %d grades, so that it is none: %s", len(lines), quote(answer))
	}
	reason := gradeLine.ReplaceAllLiteralString(answer, "")
	return grade{lines[0][1], strings.TrimSpace(reason)}, nil
}

// gradeIn is the grade in a value of JSON.
func gradeIn(v any, text string) (grade, error) {
	object, _ := v.(map[string]any)
	reason, _ := object["reason"].(string)
	if len(gradeMember.FindAllString(text, -1)) > 1 {
		return grade{}, errors.New("the grader's answer has the member grade twice: " + quote(text))
	}
	switch g := object["grade"].(type) {
	case string:
		return grade{strings.TrimSpace(g), reason}, nil
	case json.Number:
		return grade{g.String(), reason}, nil
	}
	return grade{}, errors.New("the grader's answer is JSON without a grade, which is a text or a number: " + quote(text))
}
