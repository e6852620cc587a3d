package markdown_test

import (
	"testing"

	"github.com/looptape/looptape/internal/markdown"
)

func TestPlain(t *testing.T) {
	for _, c := range [][2]string{
		{"", ""},
		{"two words, «ü»: 1-2.", "two words, «ü»: 1-2."},
		{"a|b", `a\|b`},
		{"one\r\ntwo\x00\x7f", "one  two  "},
		{"<script>&lt;", `\<script\>\&lt;`},
		{"`x` *y* _z_ ~v~ $w$", "\\`x\\` \\*y\\* \\_z\\_ \\~v\\~ \\$w\\$"},
		{`![a](b) {c} \ +`, `\!\[a\]\(b\) \{c\} \\ \+`},
		{"see https://a.example, www.b.example, mailto:c", `see https:&#8203;//a.example, www&#8203;.b.example, mailto&#8203;:c`},
		{"a\u202eb\u009b", `a\\u202eb\\u009b`},
		{"GH-77, gh-7 high-7 GH-x", "GH&#8203;-77, gh&#8203;-7 high-7 GH-x"},
		{"@all #12", `\@&#8203;all \#&#8203;12`},
	} {
		if got := markdown.Plain(c[0]); got != c[1] {
			t.Errorf("%q: got %q, want %q", c[0], got, c[1])
		}
	}
}
