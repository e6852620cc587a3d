package middleware_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/looptape/looptape/loop"
	"github.com/looptape/looptape/loop/files"
	"github.com/looptape/looptape/loop/middleware"
)

// RA-53: a run reads the files that it wrote. An edit replaces a string that occurs once, or
// all occurrences if the call requests that.
func TestFileTools(t *testing.T) {
	b := &files.Memory{}
	p, err := middleware.Files(func(loop.RunInfo) files.Backend { return b })
	steps := []struct{ tool, args, want string }{
		{"ls", `{}`, "nothing is there"},
		{"write_file", `{"path":"/n/a.md","content":"one two two\n"}`, `wrote 12 bytes to "/n/a.md"`},
		{"read_file", `{"path":"n/a.md"}`, "one two two\n"},
		{"mkdir", `{"path":"n/sub"}`, `the directory "n/sub" is there`},
		{"ls", `{"path":"n"}`, "a.md (12 bytes)\nsub/"},
		{"edit_file", `{"path":"n/a.md","old_string":"one","new_string":"1"}`, `replaced 1 in "n/a.md"`},
		{"edit_file", `{"path":"n/a.md","old_string":"two","new_string":"2"}`, "! cannot edit \"n/a.md\": old_string occurs 2 times in it; take more of the text around it, or set replace_all"},
		{"edit_file", `{"path":"n/a.md","old_string":"two","new_string":"2","replace_all":true}`, `replaced 2 in "n/a.md"`},
		{"edit_file", `{"path":"n/a.md","old_string":"1","new_string":"one","replace_all":true}`, `replaced 1 in "n/a.md"`},
		{"read_file", `{"path":"n/a.md"}`, "one 2 2\n"},
		{"edit_file", `{"path":"n/a.md","old_string":"zzz","new_string":"x"}`, "! cannot edit \"n/a.md\": old_string does not occur in it; read the file for its exact text"},
		{"edit_file", `{"path":"n/a.md","old_string":"","new_string":"x"}`, "! cannot edit \"n/a.md\": old_string is empty; write_file replaces the whole text"},
		{"edit_file", `{"path":"n/a.md","old_string":"2","new_string":"2"}`, "! cannot edit \"n/a.md\": old_string and new_string are the same, so nothing would change"},
		{"read_file", `{"path":"nope"}`, `! cannot read "nope": file does not exist`},
		{"write_file", `{"path":"n","content":""}`, `! cannot write "n": a directory, not a file`},
		{"ls", `{"path":"n/a.md"}`, `! cannot list "n/a.md": not a directory`},
		{"mkdir", `{"path":"../x"}`, `! cannot mkdir "../x": ` + files.ErrPath.Error()},
		{"write_file", `{"path":"lines","content":"1\n2\n3\n4"}`, `wrote 7 bytes to "lines"`},
		{"read_file", `{"path":"lines","offset":1,"limit":2}`, "2\n3\n(lines 2 to 3 of 4)"},
		{"read_file", `{"path":"lines","offset":3}`, "4\n(lines 4 to 4 of 4)"},
		{"read_file", `{"path":"lines","limit":4}`, "1\n2\n3\n4"},
		{"read_file", `{"path":"lines","limit":3}`, "1\n2\n3\n(lines 1 to 3 of 4)"},
		{"read_file", `{"path":"lines","offset":4}`, `! "lines" has 4 lines, and 4 were to be left out; take a smaller offset`},
		{"write_file", `{"path":"t","content":"é é é\n2\n"}`, `wrote 11 bytes to "t"`},
		{"read_file", `{"path":"t","offset":1}`, "2\n(lines 2 to 2 of 2)"},
		{"edit_file", `{"path":"t","old_string":"é","new_string":"e","replace_all":true}`, `replaced 3 in "t"`},
		{"read_file", `{"path":"t"}`, "e e e\n2\n"},
		{"write_file", `{"path":"long","content":"` + strings.Repeat(`x\n`, 2001) + `"}`, `wrote 4002 bytes to "long"`},
		{"read_file", `{"path":"long"}`, strings.Repeat("x\n", 2000) + "(lines 1 to 2000 of 2001)"},
	}
	var turns []string
	var want []string
	for _, s := range steps {
		turns = append(turns, s.tool, s.args)
		want = append(want, s.want)
	}
	o := with(t, p, err, calling(turns...), text("done"))
	if diff := cmp.Diff(want, o.results()); diff != "" {
		t.Errorf("results (-want +got):\n%s", diff)
	}
	if got, err := b.Read("n/a.md"); got != "one 2 2\n" || err != nil {
		t.Errorf("the backend has %q, %v", got, err)
	}
}

// An edit with a result above the size limit is rejected before the text is built, because
// that could exhaust the memory.
func TestFileEditTooLarge(t *testing.T) {
	b := &files.Memory{}
	if err := b.Write("f", strings.Repeat("a", files.MaxFile)); err != nil {
		t.Fatal(err)
	}
	p, err := middleware.Files(func(loop.RunInfo) files.Backend { return b })
	edit := func(piece string) string {
		return fmt.Sprintf(`{"path":"f","old_string":"a","new_string":%q,"replace_all":true}`, piece)
	}
	got := with(t, p, err, calling("edit_file", edit(strings.Repeat("b", 1<<20))), calling("edit_file", edit("bb")), calling("edit_file", edit("b")), text("done")).results()
	refused := `! cannot edit "f": ` + files.ErrTooLarge.Error()
	if diff := cmp.Diff([]string{refused, refused, fmt.Sprintf(`replaced %d in "f"`, files.MaxFile)}, got); diff != "" {
		t.Errorf("results (-want +got):\n%s", diff)
	}
}

// read_file returns a long file in parts.
func TestReadingLongFiles(t *testing.T) {
	var lines strings.Builder
	for n := range 2000 + 1 {
		fmt.Fprintf(&lines, "%d\n", n+1)
	}
	m, err := files.NewMemory(files.State{Files: map[string]string{"long": lines.String(), "fits": strings.TrimSuffix(lines.String(), "2001\n")}})
	if err != nil {
		t.Fatal(err)
	}
	p, err := middleware.Files(func(loop.RunInfo) files.Backend { return m })
	got := with(t, p, err, calling("read_file", `{"path":"long"}`, "read_file", `{"path":"fits"}`), text("done")).results()
	if !strings.HasSuffix(got[0], "\n2000\n(lines 1 to 2000 of 2001)") || !strings.HasSuffix(got[1], "\n2000\n") {
		t.Errorf("got …%q and …%q", got[0][len(got[0])-50:], got[1][len(got[1])-20:])
	}
}

// Files in a State: each run begins with its own files and returns them, and the next run can
// continue with them.
func TestFilesInState(t *testing.T) {
	state := files.State{Files: map[string]string{"n": "0"}}
	for n := range 3 {
		var mine *files.Memory
		p, err := middleware.Files(func(loop.RunInfo) files.Backend {
			m, err := files.NewMemory(state)
			if err != nil {
				t.Error(err)
			}
			mine = m
			return m
		})
		o := with(t, p, err, calling("read_file", `{"path":"n"}`), calling("write_file", fmt.Sprintf(`{"path":"n","content":"%d"}`, n+1)), text("done"))
		if got := o.results()[0]; got != fmt.Sprint(n) {
			t.Errorf("run %d read %q", n, got)
		}
		state = mine.State()
	}
	if diff := cmp.Diff(files.State{Files: map[string]string{"n": "3"}}, state); diff != "" {
		t.Errorf("state (-want +got):\n%s", diff)
	}
}
