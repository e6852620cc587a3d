package main

import (
	"bytes"
	"io"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/cobra/doc"

	"github.com/looptape/looptape/cmd/looptape/internal/cli"
	"github.com/looptape/looptape/cmd/looptape/internal/root"
)

// docs returns the completions of each shell and the manual pages of each command.
func docs(version string, date time.Time) (files []file, err error) {
	command := root.New(&cli.World{})
	add := func(name string, write func(io.Writer) error) {
		var out bytes.Buffer
		if err == nil {
			err = write(&out)
			files = append(files, file{name, 0o644, out.Bytes()})
		}
	}
	add("completions/looptape.bash", func(w io.Writer) error { return command.GenBashCompletionV2(w, true) })
	add("completions/_looptape", command.GenZshCompletion)
	add("completions/looptape.fish", func(w io.Writer) error { return command.GenFishCompletion(w, true) })
	add("completions/looptape.ps1", command.GenPowerShellCompletionWithDesc)
	header := doc.GenManHeader{Section: "1", Date: &date, Source: "looptape " + version, Manual: "looptape"}
	var manual func(*cobra.Command)
	manual = func(c *cobra.Command) {
		c.DisableAutoGenTag = true
		name := strings.ReplaceAll(c.CommandPath(), " ", "-")
		add("man/man1/"+name+".1", func(w io.Writer) error {
			h := header
			return doc.GenMan(c, &h, w)
		})
		for _, sub := range c.Commands() {
			if sub.IsAvailableCommand() {
				manual(sub)
			}
		}
	}
	manual(command)
	return files, err
}
