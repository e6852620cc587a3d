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

// Outcomes are the results of one tool, and the nanoseconds per assertion by kind in its best
// round.
type Outcomes struct {
	Results []Result           `json:"results"`
	NS      map[string]float64 `json:"ns"`
}

// Looptape scores the cases in a number of rounds.
func Looptape(cases []Case, rounds int) (Outcomes, error) {
	o := Outcomes{Results: make([]Result, len(cases)), NS: map[string]float64{}}
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
				o.Results[i] = list[i].score()
			}
			ns := float64(time.Since(begun)) / float64(len(places))
			if best, ok := o.NS[kind]; !ok || ns < best {
				o.NS[kind] = ns
			}
		}
	}
	return o, nil
}

// Promptfoo scores them with the program in a folder in which promptfoo is installed. It uses no
// network: telemetry, the update check and remote generation are disabled. Its files go to a
// temporary folder.
func Promptfoo(ctx context.Context, folder string, cases []Case, rounds int) (o Outcomes, err error) {
	if _, err := os.Stat(filepath.Join(folder, "node_modules", "promptfoo")); err != nil {
		return o, fmt.Errorf("promptfoo is not installed: run npm install --no-save --omit=optional --ignore-scripts in %s: %w", folder, err)
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
	cmd.Env = Offline(home)
	cmd.Stdin = bytes.NewReader(in)
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		return o, fmt.Errorf("%v: %w\n%s", cmd, err, &stderr)
	}
	if err := json.Unmarshal(out, &o); err != nil {
		return o, fmt.Errorf("%v: invalid JSON of results: %w: %.200s", cmd, err, out)
	}
	if len(o.Results) != len(cases) {
		return o, fmt.Errorf("%v: got %d results of %d cases", cmd, len(o.Results), len(cases))
	}
	return o, nil
}

// Offline returns the environment in which promptfoo uses no network, and a folder for its files.
func Offline(folder string) []string {
	return append(os.Environ(), "PROMPTFOO_CONFIG_DIR="+folder, "PROMPTFOO_DISABLE_TELEMETRY=1", "PROMPTFOO_DISABLE_UPDATE=1",
		"PROMPTFOO_DISABLE_REMOTE_GENERATION=1", "PROMPTFOO_DISABLE_SHARING=1")
}
