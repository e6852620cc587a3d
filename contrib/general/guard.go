package general

import (
	"path"
	"slices"
	"strings"

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
	dir := "" // that of the last cd
	syntax.Walk(file, func(n syntax.Node) bool {
		if why != "" {
			return false
		}
		switch n := n.(type) {
		case *syntax.CallExpr:
			if words := wordsOf(n.Args); len(words) > 1 && words[0] == "cd" {
				dir = in(dir, words[1])
			}
			why = dangerousCall(n.Args, dir, depth)
		case *syntax.BinaryCmd:
			if (n.Op == syntax.Pipe || n.Op == syntax.PipeAll) && downloads(n.X) && runs(n.Y) {
				why = whyDownload
			}
		case *syntax.FuncDecl:
			if forks(n) {
				why = whyForks
			}
		case *syntax.Stmt:
			why = dangerousRedirects(n)
		}
		return true
	})
	return why
}

// dangerousRedirects returns why the files of a command must not be opened.
func dangerousRedirects(s *syntax.Stmt) string {
	for _, r := range s.Redirs {
		switch {
		case r.Word == nil:
		case isOutput(r.Op) && isDisk(literal(r.Word)):
			return whyDisk
		case isOutput(r.Op) && literal(r.Word) == "/proc/sysrq-trigger":
			return whyShutdown
		case r.Op == syntax.WordHdoc && substitutesDownload([]*syntax.Word{r.Word}) && runs(s):
			return whyDownload
		}
	}
	return ""
}

// in returns a path that is relative to a folder, which may be unknown.
func in(dir, p string) string {
	if dir == "" || path.IsAbs(p) || strings.HasPrefix(p, "~") || strings.HasPrefix(p, "$HOME") {
		return p
	}
	return dir + "/" + p
}

func isOutput(op syntax.RedirOperator) bool {
	return slices.Contains([]syntax.RedirOperator{syntax.RdrOut, syntax.AppOut, syntax.RdrClob, syntax.RdrAll, syntax.AppAll, syntax.RdrInOut}, op)
}

// literal returns the text of a word without quotes. Expansions are kept as $NAME, $() or empty.
func literal(w *syntax.Word) string {
	var b strings.Builder
	var add func(parts []syntax.WordPart)
	add = func(parts []syntax.WordPart) {
		for _, p := range parts {
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

func wordsOf(args []*syntax.Word) (words []string) {
	for _, a := range args {
		words = append(words, literal(a))
	}
	return withoutPrefixes(words)
}

// dangerousCall returns why a simple command must not run. dir is where it runs, if that is known.
func dangerousCall(args []*syntax.Word, dir string, depth int) string {
	words := wordsOf(args)
	if len(words) == 0 {
		return ""
	}
	if name := path.Base(words[0]); (name == "eval" || isInterpreter(name)) && substitutesDownload(args) {
		return whyDownload
	}
	return dangerousWords(words, dir, depth)
}

// dangerousWords is dangerousCall for the words of a command.
func dangerousWords(words []string, dir string, depth int) string {
	if len(words) == 0 {
		return ""
	}
	name, rest := path.Base(words[0]), words[1:]
	isSystem := func(p string) bool { return isSystemPath(in(dir, p)) }
	switch {
	case slices.Contains([]string{"sudo", "sudoedit", "su", "doas", "pkexec", "runuser", "run0"}, name):
		return whyRights
	case strings.HasPrefix(name, "mkfs"), slices.Contains([]string{"fdisk", "sfdisk", "cfdisk", "gdisk", "sgdisk", "parted", "wipefs", "mkswap", "mke2fs", "blkdiscard", "badblocks"}, name),
		name == "dd" && slices.ContainsFunc(rest, func(a string) bool { return strings.HasPrefix(a, "of=") && isDisk(a[len("of="):]) }),
		slices.Contains([]string{"shred", "tee", "cp", "mv", "truncate"}, name) && slices.ContainsFunc(rest, isDisk):
		return whyDisk
	case name == "rm" && isRecursive(rest) && slices.ContainsFunc(rest, isSystem),
		name == "find" && (slices.Contains(rest, "-delete") || slices.ContainsFunc(rest, func(a string) bool { return path.Base(a) == "rm" })) && slices.ContainsFunc(startsOf(rest), isSystem):
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
		return nested(strings.Join(rest, " "), depth)
	case name == "trap" && len(rest) > 0:
		return nested(rest[0], depth)
	case name == "find":
		for i, a := range rest {
			if slices.Contains([]string{"-exec", "-execdir", "-ok", "-okdir"}, a) {
				if why := dangerousWords(withoutPrefixes(rest[i+1:]), dir, depth); why != "" {
					return why
				}
			}
		}
	case isShell(name):
		for i, a := range rest[:max(0, len(rest)-1)] {
			if strings.HasPrefix(a, "-") && !strings.HasPrefix(a, "--") && strings.HasSuffix(a, "c") {
				return nested(rest[i+1], depth)
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

// substitutesDownload reports whether the output of a download is in one of the words.
func substitutesDownload(args []*syntax.Word) (found bool) {
	for _, a := range args {
		syntax.Walk(a, func(n syntax.Node) bool {
			switch n := n.(type) {
			case *syntax.CmdSubst:
				found = found || slices.ContainsFunc(n.Stmts, downloads)
			case *syntax.ProcSubst:
				found = found || slices.ContainsFunc(n.Stmts, downloads)
			}
			return !found
		})
	}
	return found
}

// calls reports whether a command contains such a simple command.
func calls(s syntax.Node, is func(name string, arguments []string) bool) (found bool) {
	syntax.Walk(s, func(n syntax.Node) bool {
		if c, ok := n.(*syntax.CallExpr); ok {
			words := wordsOf(c.Args)
			found = found || len(words) > 0 && is(path.Base(words[0]), words[1:])
		}
		return !found
	})
	return found
}

func downloads(s *syntax.Stmt) bool {
	return calls(s, func(name string, _ []string) bool {
		return slices.Contains([]string{"curl", "wget", "fetch", "aria2c", "http", "https", "lynx"}, name)
	})
}

// runs reports whether a command runs its standard input: it is an interpreter without a script in its arguments.
func runs(s *syntax.Stmt) bool {
	return calls(s, func(name string, arguments []string) bool {
		if !isInterpreter(name) {
			return name == "eval" || name == "sudo"
		}
		for _, a := range arguments {
			switch {
			case a == "-", a == "/dev/stdin", isShell(name) && strings.HasPrefix(a, "-") && !strings.HasPrefix(a, "--") && strings.Contains(a, "s"):
				return true
			case !strings.HasPrefix(a, "-"):
				return false
			}
		}
		return true
	})
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
			found = found || (n.Op == syntax.Pipe || n.Op == syntax.PipeAll) && calls(n, self)
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
	p = strings.TrimSuffix(strings.TrimRight(p, "*"), ".")
	if p == "" {
		return false
	}
	if slices.Contains([]string{"~", "~/", "$HOME", "$HOME/"}, p) || strings.HasPrefix(p, "~") && !strings.Contains(p, "/") {
		return true
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
