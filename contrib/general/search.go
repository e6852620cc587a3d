package general

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math"
	"path"
	"regexp"
	"regexp/syntax"
	"slices"
	"strings"
	"time"

	"github.com/bmatcuk/doublestar/v4"

	"github.com/looptape/looptape/loop"
)

// Limits of the search tools.
const (
	maxMatches = 200
	maxWalked  = 5000
	maxNames   = 500
	maxLine    = 1000 // bytes of a line in the result of grep
	maxPattern = 4096 // bytes of a pattern
	maxSearch  = 30 * time.Second
)

func searchGroup(f *folder) group {
	return group{tools: []loop.Tool{
		tool("grep", fmt.Sprintf("Searches text files below a path for a regular expression (RE2). Returns lines of the form PATH:LINE: TEXT, %d at most. Hidden, binary and large files are skipped.", maxMatches), within(f, f.grep)),
		tool("glob", fmt.Sprintf("Lists files whose path matches a pattern: * within a name, ** for any folders, ? for one character. A pattern without / matches the name of the file. %d at most, hidden files are skipped.", maxNames), within(f, f.glob)),
		tool("tree", fmt.Sprintf("Shows files and folders below a path, indented; folders end with /. %d at most, hidden ones are skipped.", maxNames), within(f, f.tree)),
	}}
}

// within returns a search that ends after the time of the folder.
func within[In any](f *folder, search func(context.Context, In) (string, error)) func(context.Context, In) (string, error) {
	return func(ctx context.Context, in In) (string, error) {
		limit, cancel := context.WithTimeout(ctx, f.maxSearch) //nolint:forbidigo // it reads a disk in real time
		defer cancel()
		text, err := search(limit, in)
		if limit.Err() != nil && ctx.Err() == nil {
			return "", fmt.Errorf("the search took more than %s: search a smaller folder", f.maxSearch)
		}
		return text, err
	}
}

type grepArguments struct {
	Pattern    string `json:"pattern" jsonschema:"a regular expression"`
	Path       string `json:"path,omitempty" jsonschema:"a file or folder; the working folder if missing"`
	Include    string `json:"include,omitempty" jsonschema:"only files that match this glob, such as *.go"`
	IgnoreCase bool   `json:"ignore_case,omitempty"`
}

func (f *folder) grep(ctx context.Context, a grepArguments) (string, error) {
	expr := a.Pattern
	if a.IgnoreCase {
		expr = "(?i)" + expr
	}
	re, err := compiled(expr)
	if err != nil {
		return "", err
	}
	if err := checkGlob(a.Include); err != nil {
		return "", err
	}
	p, info, err := f.stat(a.Path)
	if err != nil {
		return "", err
	}
	var out strings.Builder
	found := 0
	search := func(at string) error {
		if err := ctx.Err(); err != nil {
			return err
		}
		data, err := f.read(at)
		if err != nil || isBinary(data) {
			return nil // such files are skipped, see the description
		}
		n, scanned := 0, 0
		for line := range strings.Lines(data) {
			n++
			if scanned += len(line); scanned > checkEvery {
				if scanned = 0; ctx.Err() != nil {
					return ctx.Err()
				}
			}
			line = strings.TrimRight(line, "\r\n")
			if !matches(ctx, re, line) {
				continue
			}
			if found == maxMatches {
				return errEnough
			}
			found++
			fmt.Fprintf(&out, "%s:%d: %s\n", shown(at), n, shortened(line))
		}
		return ctx.Err()
	}
	more := false
	if info.IsDir() {
		more, err = f.walk(p, maxWalked, func(at string, d fs.DirEntry) error {
			if err := ctx.Err(); err != nil {
				return err
			}
			if !d.Type().IsRegular() || a.Include != "" && !matchesGlob(a.Include, p, at) {
				return nil
			}
			return search(at)
		})
	} else {
		err = search(p)
	}
	switch {
	case errors.Is(err, errEnough):
		fmt.Fprintf(&out, "[cut: there are more than %d matches]\n", maxMatches)
	case err != nil:
		return "", reason(a.Path, err)
	}
	if more {
		fmt.Fprintf(&out, "[incomplete: only the first %d files and folders were searched]\n", maxWalked)
	}
	if out.Len() == 0 {
		return fmt.Sprintf("No line matches %q.", a.Pattern), nil
	}
	return cut(out.String()), nil
}

// maxInstructions limits a regular expression: the time to search a text is the product of its length and of them.
const maxInstructions = 2000

// compiled returns a regular expression, or an error for one with which a search would take too long.
func compiled(expr string) (*regexp.Regexp, error) {
	if len(expr) > maxPattern {
		return nil, fmt.Errorf("the pattern has more than %d bytes: use a shorter one", maxPattern)
	}
	re, err := regexp.Compile(expr)
	if err != nil {
		return nil, fmt.Errorf("the pattern is not a regular expression: %w", err)
	}
	var prog *syntax.Prog
	tree, err := syntax.Parse(expr, syntax.Perl)
	if err == nil {
		prog, err = syntax.Compile(tree.Simplify())
	}
	if err != nil {
		return nil, fmt.Errorf("the pattern is not a regular expression: %w", err)
	}
	if len(prog.Inst) > maxInstructions {
		return nil, fmt.Errorf("the pattern has %d instructions, more than %d: use smaller numbers of repetitions, such as {1,9}, or fewer of them", len(prog.Inst), maxInstructions)
	}
	return re, nil
}

var errEnough = errors.New("enough matches")

// checkEvery is the number of bytes after which a search looks whether it was stopped.
const checkEvery = 4096

// matches reports whether a line matches. It stops within a long line when ctx ends.
func matches(ctx context.Context, re *regexp.Regexp, line string) bool {
	if len(line) <= checkEvery {
		return re.MatchString(line)
	}
	return re.MatchReader(&stoppable{strings.NewReader(line), ctx, 0}) && ctx.Err() == nil
}

// stoppable is a text that ends when its context does.
type stoppable struct {
	text *strings.Reader
	ctx  context.Context //nolint:containedctx // of one call
	read int
}

// ReadRune implements io.RuneReader.
func (s *stoppable) ReadRune() (r rune, size int, err error) {
	if s.read++; s.read%checkEvery == 0 && s.ctx.Err() != nil {
		return 0, 0, io.EOF
	}
	return s.text.ReadRune()
}

// shortened returns at most maxLine bytes of a line.
func shortened(line string) string {
	if len(line) <= maxLine {
		return line
	}
	return strings.ToValidUTF8(line[:maxLine], "") + " [cut]"
}

// maxAlternatives limits the texts that the {a,b} of a glob become.
const maxAlternatives = 1000

// checkGlob returns an error for a pattern that is not a glob, or whose alternatives would take too long to compare.
func checkGlob(glob string) error {
	if len(glob) > maxPattern {
		return fmt.Errorf("the glob has more than %d bytes: use a shorter one", maxPattern)
	}
	if !doublestar.ValidatePattern(glob) {
		return fmt.Errorf("%q is not a glob", glob)
	}
	groups := float64(strings.Count(glob, "{"))
	most := math.Pow(1+float64(strings.Count(glob, ","))/groups, groups) // if each group has the same number
	if groups > 0 && most > maxAlternatives {
		return fmt.Errorf("the glob has more than %d alternatives in braces: use fewer", maxAlternatives)
	}
	return nil
}

// matchesGlob reports whether a path below a folder matches a glob: by its name, if the glob has no slash.
func matchesGlob(glob, dir, p string) bool {
	if !strings.Contains(glob, "/") {
		return doublestar.MatchUnvalidated(glob, path.Base(p))
	}
	if dir != "." {
		p = strings.TrimPrefix(p, dir+"/")
	}
	return doublestar.MatchUnvalidated(strings.TrimPrefix(glob, "./"), p)
}

type globArguments struct {
	Pattern string `json:"pattern"`
	Path    string `json:"path,omitempty" jsonschema:"the folder to search; the working folder if missing"`
}

func (f *folder) glob(ctx context.Context, a globArguments) (string, error) {
	if err := checkGlob(a.Pattern); err != nil {
		return "", err
	}
	p, info, err := f.stat(a.Path)
	if err != nil {
		return "", err
	}
	if !info.IsDir() {
		return "", fmt.Errorf("%q is a file, not a folder", a.Path)
	}
	var names []string
	more, err := f.walk(p, maxWalked, func(at string, d fs.DirEntry) error {
		switch {
		case ctx.Err() != nil:
			return ctx.Err()
		case d.IsDir() || !matchesGlob(a.Pattern, p, at):
			return nil
		case len(names) == maxNames:
			return errEnough
		}
		names = append(names, at)
		return nil
	})
	if err != nil && !errors.Is(err, errEnough) {
		return "", reason(a.Path, err)
	}
	slices.Sort(names)
	for i, name := range names {
		names[i] = shown(name)
	}
	if names == nil && !more {
		return fmt.Sprintf("No file matches %q.", a.Pattern), nil
	}
	return listing(names, errors.Is(err, errEnough), more), nil
}

// listing returns one line for each name, and what is missing.
func listing(names []string, more, incomplete bool) string {
	if more {
		names = append(names, fmt.Sprintf("[cut: there are more than %d]", maxNames))
	}
	if incomplete {
		names = append(names, fmt.Sprintf("[incomplete: only the first %d files and folders were searched]", maxWalked))
	}
	return cut(strings.Join(names, "\n") + "\n")
}

type treeArguments struct {
	Path     string `json:"path,omitempty" jsonschema:"the working folder if missing"`
	MaxDepth *int   `json:"max_depth,omitempty" jsonschema:"3 if missing"`
}

func (f *folder) tree(ctx context.Context, a treeArguments) (string, error) {
	p, info, err := f.stat(a.Path)
	if err != nil {
		return "", err
	}
	if !info.IsDir() {
		return fmt.Sprintf("%q is a file, not a folder.", a.Path), nil
	}
	depth := limited(a.MaxDepth, 3, 100)
	lines := []string{shown(path.Clean(p)) + "/"}
	prefix := strings.Count(p, "/") + 1
	if p == "." {
		prefix = 0
	}
	more, err := f.walk(p, maxWalked, func(at string, d fs.DirEntry) error {
		if err := ctx.Err(); err != nil {
			return err
		}
		if len(lines) > maxNames {
			return errEnough
		}
		level := strings.Count(at, "/") + 1 - prefix
		name := shown(d.Name())
		if d.IsDir() {
			name += "/"
		}
		lines = append(lines, strings.Repeat("  ", level)+name)
		if d.IsDir() && level == depth {
			return fs.SkipDir
		}
		return nil
	})
	if err != nil && !errors.Is(err, errEnough) {
		return "", reason(a.Path, err)
	}
	return listing(lines, errors.Is(err, errEnough), more), nil
}
