package assertions

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/looptape/looptape/evals/scorers"
	"github.com/looptape/looptape/trace/importer"
)

// Verdict is what comes of an assertion.
type Verdict string

// The verdicts. An assertion that cannot be judged is an Error.
const (
	Pass  Verdict = "pass"
	Fail  Verdict = "fail"
	Error Verdict = "error"
)

// settings are those of the scorer that says what the assertion does.
func (c *Case) settings() (scorers.Settings, error) {
	switch v := c.Value.(type) {
	case string:
		switch c.Kind {
		case "equals":
			return scorers.Exact{Want: []string{v}}, nil
		case "contains":
			return scorers.Contains{Want: []string{v}}, nil
		case "icontains":
			return scorers.Contains{Want: []string{v}, IgnoreCase: true}, nil
		case "regex":
			return scorers.Regexp{Pattern: v}, nil
		}
	case []string:
		return scorers.Contains{Want: v, All: c.Kind == "contains-all"}, nil
	default:
		want, err := json.Marshal(v)
		return scorers.JSON{Want: want}, err
	}
	return nil, fmt.Errorf("no scorer is known for %s", c.Kind)
}

// prepared is a case as looptape gets it.
type prepared struct {
	settings scorers.Settings
	run      importer.Run
}

func prepare(c *Case) (prepared, error) {
	s, err := c.settings()
	return prepared{s, importer.Run{Name: "run", Answer: c.Answer}}, err
}

// judge makes the scorer and scores, as promptfoo does with each assertion.
func (p *prepared) judge() Verdict {
	s, err := scorers.New("m", p.settings)
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
