package middleware

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/looptape/looptape/loop"
	"github.com/looptape/looptape/loop/files"
)

const readLines = 2000

// Files adds the file tools ls, read_file, write_file, edit_file and mkdir. A failure is an
// error result that explains how to continue.
//
// open returns the files of a run and must not be nil. To give each run its own files and read
// them afterwards, return a [files.Memory] with a state. To share files, return the same
// Backend. Calls of one step run concurrently, so on the system clock their order is
// undefined.
func Files(open func(loop.RunInfo) files.Backend) (m loop.Middleware, err error) {
	if open == nil {
		return m, errors.New("middleware: Files: missing function: set open")
	}
	tool := func(name, description, properties, required string) loop.Tool {
		return prepared(name, description, `{"type":"object","properties":{"path":{"type":"string","description":"counts from the top of your files, as in /notes/a.md"}`+
			properties+`}`+required+`}`)
	}
	tools := []loop.Tool{
		tool("ls", "Lists what is in a directory: files with their size, directories with a slash behind them.", "", ""),
		tool("read_file", fmt.Sprintf("Returns the text of a file, %d lines of it unless limit says otherwise.", readLines),
			`,"offset":{"type":"integer","minimum":0,"description":"how many lines to leave out first"},"limit":{"type":"integer","minimum":1,"description":"how many lines to return"}`,
			`,"required":["path"]`),
		tool("write_file", "Writes a text into a file, in place of what it has; makes the file and its directories where they are missing.",
			`,"content":{"type":"string"}`, `,"required":["path","content"]`),
		tool("edit_file", "Replaces a piece of a file's text by another. The piece must occur exactly once, unless replace_all is true.",
			`,"old_string":{"type":"string"},"new_string":{"type":"string"},"replace_all":{"type":"boolean"}`, `,"required":["path","old_string","new_string"]`),
		tool("mkdir", "Makes a directory, and those above it.", "", `,"required":["path"]`),
	}
	return loop.Middleware{Name: "files", New: func(info loop.RunInfo) loop.Hooks {
		b := open(info)
		return withTools(func(_ context.Context, call loop.Call, a fileArguments) (string, error) { return a.run(b, call.Name) }, tools...)
	}}, nil
}

// fileArguments is the union of the arguments of all file tools.
type fileArguments struct {
	Path       string `json:"path"`
	Content    string `json:"content"`
	Offset     int    `json:"offset"`
	Limit      int    `json:"limit"`
	Old        string `json:"old_string"`
	New        string `json:"new_string"`
	ReplaceAll bool   `json:"replace_all"`
}

func (a *fileArguments) run(b files.Backend, tool string) (string, error) {
	switch tool {
	case "ls":
		return a.list(b)
	case "read_file":
		text, err := b.Read(a.Path)
		if err != nil {
			return "", err
		}
		return a.lines(text)
	case "write_file":
		return fmt.Sprintf("wrote %d bytes to %q", len(a.Content), a.Path), b.Write(a.Path, a.Content)
	case "edit_file":
		n := 0
		err := b.Edit(a.Path, func(text string) (string, error) {
			n = strings.Count(text, a.Old)
			return a.replace(text, n)
		})
		return fmt.Sprintf("replaced %d in %q", n, a.Path), err
	}
	return fmt.Sprintf("the directory %q is there", a.Path), b.Mkdir(a.Path)
}

func (a *fileArguments) list(b files.Backend) (string, error) {
	entries, err := b.List(a.Path)
	if err != nil {
		return "", err
	}
	if len(entries) == 0 {
		return "nothing is there", nil
	}
	lines := make([]string, len(entries))
	for i, e := range entries {
		lines[i] = e.Name + "/"
		if !e.Dir {
			lines[i] = fmt.Sprintf("%s (%d bytes)", e.Name, e.Size)
		}
	}
	return strings.Join(lines, "\n"), nil
}

// lines returns the requested lines of a text, with a note if there are more.
func (a *fileArguments) lines(text string) (string, error) {
	limit := cmp.Or(a.Limit, readLines)
	all := strings.SplitAfter(strings.TrimSuffix(text, "\n"), "\n")
	switch left := len(all) - a.Offset; {
	case a.Offset == 0 && left <= limit:
		return text, nil
	case left <= 0:
		return "", fmt.Errorf("%q has %d lines, and %d were to be left out; take a smaller offset", a.Path, len(all), a.Offset)
	default:
		end := a.Offset + min(left, limit)
		return fmt.Sprintf("%s\n(lines %d to %d of %d)", strings.TrimSuffix(strings.Join(all[a.Offset:end], ""), "\n"), a.Offset+1, end, len(all)), nil
	}
}

// replace replaces n occurrences.
func (a *fileArguments) replace(text string, n int) (string, error) {
	switch {
	case a.Old == "":
		return "", errors.New("old_string is empty; write_file replaces the whole text")
	case a.Old == a.New:
		return "", errors.New("old_string and new_string are the same, so nothing would change")
	case n == 0:
		return "", errors.New("old_string does not occur in it; read the file for its exact text")
	case n > 1 && !a.ReplaceAll:
		return "", fmt.Errorf("old_string occurs %d times in it; take more of the text around it, or set replace_all", n)
	}
	if int64(len(text))+int64(n)*int64(len(a.New)-len(a.Old)) > files.MaxFile { // check the length before the text is built
		return "", files.ErrTooLarge
	}
	return strings.ReplaceAll(text, a.Old, a.New), nil
}
