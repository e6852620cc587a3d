package scorers

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"strings"

	"github.com/looptape/looptape/llm"
	"github.com/looptape/looptape/trace"
	"github.com/looptape/looptape/trace/importer"
)

// block puts a text of a run between two lines with a code that is made of the text itself:
// a text that holds a line with its own code cannot be made, so that it cannot seem to end
// before it does. The same text is the same block.
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
			messages = append(messages[:min(body.PrefixMessages, len(messages)):min(body.PrefixMessages, len(messages))], body.NewMessages...)
		case trace.ModelResponse:
			last = []llm.Message{body.Message}
		default: // says nothing here
		}
	}
	return append(messages[:len(messages):len(messages)], last...)
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
