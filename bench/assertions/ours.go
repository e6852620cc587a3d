package assertions

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/looptape/looptape/evals/scorers"
	"github.com/looptape/looptape/trace/importer"
)

// Result is the result of an assertion.
type Result string

// The results. An assertion that cannot be evaluated is an Error.
const (
	Pass  Result = "pass"
	Fail  Result = "fail"
	Error Result = "error"
)

// settings returns the kind and the settings of the equivalent scorer.
func (c *Case) settings() (kind string, settings map[string]any, err error) {
	switch v := c.Value.(type) {
	case string:
		switch c.Kind {
		case "equals":
			return "exact", map[string]any{"expected": []string{v}}, nil
		case "contains", "icontains":
			return "contains", map[string]any{"expected": []string{v}, "ignore_case": c.Kind == "icontains"}, nil
		case "regex":
			return "regexp", map[string]any{"pattern": v}, nil
		}
	case []string:
		return "contains", map[string]any{"expected": v, "all": c.Kind == "contains-all"}, nil
	default:
		return "json", map[string]any{"expected": v}, nil
	}
	return "", nil, fmt.Errorf("unknown assertion %q", c.Kind)
}

// prepared is a case for looptape.
type prepared struct {
	kind     string
	settings json.RawMessage
	run      importer.Run
}

func prepare(c *Case) (prepared, error) {
	kind, settings, err := c.settings()
	if err != nil {
		return prepared{}, err
	}
	raw, err := json.Marshal(settings)
	return prepared{kind, raw, importer.Run{Name: "run", Answer: c.Answer}}, err
}

// score creates the scorer and scores, as promptfoo does for each assertion.
func (p *prepared) score() Result {
	s, err := scorers.Parse(p.kind, "m", p.settings)
	if err != nil {
		return Error
	}
	switch score := s.Score(context.Background(), &p.run)[0]; {
	case score.Err != nil:
		return Error
	case score.Value == 1:
		return Pass
	default:
		return Fail
	}
}
