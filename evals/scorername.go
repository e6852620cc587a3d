package evals

import (
	"encoding/json"
	"fmt"
	"hash/crc32"
	"regexp"
	"slices"
	"strings"
)

// argumentsSum is what the name of a scorer has instead of the arguments of its program.
var argumentsSum = regexp.MustCompile(`^\d+ arguments?, checksum [0-9a-f]{8}$`)

// scorerName returns the name of a scorer, its kind and settings, without the arguments of its program, which may
// have a secret. Other arguments give another name.
func scorerName(name string) string {
	at := strings.IndexByte(name, '{')
	if at < 0 {
		return name
	}
	var settings struct {
		Command json.RawMessage `json:"command"`
	}
	var words []string
	switch {
	case json.Unmarshal([]byte(name[at:]), &settings) != nil, json.Unmarshal(settings.Command, &words) != nil, len(words) < 2:
		return name
	case len(words) == 2 && argumentsSum.MatchString(words[1]):
		return name
	}
	plural := "s"[:min(1, len(words)-2)]
	sum := fmt.Sprintf("%d argument%s, checksum %08x", len(words)-1, plural, crc32.ChecksumIEEE(settings.Command))
	return strings.Replace(name, string(settings.Command), string(oneLine([]string{words[0], sum})), 1)
}

// scorerNames returns the names of scorers, also of those that an older version wrote.
func scorerNames(names []string) []string {
	names = slices.Clone(names)
	for i, name := range names {
		names[i] = scorerName(name)
	}
	return names
}
