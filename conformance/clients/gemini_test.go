package clients

import (
	"iter"
	"reflect"
	"testing"

	"google.golang.org/genai"

	"github.com/looptape/looptape/llm"
)

func newGemini(t *testing.T, base string) *genai.Client {
	t.Helper()
	client, err := genai.NewClient(t.Context(), &genai.ClientConfig{
		APIKey: key, Backend: genai.BackendGeminiAPI, HTTPOptions: genai.HTTPOptions{BaseURL: base},
	})
	if err != nil {
		t.Fatal(err)
	}
	return client
}

// TestGemini runs the scenario with the official SDK.
func TestGemini(t *testing.T) { geminiScript.run(t, playGemini) }

var geminiConfig = &genai.GenerateContentConfig{
	SystemInstruction: genai.NewContentFromText(system, ""),
	Tools: []*genai.Tool{{FunctionDeclarations: []*genai.FunctionDeclaration{
		{Name: "weather", Description: "the weather of a city", ParametersJsonSchema: weather},
	}}},
}

func playGemini(t *testing.T, base string, stream bool) (steps []step) {
	models := newGemini(t, base).Models
	contents := genai.Text(question)
	for {
		answers := models.GenerateContentStream(t.Context(), "gemini-3-pro-preview", contents, geminiConfig)
		if !stream {
			answers = one(models.GenerateContent(t.Context(), "gemini-3-pro-preview", contents, geminiConfig))
		}
		s, said := hear(t, answers)
		results := answer(t, &s, said)
		contents = append(contents, &genai.Content{Role: "model", Parts: said}, &genai.Content{Role: "user", Parts: results})
		if steps = append(steps, s); len(s.Calls) == 0 || len(steps) > 3 {
			return steps
		}
	}
}

// hear reads a response, without its parts, into the step. It omits an empty part: Gemini 3 ends with
// an empty text, which the SDK would send back as {}.
func hear(t *testing.T, answers iter.Seq2[*genai.GenerateContentResponse, error]) (s step, said []*genai.Part) {
	t.Helper()
	for answer, err := range answers {
		if err != nil {
			t.Fatal(err)
		}
		if u := answer.UsageMetadata; u != nil {
			s.Usage = s.Usage.Update(llm.Usage{
				InputTokens: int64(u.PromptTokenCount), OutputTokens: int64(u.CandidatesTokenCount + u.ThoughtsTokenCount),
				CacheReadInputTokens: int64(u.CachedContentTokenCount), ReasoningOutputTokens: int64(u.ThoughtsTokenCount),
			})
		}
		c := answer.Candidates[0]
		s.Finish += string(c.FinishReason)
		if c.Content == nil {
			continue
		}
		for _, p := range c.Content.Parts {
			if !reflect.ValueOf(*p).IsZero() {
				said = append(said, p)
			}
		}
	}
	return s, said
}

// answer reads the parts of a response into the step, and runs its calls.
func answer(t *testing.T, s *step, said []*genai.Part) (results []*genai.Part) {
	t.Helper()
	for _, p := range said {
		switch {
		case p.FunctionCall != nil:
			args := string(marshal(t, p.FunctionCall.Args))
			s.Calls = append(s.Calls, call{p.FunctionCall.ID, p.FunctionCall.Name, args})
			results = append(results, &genai.Part{FunctionResponse: &genai.FunctionResponse{
				ID: p.FunctionCall.ID, Name: p.FunctionCall.Name, Response: map[string]any{"result": outputFor(t, args)},
			}})
		case p.Thought:
			s.Reasoning += p.Text
		default:
			s.Text += p.Text
		}
	}
	return results
}

// one returns a non-streaming response as a stream of one chunk.
func one(answer *genai.GenerateContentResponse, err error) iter.Seq2[*genai.GenerateContentResponse, error] {
	return func(yield func(*genai.GenerateContentResponse, error) bool) { yield(answer, err) }
}
