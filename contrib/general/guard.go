package general

import (
	"path"
	"slices"
	"strings"

	"mvdan.cc/sh/v3/expand"
	"mvdan.cc/sh/v3/syntax"
)

// dangerous returns why a shell command must not run, or "". It reads the command with a parser of
// bash, and also reads the arguments of eval and sh -c. It detects the usual forms only: it is no sandbox.
func dangerous(command string) string { return dangerousScript(command, 0) }

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

// dangerousScript is dangerous for a script within others, depth of them.
func dangerousScript(text string, depth int) (why string) {
	if depth > maxNested {
		return whyNested
	}
	file, err := syntax.NewParser(syntax.Variant(syntax.LangBash)).Parse(strings.NewReader(text), "")
	if err != nil {
		return whyInvalid
	}
	g := &guard{depth: depth, variables: map[string]bool{}, downloads: map[syntax.Node]bool{}}
	g.findDownloads(file)
	syntax.Walk(file, func(n syntax.Node) bool {
		if why != "" {
			return false
		}
		switch n := n.(type) {
		case *syntax.CallExpr:
			words := g.words(n.Args)
			if len(words) > 1 && words[0] == "cd" {
				g.dir = in(g.dir, words[1])
			}
			why = g.dangerousWords(words)
		case *syntax.BinaryCmd:
			if isPipe(n) {
				why = g.dangerousPipe(n)
			}
		case *syntax.FuncDecl:
			if forks(n) {
				why = whyForks
			}
		case *syntax.Stmt:
			why = g.dangerousRedirects(n)
		}
		return true
	})
	return why
}

// guard checks one script.
type guard struct {
	depth     int                  // number of scripts around it
	dir       string               // that of the last cd
	variables map[string]bool      // with the output of a download
	downloads map[syntax.Node]bool // that contain a download, or such a variable
}

// maxAssigned limits the variables that get the value of one another.
const maxAssigned = 20

// findDownloads sets the variables and nodes with downloads.
func (g *guard) findDownloads(file *syntax.File) {
	for range maxAssigned {
		before := len(g.variables)
		g.mark(file)
		syntax.Walk(file, func(n syntax.Node) bool {
			switch n := n.(type) {
			case *syntax.Assign:
				if n.Name != nil && (n.Value != nil && g.hasDownload(n.Value) || n.Array != nil && g.hasDownload(n.Array)) {
					g.variables[n.Name.Value] = true
				}
			case *syntax.Stmt:
				if call, ok := n.Cmd.(*syntax.CallExpr); ok && slices.ContainsFunc(n.Redirs, g.reads) {
					g.addRead(call)
				}
			case *syntax.BinaryCmd:
				if call, ok := n.Y.Cmd.(*syntax.CallExpr); ok && isPipe(n) && g.downloads[n.X] {
					g.addRead(call)
				}
			}
			return true
		})
		if len(g.variables) == before {
			return
		}
	}
}

// mark marks the nodes that contain a download.
func (g *guard) mark(file *syntax.File) {
	var around []syntax.Node
	syntax.Walk(file, func(n syntax.Node) bool {
		if n == nil {
			around = around[:len(around)-1]
			return true
		}
		around = append(around, n)
		is := false
		switch n := n.(type) {
		case *syntax.CallExpr:
			words := plainWords(n.Args)
			is = len(words) > 0 && slices.Contains([]string{"curl", "wget", "fetch", "aria2c", "http", "https", "lynx"}, path.Base(words[0]))
		case *syntax.ParamExp:
			is = n.Param != nil && g.variables[n.Param.Value]
		}
		for i := len(around) - 1; is && i >= 0 && !g.downloads[around[i]]; i-- {
			g.downloads[around[i]] = true
		}
		return true
	})
}

func isPipe(n *syntax.BinaryCmd) bool { return n.Op == syntax.Pipe || n.Op == syntax.PipeAll }

// addRead adds the variables that a command reads.
func (g *guard) addRead(call *syntax.CallExpr) {
	words := plainWords(call.Args)
	if len(words) == 0 || !slices.Contains([]string{"read", "mapfile", "readarray"}, words[0]) {
		return
	}
	for _, name := range append(words[1:], "REPLY", "MAPFILE") {
		if !strings.HasPrefix(name, "-") {
			g.variables[name] = true
		}
	}
}

// dangerousPipe returns why the output of a command must not be the input of another one.
func (g *guard) dangerousPipe(n *syntax.BinaryCmd) string {
	if g.downloads[n.X] && runs(n.Y) {
		return whyDownload
	}
	return g.dangerousXargs(n.Y, func() (printed []string) {
		calls(n.X, func(name string, arguments []string) bool {
			switch name {
			case "echo", "printf", "ls":
				printed = append(printed, arguments...)
			case "find":
				printed = append(printed, startsOf(arguments)...)
			}
			return false
		})
		return printed
	})
}

// dangerousXargs returns why xargs must not run a command with an input.
func (g *guard) dangerousXargs(command syntax.Node, input func() []string) (why string) {
	syntax.Walk(command, func(n syntax.Node) bool {
		call, ok := n.(*syntax.CallExpr)
		if why != "" || !ok {
			return why == ""
		}
		words := expanded(call.Args, nil)
		if !slices.ContainsFunc(words, func(w string) bool { return path.Base(w) == "xargs" }) {
			return true
		}
		if g.dangerousWords(append(withoutPrefixes(words), "/")) == "" && !strings.Contains(strings.Join(words, " "), "{}") {
			return true // whatever its input is
		}
		more := strings.Fields(strings.Join(input(), " "))
		for i, w := range words { // of xargs -I {}
			words[i] = strings.ReplaceAll(w, "{}", strings.Join(more, " "))
		}
		why = g.dangerousWords(append(withoutPrefixes(words), more...))
		return true
	})
	return why
}

// dangerousRedirects returns why the files of a command must not be opened.
func (g *guard) dangerousRedirects(s *syntax.Stmt) string {
	for _, r := range s.Redirs {
		switch {
		case s.Cmd != nil && g.reads(r) && runs(s.Cmd):
			return whyDownload
		case r.Word == nil:
		case isOutput(r.Op) && isDisk(literal(r.Word, nil)):
			return whyDisk
		case isOutput(r.Op) && literal(r.Word, nil) == "/proc/sysrq-trigger":
			return whyShutdown
		case isOutput(r.Op) && s.Cmd != nil && g.downloads[s.Cmd] && runs(r.Word):
			return whyDownload
		case r.Op == syntax.WordHdoc && s.Cmd != nil:
			if why := g.dangerousXargs(s.Cmd, func() []string { return []string{literal(r.Word, nil)} }); why != "" {
				return why
			}
		}
	}
	return ""
}

// reads reports whether the input of a command is the output of a download.
func (g *guard) reads(r *syntax.Redirect) bool {
	return !isOutput(r.Op) && (r.Word != nil && g.hasDownload(r.Word) || r.Hdoc != nil && g.hasDownload(r.Hdoc))
}

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

// download is in the text of words for the output of a download.
const download = "\x00"

// literal returns the text of a word without quotes. Expansions are kept as $NAME, $() or empty, and as download
// if isDownload, which may be nil, is true for them.
func literal(w *syntax.Word, isDownload func(syntax.Node) bool) string {
	var b strings.Builder
	var add func(parts []syntax.WordPart)
	add = func(parts []syntax.WordPart) {
		for _, p := range parts {
			if _, quoted := p.(*syntax.DblQuoted); !quoted && isDownload != nil && isDownload(p) {
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
				if p.Param != nil {
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
	"stdbuf": "-i -o -e", "setsid": "", "busybox": "", "watch": "-n", "chroot": "", "unshare": "", "strace": "-e -o -p",
}

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
		if first == "timeout" && len(words) > 0 { // the duration
			words = words[1:]
		}
	}
	return words
}

// plainWords returns the words of the command that is run in the end.
func plainWords(args []*syntax.Word) []string { return withoutPrefixes(expanded(args, nil)) }

// words is plainWords with download in the words with the output of one.
func (g *guard) words(args []*syntax.Word) []string {
	return withoutPrefixes(expanded(args, g.hasDownload))
}

// maxBraces limits the words that {a,b} and {1..9} in a word become.
const maxBraces = 1000

// expanded returns words with their braces expanded.
func expanded(args []*syntax.Word, isDownload func(syntax.Node) bool) (words []string) {
	for _, a := range args {
		w := &syntax.Word{Parts: slices.Clone(a.Parts)} // SplitBraces changes it
		if !syntax.SplitBraces(w) {
			words = append(words, literal(a, isDownload))
			continue
		}
		n := 0
		for e, err := range expand.BracesSeq(nil, w) {
			if n++; err != nil || n > maxBraces {
				break
			}
			words = append(words, literal(e, isDownload))
		}
	}
	return words
}

// dangerousWords returns why a simple command must not run.
func (g *guard) dangerousWords(words []string) string {
	if len(words) == 0 {
		return ""
	}
	name, rest := path.Base(words[0]), words[1:]
	isSystem := func(p string) bool { return isSystemPath(in(g.dir, p)) }
	switch {
	case strings.Contains(words[0], download), (name == "eval" || name == "trap") && strings.Contains(strings.Join(rest, ""), download), isInterpreter(name) && strings.Contains(scriptOf(name, rest), download):
		return whyDownload
	case slices.Contains([]string{"sudo", "sudoedit", "su", "doas", "pkexec", "runuser", "run0"}, name):
		return whyRights
	case strings.HasPrefix(name, "mkfs"), slices.Contains([]string{"fdisk", "sfdisk", "cfdisk", "gdisk", "sgdisk", "parted", "wipefs", "mkswap", "mke2fs", "blkdiscard", "badblocks"}, name),
		name == "dd" && slices.ContainsFunc(rest, func(a string) bool { return strings.HasPrefix(a, "of=") && isDisk(a[len("of="):]) }),
		slices.Contains([]string{"shred", "tee", "cp", "mv", "truncate"}, name) && slices.ContainsFunc(rest, isDisk):
		return whyDisk
	case name == "rm" && isRecursive(rest) && slices.ContainsFunc(rest, isSystem),
		name == "find" && deletes(rest) && slices.ContainsFunc(startsOf(rest), isSystem):
		return whyDelete
	case slices.Contains([]string{"shutdown", "reboot", "halt", "poweroff"}, name),
		(name == "init" || name == "telinit") && (slices.Contains(rest, "0") || slices.Contains(rest, "6")),
		name == "systemctl" && slices.ContainsFunc(rest, func(a string) bool {
			return slices.Contains([]string{"poweroff", "reboot", "halt", "kexec", "rescue", "emergency"}, a)
		}):
		return whyShutdown
	case name == "killall5", name == "kill" && len(rest) > 1 && slices.Contains(rest[1:], "-1"):
		return whySignal
	case name == "eval":
		return nested(strings.Join(rest, " "), g.depth)
	case name == "trap" && len(rest) > 0:
		return nested(rest[0], g.depth)
	case name == "find":
		for _, command := range commandsOf(rest) {
			if why := g.dangerousWords(command); why != "" {
				return why
			}
		}
	case isShell(name):
		for i, a := range rest[:max(0, len(rest)-1)] {
			if strings.HasPrefix(a, "-") && !strings.HasPrefix(a, "--") && strings.HasSuffix(a, "c") {
				return nested(rest[i+1], g.depth)
			}
		}
	}
	return ""
}

// nested returns why a script in an argument must not run.
func nested(script string, depth int) string {
	if why := dangerousScript(script, depth+1); why != whyInvalid {
		return why
	}
	return "" // words that are known only when it runs
}

// hasDownload reports whether the output of a download is in a substitution or a variable of a node.
func (g *guard) hasDownload(of syntax.Node) (found bool) {
	syntax.Walk(of, func(n syntax.Node) bool {
		switch n := n.(type) {
		case *syntax.CmdSubst, *syntax.ParamExp:
			found = found || g.downloads[n]
		case *syntax.ProcSubst:
			found = found || n.Op == syntax.CmdIn && g.downloads[n]
		}
		return !found
	})
	return found
}

// calls reports whether a command contains such a simple command.
func calls(s syntax.Node, is func(name string, arguments []string) bool) (found bool) {
	syntax.Walk(s, func(n syntax.Node) bool {
		if c, ok := n.(*syntax.CallExpr); ok {
			words := plainWords(c.Args)
			found = found || len(words) > 0 && is(path.Base(words[0]), words[1:])
		}
		return !found
	})
	return found
}

// runs reports whether a command runs its standard input: it is an interpreter without a script in its arguments.
func runs(n syntax.Node) bool {
	return calls(n, func(name string, arguments []string) bool {
		if !isInterpreter(name) {
			return name == "eval" || name == "sudo"
		}
		return slices.Contains([]string{"", "-", "/dev/stdin", "/dev/fd/0", "/proc/self/fd/0"}, scriptOf(name, arguments))
	})
}

// valued returns the options of an interpreter that have a value, which is no script.
func valued(name string) string {
	switch {
	case isShell(name):
		return "-o +o -O +O --rcfile --init-file"
	case strings.HasPrefix(name, "python"):
		return "-W -X"
	}
	return map[string]string{"perl": "-I", "ruby": "-I -r -E", "node": "-r --require --import --loader", "php": "-c -d"}[name]
}

// scriptOf returns the argument of an interpreter that is its script or the name of its file. It is empty if there is
// none: the interpreter reads its standard input.
func scriptOf(name string, arguments []string) string {
	withValue := strings.Fields(valued(name))
	for i := 0; i < len(arguments); i++ {
		a := arguments[i]
		isOption := len(a) > 1 && (a[0] == '-' || isShell(name) && a[0] == '+')
		isGroup := isOption && isShell(name) && !strings.HasPrefix(a, "--") // such as -euo
		switch {
		case isGroup && strings.Contains(a, "s"):
			return ""
		case slices.Contains(withValue, a), isGroup && strings.HasSuffix(a, "o"):
			i++
		case !isOption:
			return a
		}
	}
	return ""
}

// isInterpreter reports whether a program runs scripts.
func isInterpreter(name string) bool {
	return isShell(name) || strings.HasPrefix(name, "python") || slices.Contains([]string{"source", ".", "perl", "ruby", "node", "php"}, name)
}

func isShell(name string) bool {
	return slices.Contains([]string{"sh", "bash", "dash", "zsh", "ksh", "ash", "fish"}, name)
}

// forks reports whether a function calls itself in a pipeline or in the background.
func forks(f *syntax.FuncDecl) (found bool) {
	self := func(name string, _ []string) bool { return name == f.Name.Value }
	syntax.Walk(f.Body, func(n syntax.Node) bool {
		switch n := n.(type) {
		case *syntax.BinaryCmd:
			found = found || isPipe(n) && calls(n, self)
		case *syntax.Stmt:
			found = found || n.Background && calls(n, self)
		}
		return !found
	})
	return found
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

// isSystemPath reports whether a path is the root, a folder of the system or a home folder, or a pattern for
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
	switch first := parts[0]; {
	case first == "", strings.ContainsAny(first, "*?[{"):
		return true
	case slices.Contains([]string{"bin", "boot", "dev", "etc", "lib", "lib32", "lib64", "proc", "sbin", "sys", "usr", "System", "Library", "Applications", "Windows"}, first):
		return true
	case slices.Contains([]string{"home", "Users"}, first):
		return len(parts) <= 2
	case slices.Contains([]string{"root", "var", "opt", "srv", "mnt", "media", "run", "private"}, first):
		return len(parts) == 1
	}
	return false
}
