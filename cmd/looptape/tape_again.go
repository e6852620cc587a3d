package main

import (
	"maps"
	"slices"
	"strings"

	"github.com/looptape/looptape/cassettes"
)

// again is the command that records anew what is replayed to a program.
func (v *deck) again(args []string) string {
	words := []string{"looptape", "record", "-o", v.file}
	servers := maps.Clone(v.opts.Upstreams)
	if f, err := cassettes.ReadFile(v.file); err == nil { // else opening it tells the error
		maps.Copy(servers, f.Head.Upstreams)
	}
	for _, p := range providers() {
		if servers[p.name] == p.url {
			delete(servers, p.name)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(servers)) {
		words = append(words, "--upstream", name+"="+servers[name])
	}
	if len(args) > 0 {
		words = append(append(words, "--"), args...)
	}
	for i, w := range words {
		words[i] = shellWord(w)
	}
	return strings.Join(words, " ")
}

// shellWord is a word as a shell takes it.
func shellWord(word string) string {
	plain := func(r rune) bool {
		return 'a' <= r && r <= 'z' || 'A' <= r && r <= 'Z' || '0' <= r && r <= '9' || strings.ContainsRune("-_./=:,@%+", r)
	}
	if word != "" && strings.IndexFunc(word, func(r rune) bool { return !plain(r) }) < 0 {
		return word
	}
	return "'" + strings.ReplaceAll(word, "'", `'\''`) + "'"
}
