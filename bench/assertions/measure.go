package assertions

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"time"
)

// Outcome is what one side says of cases, and the nanoseconds that an assertion of a kind
// takes it, in the best of all rounds.
type Outcome struct {
	Verdicts []Verdict          `json:"verdicts"`
	NS       map[string]float64 `json:"ns"`
}

// Looptape judges the cases so many times.
func Looptape(cases []Case, rounds int) (Outcome, error) {
	o := Outcome{Verdicts: make([]Verdict, len(cases)), NS: map[string]float64{}}
	at := map[string][]int{}
	list := make([]prepared, len(cases))
	for i := range cases {
		at[cases[i].Kind] = append(at[cases[i].Kind], i)
		var err error
		if list[i], err = prepare(&cases[i]); err != nil {
			return o, err
		}
	}
	for range rounds {
		for kind, places := range at {
			begun := time.Now()
			for _, i := range places {
				o.Verdicts[i] = list[i].judge()
			}
			ns := float64(time.Since(begun)) / float64(len(places))
			if best, ok := o.NS[kind]; !ok || ns < best {
				o.NS[kind] = ns
			}
		}
	}
	return o, nil
}

// Promptfoo has them judged so many times by the program in a folder, where promptfoo is
// installed, without a network: its telemetry, its look for updates and its remote
// generation are switched off, and what it writes goes to a folder that is taken away.
func Promptfoo(ctx context.Context, folder string, cases []Case, rounds int) (o Outcome, err error) {
	if _, err := os.Stat(filepath.Join(folder, "node_modules", "promptfoo")); err != nil {
		return o, fmt.Errorf("promptfoo is not installed; run npm install --no-save --omit=optional --ignore-scripts in %s: %w", folder, err)
	}
	home, err := os.MkdirTemp("", "promptfoo")
	if err != nil {
		return o, err
	}
	defer func() { _ = os.RemoveAll(home) }()
	in, err := json.Marshal(cases)
	if err != nil {
		return o, err
	}
	cmd := exec.CommandContext(ctx, "node", "bench.mjs", fmt.Sprint(rounds))
	cmd.Dir = folder
	cmd.Env = append(os.Environ(), "PROMPTFOO_CONFIG_DIR="+home, "PROMPTFOO_DISABLE_TELEMETRY=1", "PROMPTFOO_DISABLE_UPDATE=1", "PROMPTFOO_DISABLE_REMOTE_GENERATION=1")
	cmd.Stdin = bytes.NewReader(in)
	var words bytes.Buffer
	cmd.Stderr = &words
	out, err := cmd.Output()
	if err != nil {
		return o, fmt.Errorf("%v: %w\n%s", cmd, err, &words)
	}
	if err := json.Unmarshal(out, &o); err != nil {
		return o, fmt.Errorf("%v answered no JSON of verdicts: %w: %.200s", cmd, err, out)
	}
	if len(o.Verdicts) != len(cases) {
		return o, fmt.Errorf("%v gave %d verdicts on %d cases", cmd, len(o.Verdicts), len(cases))
	}
	return o, nil
}
