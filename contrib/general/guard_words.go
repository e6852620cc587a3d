package general

import (
	"path"
	"regexp"
	"slices"
	"strings"

	"mvdan.cc/sh/v3/expand"
	"mvdan.cc/sh/v3/syntax"
)

// download is in the text of words for the output of a download.
const download = "\x00"

func hasDownloadIn(words []string) bool {
	return slices.ContainsFunc(words, func(w string) bool { return strings.Contains(w, download) })
}

// literal returns the text of a word without quotes. Constants have their value: of several that with the number
// choice. Other expansions are kept as $NAME, $() or empty, or if mark is true and they have one, as download.
func (g *guard) literal(w *syntax.Word, mark bool, choice int) string {
	var b strings.Builder
	var add func(parts []syntax.WordPart)
	add = func(parts []syntax.WordPart) {
		for _, p := range parts {
			if _, quoted := p.(*syntax.DblQuoted); !quoted && mark && g.hasDownload(p) {
				b.WriteString(download)
				continue
			}
			switch p := p.(type) {
			case *syntax.Lit:
				b.WriteString(unescaped(p.Value))
			case *syntax.SglQuoted:
				b.WriteString(p.Value)
			case *syntax.DblQuoted:
				add(p.Parts)
			case *syntax.ParamExp:
				if values := g.constants(p); len(values) > 0 && b.Len() < maxWord {
					b.WriteString(values[min(choice, len(values)-1)])
				} else if p.Param != nil {
					b.WriteString("$" + p.Param.Value)
				}
			case *syntax.CmdSubst:
				b.WriteString("$()")
			}
		}
	}
	add(w.Parts)
	return b.String()
}

// constants returns the values of a variable, if they are known.
func (g *guard) constants(p *syntax.ParamExp) []string {
	if p.Param == nil || p.Excl || p.Length || p.Width || p.Index != nil || p.Slice != nil || p.Repl != nil || p.Exp != nil || p.Names != 0 {
		return nil
	}
	return g.values[p.Param.Value]
}

func unescaped(s string) string {
	if !strings.Contains(s, "\\") {
		return s
	}
	var b strings.Builder
	for i := 0; i < len(s); i++ {
		if s[i] == '\\' && i+1 < len(s) {
			if i++; s[i] == '\n' {
				continue
			}
		}
		b.WriteByte(s[i])
	}
	return b.String()
}

// prefixes are programs that run the command in their arguments, with those of their options that have a
// value.
var prefixes = map[string]string{
	"env": "-u -C", "nohup": "", "time": "-o -f", "nice": "-n", "ionice": "-c -n -p", "timeout": "-k -s", "exec": "-a", "command": "", "builtin": "", "xargs": "-a -d -E -I -L -n -P -s",
	"stdbuf": "-i -o -e", "setsid": "", "busybox": "", "watch": "-n", "chroot": "", "unshare": "", "strace": "-e -o -p", "ltrace": "-e -o -p",
	"flock": "-w --timeout -E --conflict-exit-code", "taskset": "", "chrt": "", "nsenter": "-t --target -S -G", "setpriv": "", "unbuffer": "", "systemd-run": "-p --property -u --unit -E --setenv",
}

// positional are the prefixes with one argument before the command.
var positional = []string{"timeout", "chroot", "flock", "taskset", "chrt"}

// withoutPrefixes returns the words of the command that is run in the end.
func withoutPrefixes(words []string) []string {
	for len(words) > 0 {
		valued, ok := prefixes[path.Base(words[0])]
		if !ok {
			return words
		}
		first := path.Base(words[0])
		words = words[1:]
		for len(words) > 0 && (strings.HasPrefix(words[0], "-") || first == "env" && strings.Contains(words[0], "=")) {
			if first == "env" && (words[0] == "-S" || words[0] == "--split-string") && len(words) > 1 {
				words = append(strings.Fields(words[1]), words[2:]...)
				continue
			}
			skip := 1
			if slices.Contains(strings.Fields(valued), words[0]) {
				skip = 2
			}
			words = words[min(skip, len(words)):]
		}
		if slices.Contains(positional, first) && len(words) > 0 { // such as the duration
			words = words[1:]
		}
		if first == "flock" && len(words) > 0 && (words[0] == "-c" || words[0] == "--command") || first == "watch" && len(words) == 1 {
			return append([]string{"sh", "-c"}, words[len(words)-1])
		}
	}
	return words
}

// words returns the words of the command that is run in the end. If mark is true, those with a download have it.
func (g *guard) words(args []*syntax.Word, mark bool) []string {
	return withoutPrefixes(g.expanded(args, mark))
}

// Limits of what words become.
const (
	maxBraces = 1000   // words, of {a,b} and {1..9} in one
	maxWords  = 10_000 // words, of variables with several values
	maxWord   = 10_000 // bytes, of variables in one
)

// expanded returns words with their braces expanded, and one for each value of their variables.
func (g *guard) expanded(args []*syntax.Word, mark bool) (words []string) {
	for _, a := range args {
		for choice := range g.choices([]*syntax.Word{a}) {
			if choice > 0 && len(words) > maxWords {
				break
			}
			words = append(words, g.braces(a, mark, choice)...)
		}
	}
	return words
}

// choices returns the number of values that words have.
func (g *guard) choices(args []*syntax.Word) (n int) {
	for _, a := range args {
		n = max(n, 1)
		syntax.Walk(a, func(node syntax.Node) bool {
			if p, ok := node.(*syntax.ParamExp); ok {
				n = max(n, len(g.constants(p)))
			}
			return true
		})
	}
	return n
}

// braces returns a word with its braces expanded, for the values with the number choice.
func (g *guard) braces(a *syntax.Word, mark bool, choice int) (words []string) {
	w := &syntax.Word{Parts: slices.Clone(a.Parts)} // SplitBraces changes it
	if !syntax.SplitBraces(w) {
		text := g.literal(a, mark, choice)
		if p, ok := a.Parts[0].(*syntax.ParamExp); ok && len(a.Parts) == 1 && g.constants(p) != nil {
			return strings.Fields(text)
		}
		return []string{text}
	}
	n := 0
	for e, err := range expand.BracesSeq(nil, w) {
		if n++; err != nil || n > maxBraces {
			break
		}
		words = append(words, g.literal(e, mark, choice))
	}
	return words
}

// program is what an interpreter runs.
type program struct {
	script      string   // the script, or the name of its file; empty if it reads its standard input
	inArguments bool     // whether script is a script of a shell, not a name
	code        []string // the arguments that it may run: the options, their values and the script
	rest        []string // those after the script
}

func (p program) readsStdin() bool {
	return slices.Contains([]string{"", "-", "/dev/stdin", "/dev/fd/0", "/proc/self/fd/0"}, p.script)
}

// codeOption matches options with the script in them.
var codeOption = map[string]*regexp.Regexp{
	"python": regexp.MustCompile(`^-[mc](.+)$`), "perl": regexp.MustCompile(`^-[acdlnpstuwWTSX0-9]*[eE](.+)$`), "ruby": regexp.MustCompile(`^-[aclnpswW]*e(.+)$`),
	"": regexp.MustCompile(`^--(?:eval|print|command)=(.+)$`),
}

// valued are the options of interpreters that have a value, which is no script.
var valued = map[string]string{
	"python": "-W -X", "pypy": "-W -X", "perl": "-I", "ruby": "-I -r -E", "node": "-r --require --import --loader", "nodejs": "-r --require --import --loader", "php": "-c -d", "lua": "-l",
	"awk": "-v -F", "gawk": "-v -F", "mawk": "-v -F", "nawk": "-v -F",
}

// programOf returns what an interpreter runs.
func programOf(name string, arguments []string) (p program) {
	kind := interpreterOf(name)
	if (kind == "deno" || kind == "bun") && len(arguments) > 0 && slices.Contains([]string{"run", "eval", "repl"}, arguments[0]) {
		arguments = arguments[1:]
	}
	withValue := strings.Fields(valued[kind])
	if isShell(name) {
		withValue = []string{"-o", "+o", "-O", "+O", "--rcfile", "--init-file"}
	}
	isAwk := strings.HasSuffix(kind, "awk")
	for i := 0; i < len(arguments); i++ {
		a := arguments[i]
		isOption := len(a) > 1 && (a[0] == '-' || isShell(name) && a[0] == '+')
		isGroup := isOption && isShell(name) && !strings.HasPrefix(a, "--") // such as -euo
		if !isAwk || !isOption {
			p.code = append(p.code, a)
		}
		for _, option := range []*regexp.Regexp{codeOption[kind], codeOption[""]} {
			if option != nil && isOption && option.MatchString(a) {
				p.script, p.rest = option.FindStringSubmatch(a)[1], arguments[i+1:]
				return p
			}
		}
		switch {
		case isGroup && strings.Contains(a, "s"):
			return p
		case slices.Contains(withValue, a), isGroup && strings.HasSuffix(a, "o"):
			if i++; !isAwk && i < len(arguments) {
				p.code = append(p.code, arguments[i])
			}
		case isGroup && strings.Contains(a, "c"):
			p.inArguments = true
		case !isOption:
			p.script, p.rest = a, arguments[i+1:]
			return p
		}
	}
	p.inArguments = false
	return p
}

var (
	interpreters = regexp.MustCompile(`^(sh|bash|rbash|dash|zsh|ksh|mksh|lksh|ash|fish|csh|tcsh|yash|posh|python|pypy|perl|ruby|jruby|node|nodejs|deno|bun|php|lua|luajit|Rscript|R|tclsh|awk|gawk|mawk|nawk|pwsh)(-?[0-9][0-9.]*)?$`)
	shells       = strings.Fields("sh bash rbash dash zsh ksh mksh lksh ash fish csh tcsh yash posh")
)

// interpreterOf returns the name of an interpreter without its version, or "".
func interpreterOf(name string) string {
	if m := interpreters.FindStringSubmatch(name); m != nil {
		return m[1]
	}
	return ""
}

// isInterpreter reports whether a program runs scripts.
func isInterpreter(name string) bool {
	return interpreterOf(name) != "" || name == "source" || name == "."
}

func isShell(name string) bool { return slices.Contains(shells, interpreterOf(name)) }
