package blocks

import (
	"slices"
	"strings"
	"testing"
)

const page = "# Title\n\n<!-- run: one -->\n<!-- loose -->\n```\n$ first\nits output\n$ two \\\n  lines\n" +
	"$ third\n```\n\n" +
	"- item\n\n  ```sh\n  cat <<X\n  X\n  ls\n  ```\n\n```go\nnothing()\n```\n\n" +
	"<!-- not run: needs\na moon -->\n```\nfly\n```\n" +
	"<!-- run: last -->\ntext\n\n<!-- file: a.toml -->\n```toml\na = 1\n```\n\n<!-- prints: show -->\n```\nshown\n```\n"

func TestParse(t *testing.T) {
	bs, err := Parse(page)
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, b := range bs {
		if b.NotRun != "" {
			got = append(got, "not run: "+b.NotRun)
			continue
		}
		for _, s := range b.Steps(whole) {
			got = append(got, s.Command+" → "+strings.Join(s.Shown, "|"))
		}
	}
	want := []string{"one → ", "first → its output", "two \\\n  lines → ", "third → ", "cat <<X\nX → ", "ls → ",
		"not run: needs\na moon", "last → ", "cat >|a.toml <<'END OF THE BLOCK'\na = 1\nEND OF THE BLOCK → ", "show → shown"}
	if !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
	if !bs[0].Loose || bs[0].Line != 6 {
		t.Errorf("the first block: %+v", bs[0])
	}
}

func TestParseRefuses(t *testing.T) {
	for _, c := range []struct{ text, want string }{
		{"<!-- notrun: x -->\n```\nls\n```\n", "unknown comment"},
		{"<!-- not run: -->\n```\nls\n```\n", "unknown comment"},
		{"<!-- not run: x -->\ntext\n", "above something else"},
		{"<!-- terminals: ( -->\n```\nls\n```\n", "missing closing"},
		{"<!-- not run\n", "no end"},
		{"```\nls\n", "no end"},
	} {
		if _, err := Parse(c.text); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%q: %v, want %q", c.text, err, c.want)
		}
	}
}

func TestSame(t *testing.T) {
	for _, c := range []struct {
		shown, printed string
		loose, want    bool
	}{
		{"revision 2", "revision 2\n", false, true},
		{"revision 2", "revision 3", false, false},
		{"revision 2", "revision 3", true, true},
		{"revision 2", "", false, false},
		{"a", "a\nb", false, false},
		{"a\n…", "a\nb\nc", false, true},
		{"a … d\ne", "a b c d\ne", false, true},
		{"b 1\na 2", "a 3\nb 4", true, true},
		{"b 1\na 1", "a 1\nb 1", false, false},
		{"NAME   X", "NAME X", false, true},
		{"for another 20.4 s", "for another 800 ms", false, true},
		{"5h12m9s ago, ~3 ms", "1m ago, ~17 ms", false, true},
		{"4ba8d266-23b7-5538-8f38-2af69e540749", "11111111-23b7-5538-8f38-2af69e540749", false, true},
		{"2026-11-22T09:14:55.903Z you@vm", "2027-01-02T00:00:00Z root@vm", false, true},
		{"lease/leader:12884901889", "lease/leader:4294967297", false, true},
		{"HTTP/1.1 200 OK\n\ntrue", "HTTP/1.1 200 OK\r\nDate: today\r\n\r\ntrue", false, true},
	} {
		if got := Same(strings.Split(c.shown, "\n"), strings.Split(c.printed, "\n"), c.loose); got != c.want {
			t.Errorf("shown %q, printed %q, loose %v: %v", c.shown, c.printed, c.loose, got)
		}
	}
}
