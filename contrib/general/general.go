// Package general has general-purpose tools for agents, in five groups: web (fetch, curl), search
// (grep, glob, tree), text (head, tail, diff), git (git_status, git_diff, git_log, git_show, git_blame)
// and shell (shell).
//
// A tool is there only if it can work: those of search and text need a working folder, those of git
// need a repository in it that the program git can read, those of web need hosts that they may ask, and that of
// shell needs a working folder and a [Runner]. [Tools.Missing] names the groups without tools, with the
// reason.
//
// All tools but shell stay in the working folder: "..", absolute paths and links that lead out of it
// are refused. For search and text, this is also true if another program changes a link at that moment.
// The results of all tools are limited in size, and each call in time. A tool that fails returns a text
// that begins with "Error:".
package general

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/looptape/looptape/loop"
)

// Config says what the tools may use. Its zero value permits nothing.
type Config struct {
	// Dir is the working folder of search, text, git and shell.
	Dir string
	// Hosts are the hosts that the web tools may ask: "example.org" is this host with any port,
	// "*.example.org" are the hosts below it, "*" is any host, "192.0.2.1" and "2001:db8::1" are addresses.
	// Case and a final dot do not count, and a name is equal to its form in ASCII (xn--…). The web tools refuse
	// addresses that are not public, such as those of the loopback interface and of private networks, unless
	// PrivateHosts is true. Both rules also apply to redirects, and to the addresses that a name resolves to.
	Hosts        []string
	PrivateHosts bool
	// Transport sends the requests of the web tools instead of a transport of their own. With it, the
	// addresses of names are not checked, because it resolves them itself.
	Transport http.RoundTripper
	// WebTimeout limits a request with its redirects and its body; 0 means 30 seconds.
	WebTimeout time.Duration
	// Shell runs the commands of the tool shell, such as [Local], which needs a Unix system. The group has no tool
	// without a Runner that works. Give
	// the tool to an agent whose calls a person approves: its folder is only where commands start.
	Shell Runner
}

// Tools are the tools of one configuration that can work. Their methods are safe for concurrent use.
type Tools struct {
	groups  []group
	missing []string
	root    *os.Root // nil without a working folder
}

type group struct {
	name  string
	tools []loop.Tool
	wrap  func(loop.ToolFunc) loop.ToolFunc // may be nil
}

// New returns the tools that can work. It returns an error if the working folder cannot be opened, and for an
// element of Hosts that no host can match.
// The caller must call Close after use. cfg may be nil.
func New(cfg *Config) (*Tools, error) {
	own := *cmp.Or(cfg, &Config{})
	cfg = &own
	var err error
	if own.Hosts, err = hostRules(cfg); err != nil {
		return nil, fmt.Errorf("general: %w", err)
	}
	t := &Tools{}
	if cfg.Dir != "" {
		dir, err := filepath.Abs(cfg.Dir)
		var root *os.Root
		if err == nil {
			root, err = os.OpenRoot(dir)
		}
		if err != nil {
			return nil, fmt.Errorf("general: the working folder: %w", err)
		}
		t.root = root
	}
	f := &folder{t.root, maxSearch}
	const noDir = "no working folder (Config.Dir)"
	t.add("web", "no hosts that may be asked (Config.Hosts)", len(cfg.Hosts) > 0, func() group { return webGroup(cfg) })
	t.add("search", noDir, t.root != nil, func() group { return searchGroup(f) })
	t.add("text", noDir, t.root != nil, func() group { return textGroup(f) })
	git, why := &gitTools{folder: f}, noDir
	if t.root != nil {
		git.dir = t.root.Name()
		if git.git, why = repository(t.root); why == "" {
			why = git.broken()
		}
	}
	t.add("git", why, why == "", func() group { return gitGroup(git) })
	why = noDir
	if t.root != nil {
		why = whyNoRunner(cfg.Shell, hasLocal)
	}
	t.add("shell", why, why == "", func() group { return shellGroup(cfg.Shell, t.root.Name()) })
	return t, nil
}

func (t *Tools) add(name, why string, works bool, tools func() group) {
	if !works {
		t.missing = append(t.missing, name+": "+why)
		return
	}
	g := tools()
	g.name = name
	t.groups = append(t.groups, g)
}

// Close releases the working folder.
func (t *Tools) Close() error {
	if t.root == nil {
		return nil
	}
	return t.root.Close()
}

// Missing names each group without tools, with the reason.
func (t *Tools) Missing() []string { return t.missing }

// Middleware returns one middleware for each group with tools, in the order web, search, text, git,
// shell.
func (t *Tools) Middleware() (list []loop.Middleware) {
	for _, g := range t.groups {
		list = append(list, loop.Middleware{Name: g.name, New: func(loop.RunInfo) loop.Hooks {
			return loop.Hooks{Tools: g.tools, WrapTool: g.wrap}
		}})
	}
	return list
}

// tool returns a tool whose errors are texts that begin with "Error:".
func tool[In any](name, description string, run func(ctx context.Context, in In) (string, error)) loop.Tool {
	t, err := loop.NewTool(name, description, func(ctx context.Context, in In) (loop.Output, error) {
		text, err := run(ctx, in)
		if ctx.Err() != nil && err != nil {
			return loop.Output{}, context.Cause(ctx)
		}
		if err != nil {
			return failed(err.Error()), nil
		}
		return loop.TextOutput(text), nil
	})
	if err != nil {
		panic(err) // the schema of a type of this package
	}
	return t
}

func failed(reason string) loop.Output {
	out := loop.TextOutput("Error: " + reason)
	out.IsError = true
	return out
}

// maxOutput limits results, in bytes.
const maxOutput = 200_000

// cut returns at most maxOutput bytes of a text, which ends with a character, and a note if there is
// more.
func cut(text string) string {
	if len(text) <= maxOutput {
		return text
	}
	text = firstBytes(text)
	return text + cutNote(len(text))
}

// firstBytes returns at most maxOutput bytes of a text, without an incomplete character at the end.
func firstBytes(text string) string {
	if len(text) <= maxOutput {
		return text
	}
	end := maxOutput
	for end > maxOutput-utf8.UTFMax && !utf8.RuneStart(text[end]) {
		end--
	}
	return text[:end]
}

func cutNote(bytes int) string {
	return fmt.Sprintf("\n[cut: only the first %d bytes are here]", bytes)
}

// limitedBuffer keeps the first bytes that are written to it, and discards the others. It does not embed its
// buffer, because io.Copy would use the method ReadFrom of that, which has no limit.
type limitedBuffer struct{ kept bytes.Buffer }

func (b *limitedBuffer) Write(p []byte) (int, error) {
	b.kept.Write(p[:min(len(p), max(0, maxOutput+utf8.UTFMax-b.kept.Len()))])
	return len(p), nil
}

// cut reports whether bytes were discarded.
func (b *limitedBuffer) cut() bool { return b.kept.Len() > maxOutput }

func (b *limitedBuffer) text() string { return cut(strings.ToValidUTF8(b.kept.String(), "\uFFFD")) }

// isBinary reports whether data is not text: it is not UTF-8 or has a zero byte.
func isBinary(data string) bool { return strings.IndexByte(data, 0) >= 0 || !utf8.ValidString(data) }

// limited returns n, or ifNone for nil, from 1 to most.
func limited(n *int, ifNone, most int) int {
	return max(1, min(most, *cmp.Or(n, &ifNone)))
}

// argument returns a text member of the arguments of a call, or "".
func argument(arguments, name string) string {
	var members map[string]json.RawMessage
	var text string
	if json.Unmarshal([]byte(arguments), &members) != nil || json.Unmarshal(members[name], &text) != nil {
		return ""
	}
	return text
}
