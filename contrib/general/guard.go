package general

import (
	"cmp"
	"errors"
	"maps"
	"path"
	"slices"
	"strings"

	"mvdan.cc/sh/v3/syntax"
)

// dangerous returns why a shell command must not run, or "". It reads the command with a parser of
// bash, and also the scripts in its arguments and texts. It detects the usual forms only: it is no sandbox.
func dangerous(command string) string {
	g := &guard{parsed: new(int), variables: map[string]bool{}, values: map[string][]string{}, functions: map[string]*syntax.Stmt{}}
	why := g.script(command)
	if *g.parsed > maxParsed {
		return whyNested
	}
	return why
}

// The reasons why a command is refused.
const (
	whyInvalid  = "it is not a valid shell command"
	whyRights   = "it asks for the rights of another user"
	whyDisk     = "it formats or overwrites a disk"
	whyDelete   = "it deletes system paths or a home folder recursively"
	whyDownload = "it runs what it downloads"
	whyForks    = "it starts copies of itself without end"
	whyShutdown = "it stops the machine"
	whySignal   = "it sends a signal to all processes"
	whyNested   = "it has too many commands within commands"
)

// maxNested limits scripts within scripts, such as sh -c "sh -c …".
const maxNested = 8

// maxParsed limits the scripts within a command, in bytes and one thousand for each: some are read several times.
const maxParsed = 2_000_000

// guard checks one script.
type guard struct {
	parsed    *int                    // what was read until now; see maxParsed
	depth     int                     // number of scripts around it
	dir       string                  // that of the last cd
	stdin     bool                    // whether its standard input is a download
	variables map[string]bool         // with a download; a function is NAME(), a file descriptor /dev/fd/N
	values    map[string][]string     // of variables with constants: those of a loop have several
	functions map[string]*syntax.Stmt // their bodies
	downloads map[syntax.Node]bool    // that contain a download
}

// script returns why a script must not run.
func (g *guard) script(text string) (why string) {
	file, err := g.parse(text)
	if errors.Is(err, errNested) {
		return whyNested
	}
	if err != nil {
		return whyInvalid
	}
	g.findDownloads(file)
	syntax.Walk(file, func(n syntax.Node) bool {
		if why != "" {
			return false
		}
		switch n := n.(type) {
		case *syntax.CallExpr:
			why = g.dangerousCall(n)
		case *syntax.BinaryCmd:
			if isPipe(n) {
				why = g.dangerousPipe(n)
			}
		case *syntax.FuncDecl:
			if g.forks(n) {
				why = whyForks
			}
		case *syntax.Stmt:
			why = g.dangerousRedirects(n)
		}
		g.assign(n)
		return true
	})
	return why
}

var errNested = errors.New(whyNested)

// parse returns the commands of a script.
func (g *guard) parse(text string) (*syntax.File, error) {
	if *g.parsed += len(text) + 1000; g.depth > maxNested || *g.parsed > maxParsed {
		return nil, errNested
	}
	return syntax.NewParser(syntax.Variant(syntax.LangBash)).Parse(strings.NewReader(text), "")
}

// inner returns a guard for a script within that of g, with its arguments.
func (g *guard) inner(stdin bool, arguments []string) *guard {
	inner := &guard{parsed: g.parsed, depth: g.depth + 1, dir: g.dir, stdin: stdin || g.stdin, variables: maps.Clone(g.variables), values: maps.Clone(g.values), functions: maps.Clone(g.functions)}
	inner.addPositional(arguments[min(1, len(arguments)):]) // the first one is $0
	return inner
}

// nested returns why a script in an argument or a text must not run. stdin says whether its input is a download.
func (g *guard) nested(script string, stdin bool, arguments ...string) string {
	inner := g.inner(stdin, arguments)
	if why := inner.script(script); why != whyInvalid {
		return why
	}
	return "" // words that are known only when it runs
}

// dangerousCall returns why a simple command must not run, and follows changes of the folder.
func (g *guard) dangerousCall(n *syntax.CallExpr) string {
	words := g.words(n.Args, true)
	if len(words) > 0 && words[0] == download && !g.variables["1"] && isAllArguments(n.Args[0]) {
		return "" // the command is $1
	}
	if len(words) > 1 && g.runsArguments(words[0]) {
		if why := g.dangerousWords(withoutPrefixes(words[1:])); why != "" {
			return why
		}
	}
	if len(words) > 1 && (words[0] == "cd" || words[0] == "pushd") {
		g.dir = in(g.dir, words[len(words)-1])
	}
	if g.readsDownload() {
		if why := g.dangerousInput(n); why != "" {
			return why
		}
	}
	for choice := range g.choices(n.Args[:min(1, len(n.Args))]) {
		first := append(g.braces(n.Args[0], true, choice), g.expanded(n.Args[1:], true)...)
		if why := g.dangerousWords(withoutPrefixes(first)); why != "" {
			return why
		}
	}
	return ""
}

// runsArguments reports whether a function runs the command in its arguments.
func (g *guard) runsArguments(name string) (found bool) {
	body := g.functions[name]
	if body == nil {
		return false
	}
	syntax.Walk(body, func(n syntax.Node) bool {
		if call, ok := n.(*syntax.CallExpr); ok && len(call.Args) > 0 && isAllArguments(call.Args[0]) {
			found = true
		}
		return !found
	})
	return found
}

// isAllArguments reports whether a word is $@ or $*.
func isAllArguments(w *syntax.Word) bool {
	var b strings.Builder
	_ = syntax.NewPrinter().Print(&b, w)
	return slices.Contains([]string{"$@", "$*", `"$@"`, `"$*"`}, b.String())
}

// dangerousInput returns why a download must not be the input of a command.
func (g *guard) dangerousInput(command syntax.Node) (why string) {
	if g.runs(command) {
		return whyDownload
	}
	g.eachXargs(command, func(words, final []string) {
		replaced := []string{"{}"}
		for i, w := range words {
			if value, ok := strings.CutPrefix(w, "-I"); ok {
				replaced = append(replaced, strings.Fields(value + " " + strings.Join(words[i+1:min(i+2, len(words))], " "))[:1]...)
			}
		}
		given := slices.Clone(final)
		for i := range given {
			for _, r := range replaced {
				given[i] = strings.ReplaceAll(given[i], r, download)
			}
		}
		if g.dangerousWords(append(given, download)) == whyDownload {
			why = whyDownload
		}
	})
	return why
}

// eachXargs calls visit for each command that xargs runs: with all words, and with those of the command.
func (g *guard) eachXargs(command syntax.Node, visit func(words, final []string)) {
	syntax.Walk(command, func(n syntax.Node) bool {
		if call, ok := n.(*syntax.CallExpr); ok {
			words := g.expanded(call.Args, false)
			if final := withoutPrefixes(words); len(final) > 0 && slices.ContainsFunc(words, func(w string) bool { return path.Base(w) == "xargs" }) {
				visit(words, final)
			}
		}
		return true
	})
}

// dangerousPipe returns why the output of a command must not be the input of another one.
func (g *guard) dangerousPipe(n *syntax.BinaryCmd) string {
	if g.downloads[n.X] {
		if why := g.dangerousInput(n.Y); why != "" {
			return why
		}
	}
	var printed, scripts []string
	g.calls(n.X, func(name string, arguments []string) bool {
		switch name {
		case "echo", "printf":
			scripts = append(scripts, strings.Join(arguments, " "), strings.Join(arguments, "\n"))
			printed = append(printed, arguments...)
		case "ls":
			printed = append(printed, arguments...)
		case "find":
			printed = append(printed, startsOf(arguments)...)
		}
		return false
	})
	syntax.Walk(n.X, func(n syntax.Node) bool {
		if r, ok := n.(*syntax.Redirect); ok && hereText(r) != nil {
			scripts = append(scripts, g.literal(hereText(r), false, 0))
		}
		return true
	})
	return cmp.Or(g.dangerousXargs(n.Y, printed), g.dangerousTexts(n.Y, scripts))
}

// hereText returns the text of a here-document or a here-string, or nil.
func hereText(r *syntax.Redirect) *syntax.Word {
	if r.Op == syntax.WordHdoc {
		return r.Word
	}
	return r.Hdoc
}

// dangerousTexts returns why a shell must not run one of the texts that are its input.
func (g *guard) dangerousTexts(command syntax.Node, scripts []string) (why string) {
	g.calls(command, func(name string, arguments []string) bool {
		for _, script := range scripts {
			if p := programOf(name, arguments); isShell(name) && p.readsStdin() {
				why = cmp.Or(why, g.nested(strings.ReplaceAll(script, `\n`, "\n"), false))
			}
		}
		return why != ""
	})
	return why
}

// dangerousXargs returns why xargs must not run a command with an input.
func (g *guard) dangerousXargs(command syntax.Node, input []string) (why string) {
	g.eachXargs(command, func(words, final []string) {
		if g.dangerousWords(append(slices.Clone(final), "/")) == "" && !strings.Contains(strings.Join(words, " "), "{}") {
			return // whatever its input is
		}
		more := strings.Fields(strings.Join(input, " "))
		given := slices.Clone(final)
		for i, w := range given { // of xargs -I {}
			given[i] = strings.ReplaceAll(w, "{}", strings.Join(more, " "))
		}
		why = cmp.Or(why, g.dangerousWords(append(given, more...)))
	})
	return why
}

// dangerousRedirects returns why the files of a command must not be opened.
func (g *guard) dangerousRedirects(s *syntax.Stmt) string {
	for _, r := range s.Redirs {
		if s.Cmd != nil && g.reads(r) {
			if why := g.dangerousInput(s.Cmd); why != "" {
				return why
			}
		}
		if text := hereText(r); text != nil && s.Cmd != nil {
			script := g.literal(text, false, 0)
			if why := cmp.Or(g.dangerousXargs(s.Cmd, []string{script}), g.dangerousTexts(s.Cmd, []string{script})); why != "" {
				return why
			}
		}
		if r.Word == nil || !isOutput(r.Op) {
			continue
		}
		switch name := g.literal(r.Word, false, 0); {
		case isDisk(name):
			return whyDisk
		case name == sysrq:
			return whyShutdown
		case s.Cmd != nil && g.downloads[s.Cmd] && g.runs(r.Word):
			return whyDownload
		}
	}
	return ""
}

// sysrq is a file that stops the machine when something is written to it.
const sysrq = "/proc/sysrq-trigger"

// in returns a path that is relative to a folder, which may be unknown.
func in(dir, p string) string {
	if dir == "" || path.IsAbs(p) || strings.HasPrefix(p, "~") || strings.HasPrefix(p, "$") {
		return p
	}
	return dir + "/" + p
}

func isOutput(op syntax.RedirOperator) bool {
	return slices.Contains([]syntax.RedirOperator{syntax.RdrOut, syntax.AppOut, syntax.RdrClob, syntax.RdrAll, syntax.AppAll, syntax.RdrInOut}, op)
}

// dangerousWords returns why a simple command must not run.
func (g *guard) dangerousWords(words []string) string {
	if len(words) == 0 {
		return ""
	}
	name, rest := path.Base(words[0]), words[1:]
	isSystem := func(p string) bool { return isSystemPath(in(g.dir, p)) }
	program := programOf(name, rest)
	switch {
	case strings.Contains(words[0], download), slices.Contains([]string{"eval", "trap", "alias"}, name) && hasDownloadIn(rest), isInterpreter(name) && (hasDownloadIn(program.code) || g.variables[descriptor(program.script)]):
		return whyDownload
	case slices.Contains([]string{"sudo", "sudoedit", "su", "doas", "pkexec", "runuser", "run0"}, name):
		return whyRights
	case strings.HasPrefix(name, "mkfs"), slices.Contains([]string{"fdisk", "sfdisk", "cfdisk", "gdisk", "sgdisk", "parted", "wipefs", "mkswap", "mke2fs", "blkdiscard", "badblocks", "pvremove", "vgremove", "lvremove"}, name), isEraser(name, rest),
		name == "dd" && slices.ContainsFunc(rest, func(a string) bool { return strings.HasPrefix(a, "of=") && isDisk(a[len("of="):]) }),
		slices.Contains([]string{"shred", "tee", "cp", "mv", "truncate"}, name) && slices.ContainsFunc(rest, isDisk):
		return whyDisk
	case name == "rm" && isRecursive(rest) && slices.ContainsFunc(rest, isSystem),
		name == "find" && deletes(rest) && slices.ContainsFunc(startsOf(rest), isSystem):
		return whyDelete
	case slices.Contains([]string{"tee", "cp", "dd"}, name) && slices.ContainsFunc(rest, func(a string) bool { return strings.TrimPrefix(a, "of=") == sysrq }),
		name == "kexec" && (slices.Contains(rest, "-e") || slices.Contains(rest, "--exec")),
		slices.Contains([]string{"shutdown", "reboot", "halt", "poweroff"}, name),
		(name == "init" || name == "telinit") && (slices.Contains(rest, "0") || slices.Contains(rest, "6")),
		(name == "systemctl" || name == "loginctl") && stopsMachine(rest):
		return whyShutdown
	case name == "killall5", name == "kill" && len(rest) > 1 && slices.Contains(rest[1:], "-1"),
		(name == "pkill" || name == "killall") && slices.ContainsFunc(rest, func(a string) bool { return slices.Contains([]string{"", ".", ".*", ".+", "^", "$"}, a) }):
		return whySignal
	case name == "eval":
		return g.nested(strings.Join(rest, " "), false)
	case name == "trap" && len(rest) > 0:
		return g.nested(rest[0], false)
	case name == "find":
		for _, command := range commandsOf(rest) {
			if why := g.dangerousWords(command); why != "" {
				return why
			}
		}
	case program.inArguments:
		return g.nested(program.script, false, program.rest...)
	}
	return ""
}

// isDisk reports whether a path is a block device.
func isDisk(p string) bool {
	name, ok := strings.CutPrefix(path.Clean(p), "/dev/")
	return ok && slices.ContainsFunc([]string{"sd", "hd", "vd", "xvd", "nvme", "mmcblk", "disk", "rdisk", "loop", "md", "dm-", "mapper/", "mem", "kmem"}, func(prefix string) bool {
		return strings.HasPrefix(name, prefix)
	})
}

func isRecursive(args []string) bool {
	return slices.ContainsFunc(args, func(a string) bool {
		return a == "--recursive" || strings.HasPrefix(a, "-") && !strings.HasPrefix(a, "--") && strings.ContainsAny(a, "rR")
	})
}

// commandsOf returns the commands that find runs.
func commandsOf(args []string) (commands [][]string) {
	for i, a := range args {
		if slices.Contains([]string{"-exec", "-execdir", "-ok", "-okdir"}, a) {
			commands = append(commands, withoutPrefixes(args[i+1:]))
		}
	}
	return commands
}

// deletes reports whether find deletes what it finds.
func deletes(args []string) bool {
	return slices.Contains(args, "-delete") || slices.ContainsFunc(commandsOf(args), func(words []string) bool {
		return slices.ContainsFunc(words[:min(1, len(words))], func(w string) bool { return path.Base(w) == "rm" })
	})
}

// startsOf returns the folders in which find searches.
func startsOf(args []string) []string {
	if i := slices.IndexFunc(args, func(a string) bool { return strings.HasPrefix(a, "-") && a != "-H" && a != "-L" && a != "-P" }); i >= 0 {
		args = args[:i]
	}
	return args
}

// stopsMachine reports whether the arguments of systemctl or loginctl stop the machine.
func stopsMachine(args []string) bool {
	starts := slices.Contains(args, "isolate") || slices.Contains(args, "start")
	return slices.ContainsFunc(args, func(a string) bool {
		unit, target := strings.CutSuffix(a, ".target")
		return (!target || starts) && slices.Contains([]string{"poweroff", "reboot", "soft-reboot", "halt", "kexec", "rescue", "emergency"}, unit)
	})
}

// isEraser reports whether a program with several uses erases a disk.
func isEraser(name string, args []string) bool {
	return slices.ContainsFunc(args, func(a string) bool {
		switch name {
		case "nvme":
			return a == "format" || a == "sanitize"
		case "hdparm":
			return strings.HasPrefix(a, "--security-erase") || strings.HasPrefix(a, "--trim-sector")
		case "cryptsetup":
			return slices.Contains([]string{"luksFormat", "luksErase", "erase", "reencrypt"}, a)
		case "mdadm":
			return a == "--zero-superblock"
		case "zpool":
			return a == "destroy"
		case "diskutil":
			return strings.HasPrefix(a, "erase")
		}
		return false
	})
}

// isSystemPath reports whether a path is the root, a folder that the system needs or a home folder, or a pattern for
// all of its content.
func isSystemPath(p string) bool {
	p = strings.TrimRight(p, "*")
	first, below, _ := strings.Cut(p, "/")
	if first == "$HOME" || strings.HasPrefix(first, "~") {
		p = path.Join("/home", "user", below) // of any user
	}
	if !path.IsAbs(p) {
		return false
	}
	parts := strings.Split(strings.TrimPrefix(path.Clean(p), "/"), "/")
	if parts[0] == "private" && len(parts) > 1 { // macOS has /private/var as /var
		parts = parts[1:]
	}
	switch first := parts[0]; {
	case first == "", strings.ContainsAny(first, "*?[{"):
		return true
	case slices.Contains([]string{"bin", "boot", "dev", "etc", "lib", "lib32", "lib64", "proc", "sbin", "sys", "usr", "System", "Library", "Applications", "Windows"}, first):
		return true
	case slices.Contains([]string{"home", "Users"}, first):
		return len(parts) <= 2 || isSecret(parts[2:])
	case first == "root":
		return len(parts) == 1 || isSecret(parts[1:])
	case first == "var" && len(parts) > 1:
		return len(parts) == 2 && parts[1] != "tmp" && parts[1] != "cache" || len(parts) == 3 && parts[1] == "lib"
	case slices.Contains([]string{"var", "opt", "srv", "mnt", "media", "run", "private"}, first):
		return len(parts) <= 2
	}
	return false
}

// isSecret reports whether a path below a home folder is one with keys or all settings.
func isSecret(parts []string) bool {
	return len(parts) == 1 && slices.Contains([]string{".ssh", ".gnupg", ".aws", ".kube", ".config", ".local", ".password-store"}, parts[0])
}
