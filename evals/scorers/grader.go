package scorers

import (
	"context"
	"crypto/sha256"
	_ "embed" // for the system prompt
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"sync"

	"github.com/looptape/looptape/evals"
	"github.com/looptape/looptape/llm"
	"github.com/looptape/looptape/trace"
	"github.com/looptape/looptape/trace/importer"
)

// Grader is a model that grades runs.
type Grader struct {
	// LLM is the model. Where the settings come from a file, [Maker] opens it.
	LLM llm.Model `json:"-"`
	// Cassette is a file of recorded responses of the Provider. Scenario is a script of a fake
	// model instead.
	Cassette string `json:"cassette,omitempty"`
	Scenario string `json:"scenario,omitempty"`
	Provider string `json:"provider,omitempty"`
	BaseURL  string `json:"base_url,omitempty"` // "" is the provider's
	// Model is the provider's name of the model.
	Model string `json:"model,omitempty"`
	// Temperature, MaxTokens and Reasoning are settings of the request; see llm.Settings.
	Temperature *float64 `json:"temperature,omitempty"`
	MaxTokens   int      `json:"max_tokens,omitempty"`
	Reasoning   string   `json:"reasoning,omitempty"`
}

func (g Grader) open(m *Maker) (Grader, error) {
	if m.Grader == nil {
		return g, errors.New("no grading model can be opened here: in Go, set Maker.Grader")
	}
	var err error
	if g.LLM, err = m.Grader(&g); err != nil {
		return g, fmt.Errorf("grader: %w", err)
	}
	return g, nil
}

func (g Grader) asker() (*asker, error) {
	if g.LLM == nil {
		return nil, errors.New("missing grading model: set Grader.LLM")
	}
	return &asker{of: g}, nil
}

// asker sends each prompt a fixed number of times and only once for all runs, so that equal runs
// get equal grades.
type asker struct {
	of    Grader
	asked sync.Map // the functions that return the gradings, by digest of the prompt
}

// graderSystem is the system prompt of each grader. A change makes recorded cassettes invalid.
//
//go:embed grader_system.txt
var graderSystem string

// ask sends a prompt several times in sequence. With an error it returns the responses before the
// error and their usage.
func (a *asker) ask(ctx context.Context, question string, times int) (evals.Grading, error) {
	send := sync.OnceValues(func() (evals.Grading, error) { return a.send(ctx, question, times) })
	once, _ := a.asked.LoadOrStore(sha256.Sum256([]byte(question)), send)
	return once.(func() (evals.Grading, error))()
}

func (a *asker) send(ctx context.Context, question string, times int) (g evals.Grading, err error) {
	req := &llm.Request{
		Model: a.of.Model, System: llm.SystemText(graderSystem), Messages: []llm.Message{llm.User(question)}, ResponseMode: llm.NonStreaming,
		Settings: llm.Settings{Temperature: a.of.Temperature, MaxTokens: a.of.MaxTokens, ReasoningEffort: a.of.Reasoning},
	}
	for range times {
		turn, err := llm.Collect(a.of.LLM.Stream(ctx, req))
		g.Usage = g.Usage.Add(turn.Usage)
		if err != nil {
			return g, fmt.Errorf("the grader sent no response: %w", err)
		}
		g.Responses = append(g.Responses, turn.Text())
		if turn.FinishReason == llm.FinishLength {
			return g, errors.New("the grader's response is truncated: increase max_tokens")
		}
	}
	return g, nil
}

// grade is a label or a number, and why.
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
		return grade{}, fmt.Errorf("the grader's answer has %d grades, want 1: %s", len(lines), quote(answer))
	}
	reason := gradeLine.ReplaceAllLiteralString(answer, "")
	return grade{lines[0][1], strings.TrimSpace(reason)}, nil
}

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

// block puts text of a run between two lines with a digest of the text. No text contains its own
// digest, so it cannot seem to end early.
func block(name, text string) string {
	sum := sha256.Sum256([]byte(text))
	mark := " " + name + " " + hex.EncodeToString(sum[:8])
	return "BEGIN" + mark + "\n" + text + "\nEND" + mark
}

// question is the first message of the user, as a block.
func question(run *importer.Run) (string, error) {
	for _, m := range conversation(run) {
		if m.Role == llm.RoleUser {
			return block("question", m.Text()), nil
		}
	}
	return "", errors.New("the recording has no message of a user")
}

// conversation returns the messages of a run: for a trace the last request with its response.
func conversation(run *importer.Run) []llm.Message {
	messages := run.Messages
	var last []llm.Message
	for _, ev := range run.Events {
		if ev.Purpose != trace.PurposeAnswer {
			continue
		}
		switch body := ev.Body.(type) {
		case trace.ModelRequest:
			kept := messages[:min(body.PrefixMessages, len(messages))]
			messages = slices.Concat(kept, body.NewMessages)
		case trace.ModelResponse:
			last = []llm.Message{body.Message}
		default: // says nothing here
		}
	}
	return slices.Concat(messages, last)
}

// transcript formats a conversation as text: messages, calls and results without reasoning.
func transcript(messages []llm.Message) string {
	var lines []string
	names := map[string]string{}
	for _, m := range messages {
		for _, p := range m.Parts {
			switch p := p.(type) {
			case llm.Text:
				lines = append(lines, string(m.Role)+": "+p.Text)
			case llm.ToolCall:
				names[p.ID] = p.Name
				lines = append(lines, fmt.Sprintf("%s calls %s: %s", m.Role, p.Name, p.Arguments))
			case llm.ToolResult:
				lines = append(lines, fmt.Sprintf("result of %s: %s", names[p.ID], p.Text()))
			case llm.Media:
				lines = append(lines, fmt.Sprintf("%s: (%s)", m.Role, p.MediaType))
			default: // is not shown
			}
		}
	}
	return strings.Join(lines, "\n\n")
}
