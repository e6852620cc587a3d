package general

import (
	"maps"
	"path"
	"slices"
	"strconv"
	"strings"

	"mvdan.cc/sh/v3/syntax"
)

// maxAssigned limits the variables that get the value of one another.
const maxAssigned = 20

// findDownloads sets the functions, and the variables and nodes with downloads: what gets its value from a download is
// one, too.
func (g *guard) findDownloads(file *syntax.File) {
	constants := maps.Clone(g.values)
	syntax.Walk(file, func(n syntax.Node) bool {
		if f, ok := n.(*syntax.FuncDecl); ok {
			g.functions[f.Name.Value] = f.Body
		}
		g.assign(n) // such as the name of a program that downloads
		return true
	})
	for range maxAssigned {
		before := len(g.variables)
		g.mark(file)
		syntax.Walk(file, func(n syntax.Node) bool {
			g.spread(n)
			return true
		})
		if len(g.variables) == before {
			break
		}
	}
	g.values = constants
}

// downloaders are programs that print what they download.
var downloaders = []string{"curl", "wget", "wget2", "fetch", "aria2c", "http", "https", "xh", "lynx", "w3m", "nc", "ncat", "netcat"}

// filters are programs that print their input.
var filters = []string{"cat", "tee", "head", "tail", "sed", "tr", "grep", "base64", "gzip", "gunzip", "zcat", "xz"}

// mark marks the nodes that contain a download.
func (g *guard) mark(file *syntax.File) {
	g.downloads = map[syntax.Node]bool{}
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
			if words := g.words(n.Args, false); len(words) > 0 {
				name := path.Base(words[0])
				is = slices.Contains(downloaders, name) || g.prints(name, words[1:]) || g.variables[name+"()"] || g.readsDownload() && slices.Contains(filters, name) ||
					slices.ContainsFunc(words[1:], func(w string) bool { return g.variables[descriptor(w)] })
			}
		case *syntax.ParamExp:
			is = n.Param != nil && g.variables[n.Param.Value]
		case *syntax.Redirect:
			is = n.Op == syntax.DplIn && g.reads(n)
		}
		for i := len(around) - 1; is && i >= 0 && !g.downloads[around[i]]; i-- {
			g.downloads[around[i]] = true
		}
		return true
	})
}

// prints reports whether a shell runs a script that has a download.
func (g *guard) prints(name string, arguments []string) bool {
	p := programOf(name, arguments)
	if name == "eval" {
		p = program{script: strings.Join(arguments, " "), inArguments: true}
	}
	if !p.inArguments {
		return false
	}
	inner := g.inner(false, p.rest)
	file, err := inner.parse(p.script)
	if err != nil {
		return false
	}
	inner.findDownloads(file)
	return inner.downloads[file]
}

// spread adds the variables, functions and file descriptors to which a node gives a download.
func (g *guard) spread(n syntax.Node) {
	switch n := n.(type) {
	case *syntax.Assign:
		if n.Name != nil && (n.Value != nil && g.hasDownload(n.Value) || n.Array != nil && g.hasDownload(n.Array)) {
			g.variables[n.Name.Value] = true
		}
	case *syntax.ParamExp: // ${NAME:=VALUE}
		if n.Exp != nil && (n.Exp.Op == syntax.AssignUnset || n.Exp.Op == syntax.AssignUnsetOrNull) && n.Exp.Word != nil && g.hasDownload(n.Exp.Word) {
			g.variables[n.Param.Value] = true
		}
	case *syntax.ForClause:
		if loop, ok := n.Loop.(*syntax.WordIter); ok && slices.ContainsFunc(loop.Items, func(w *syntax.Word) bool { return g.hasDownload(w) }) {
			g.variables[loop.Name.Value] = true
		}
	case *syntax.FuncDecl:
		if g.downloads[n.Body] {
			g.variables[n.Name.Value+"()"] = true
		}
	case *syntax.CoprocClause:
		if g.downloads[n.Stmt] {
			g.variables["COPROC"] = true
			if n.Name != nil {
				g.variables[g.literal(n.Name, false, 0)] = true
			}
		}
	case *syntax.CallExpr:
		g.spreadCall(g.words(n.Args, true))
	case *syntax.Stmt:
		for _, r := range n.Redirs {
			if g.reads(r) {
				g.spreadRedirect(n, r)
			}
		}
	case *syntax.BinaryCmd:
		if isPipe(n) && g.downloads[n.X] {
			g.addReads(n.Y)
		}
	}
}

func (g *guard) spreadCall(words []string) {
	if len(words) == 0 {
		return
	}
	switch name := words[0]; {
	case name == "printf" && len(words) > 2 && words[1] == "-v" && hasDownloadIn(words[3:]):
		g.variables[words[2]] = true
	case name == "set" && len(words) > 1 && words[1] == "--":
		g.addPositional(words[2:])
	case name == "set" || g.functions[name] != nil:
		g.addPositional(words[1:])
	case name == "shift" && g.variables["@"]: // any may be the first one
		g.addPositional(slices.Repeat([]string{download}, 9))
	case slices.Contains(readers, name):
		from := "0"
		for i, w := range words {
			if value, ok := strings.CutPrefix(w, "-u"); ok {
				from = strings.Join(append([]string{value}, words[i+1:min(i+2, len(words))]...), " ")
				from, _, _ = strings.Cut(strings.TrimSpace(from), " ")
			}
		}
		if from == "0" && g.readsDownload() || from == download || g.variables["/dev/fd/"+from] {
			g.addRead(words)
		}
	}
}

// spreadRedirect adds what a command gets from a redirection that reads a download.
func (g *guard) spreadRedirect(s *syntax.Stmt, r *syntax.Redirect) {
	call, _ := s.Cmd.(*syntax.CallExpr)
	switch {
	case r.N != nil && strings.HasPrefix(r.N.Value, "{"):
		g.variables[strings.Trim(r.N.Value, "{}")] = true
	case r.N != nil && r.N.Value != "0":
		g.variables["/dev/fd/"+r.N.Value] = true
	case call != nil && len(call.Args) == 1 && g.literal(call.Args[0], false, 0) == "exec":
		g.variables["/dev/fd/0"] = true
	case s.Cmd != nil:
		g.addReads(s.Cmd)
	}
}

// readers are commands that read their input into variables.
var readers = []string{"read", "mapfile", "readarray"}

// addReads adds the variables that a command reads, which may be a loop.
func (g *guard) addReads(command syntax.Node) {
	syntax.Walk(command, func(n syntax.Node) bool {
		if call, ok := n.(*syntax.CallExpr); ok {
			if words := g.words(call.Args, false); len(words) > 0 && slices.Contains(readers, words[0]) {
				g.addRead(words)
			}
		}
		return true
	})
}

func (g *guard) addRead(words []string) {
	for _, name := range append(words[1:], "REPLY", "MAPFILE") {
		if !strings.HasPrefix(name, "-") {
			g.variables[name] = true
		}
	}
}

// addPositional adds $1, $2, … for the arguments with a download, and all of them as $@ and $*.
func (g *guard) addPositional(arguments []string) {
	for i, a := range arguments {
		if strings.Contains(a, download) {
			g.variables[strconv.Itoa(i+1)], g.variables["@"], g.variables["*"] = true, true, true
		}
	}
}

// descriptor returns /dev/fd/N for a path of a file descriptor, otherwise the path.
func descriptor(p string) string {
	if n, ok := strings.CutPrefix(p, "/proc/self/fd/"); ok {
		return "/dev/fd/" + n
	}
	return p
}

// readsDownload reports whether the standard input of the script is a download.
func (g *guard) readsDownload() bool { return g.stdin || g.variables["/dev/fd/0"] }

// reads reports whether the input of a command is the output of a download.
func (g *guard) reads(r *syntax.Redirect) bool {
	if r.Op == syntax.DplIn && r.Word != nil && g.variables["/dev/fd/"+g.literal(r.Word, false, 0)] {
		return true
	}
	return !isOutput(r.Op) && (r.Word != nil && g.hasDownload(r.Word) || r.Hdoc != nil && g.hasDownload(r.Hdoc))
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

// Limits of the constants of variables.
const (
	maxValue  = 1000 // bytes
	maxValues = 100  // of one variable
)

// assign sets the constants that a node gives to variables.
func (g *guard) assign(n syntax.Node) {
	switch n := n.(type) {
	case *syntax.Assign:
		if n.Name == nil || n.Naked {
			return
		}
		name, value := n.Name.Value, ""
		if n.Value != nil {
			value = g.literal(n.Value, false, 0)
		}
		if before := g.values[name]; n.Append && len(before) > 0 {
			value = before[0] + value
		}
		if g.values[name] = []string{value}; n.Array != nil || n.Index != nil || len(value) > maxValue {
			delete(g.values, name)
		}
	case *syntax.ForClause:
		if loop, ok := n.Loop.(*syntax.WordIter); ok {
			delete(g.values, loop.Name.Value)
			if words := g.expanded(loop.Items, false); len(words) > 0 {
				g.values[loop.Name.Value] = words[:min(len(words), maxValues)]
			}
		}
	case *syntax.CallExpr:
		words := g.words(n.Args, false)
		switch {
		case len(words) > 1 && slices.Contains(readers, words[0]):
			for _, name := range words[1:] {
				delete(g.values, name)
			}
		case len(words) > 2 && words[0] == "set" && words[1] == "--":
			g.values["@"], g.values["*"] = words[2:], words[2:]
			for i, w := range words[2:min(len(words), 11)] {
				g.values[string(rune('1'+i))] = []string{w}
			}
		}
	}
}

func isPipe(n *syntax.BinaryCmd) bool { return n.Op == syntax.Pipe || n.Op == syntax.PipeAll }

// calls reports whether a command contains such a simple command.
func (g *guard) calls(s syntax.Node, is func(name string, arguments []string) bool) (found bool) {
	syntax.Walk(s, func(n syntax.Node) bool {
		if c, ok := n.(*syntax.CallExpr); ok {
			words := g.words(c.Args, false)
			found = found || len(words) > 0 && is(path.Base(words[0]), words[1:])
		}
		return !found
	})
	return found
}

// reaches reports whether a command contains such a simple command, or calls a function that does.
func (g *guard) reaches(s syntax.Node, is func(name string, arguments []string) bool) bool {
	seen := map[string]bool{}
	var reached func(name string, arguments []string) bool
	reached = func(name string, arguments []string) bool {
		if is(name, arguments) {
			return true
		}
		if body := g.functions[name]; body != nil && !seen[name] {
			seen[name] = true
			return g.calls(body, reached)
		}
		return false
	}
	return g.calls(s, reached)
}

// runs reports whether a command runs its standard input: it is an interpreter without a script in its arguments, or
// the script does.
func (g *guard) runs(n syntax.Node) bool {
	return g.reaches(n, func(name string, arguments []string) bool {
		if !isInterpreter(name) {
			return name == "eval" || name == "sudo"
		}
		p := programOf(name, arguments)
		return p.readsStdin() || p.inArguments && g.nested(p.script, true, p.rest...) == whyDownload
	})
}

// forks reports whether a function calls itself in a pipeline or in the background.
func (g *guard) forks(f *syntax.FuncDecl) (found bool) {
	self := func(name string, _ []string) bool { return name == f.Name.Value }
	syntax.Walk(f.Body, func(n syntax.Node) bool {
		switch n := n.(type) {
		case *syntax.BinaryCmd:
			found = found || isPipe(n) && g.reaches(n, self)
		case *syntax.Stmt:
			found = found || n.Background && g.reaches(n, self)
		}
		return !found
	})
	return found
}
