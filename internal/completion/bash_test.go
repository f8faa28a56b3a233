package completion

import (
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

func TestReadLine(t *testing.T) {
	for text, want := range map[string]line{
		"kvctl get ":           {words: []string{"kvctl", "get"}},
		"kvctl get a":          {words: []string{"kvctl", "get"}, raw: "a", current: "a"},
		`kvctl get 'a b' c\ d`: {words: []string{"kvctl", "get", "a b"}, raw: `c\ d`, current: "c d"},
		`kvctl get 'a b`:       {words: []string{"kvctl", "get"}, raw: "'a b", current: "a b", quote: single},
		`kvctl get "a\"b\c`:    {words: []string{"kvctl", "get"}, raw: `"a\"b\c`, current: `a"b\c`, quote: double},
		`kvctl get a'b'"c"`:    {words: []string{"kvctl", "get"}, raw: `a'b'"c"`, current: "abc"},
		`kvctl get '$(id)'x`:   {words: []string{"kvctl", "get"}, raw: `'$(id)'x`, current: "$(id)x"},
		"kvctl get '`'":        {words: []string{"kvctl", "get"}, raw: "'`'", current: "`"},
		`kvctl get \$\(id\)`:   {words: []string{"kvctl", "get"}, raw: `\$\(id\)`, current: "$(id)"},
		`kvctl get a*`:         {words: []string{"kvctl", "get"}, raw: "a*", current: "a*", bare: true},
		`kvctl get a\`:         {words: []string{"kvctl", "get"}, raw: `a\`, current: "a"},
		`kvctl '' `:            {words: []string{"kvctl", ""}},
	} {
		got, ok := readLine(text)
		if !ok || !slices.Equal(got.words, want.words) || got.raw != want.raw || got.current != want.current ||
			got.quote != want.quote || got.bare != want.bare {
			t.Errorf("%s: %+v, %v; want %+v", text, got, ok, want)
		}
	}
	for _, text := range []string{"kvctl get `id", "kvctl get $(id", `kvctl get "$(id`, "kvctl get \"`id", "kvctl get $'a", "kvctl a; b",
		"kvctl a | b", "kvctl <(a", "kvctl get > a", "kvctl\nget"} {
		if got, ok := readLine(text); ok {
			t.Errorf("%s: %+v", text, got)
		}
	}
}

// Whatever is put into the line is read as the name that was offered, however the line began.
func TestWhatIsPutIntoTheLineIsTheName(t *testing.T) {
	text := rapid.StringOfN(rapid.SampledFrom([]rune("ab $`\"'\\!(){}[]*?~#;&|<>=:@%^🔑é")), 0, 8, -1)
	rapid.Check(t, func(t *rapid.T) {
		begin := text.Draw(t, "begin")
		q := rapid.SampledFrom([]quote{unquoted, single, double}).Draw(t, "quote")
		typed := q.encode(begin)
		if q != unquoted {
			typed = string(rune(q)) + typed[:len(typed)-1]
		}
		l, ok := readLine("kvctl get " + typed)
		if !ok || l.current != begin {
			t.Fatalf("%s is read as %+v, %v", typed, l, ok)
		}
		name := begin + text.Draw(t, "rest")
		for cut := range len(typed) + 1 { // where readline may see the beginning of the word
			for _, put := range l.forBash([]Candidate{{Name: name}}, typed[cut:]) {
				whole := typed[:cut] + put
				got, ok := readLine("kvctl get " + whole)
				if !ok || got.current != name || got.quote != unquoted || got.bare || len(got.words) != 2 {
					t.Fatalf("%q behind %s becomes %s, which is read as %+v, %v", name, typed, whole, got, ok)
				}
			}
		}
		if q == unquoted && name != "" {
			if got := l.forBash([]Candidate{{Name: name}}, typed); len(got) != 1 {
				t.Fatalf("%q is not offered behind %s", name, typed)
			}
		}
	})
}

// What several names have in common when readline inserts it is a whole beginning of them, and no half of an escape.
func TestWhatSeveralNamesHaveInCommon(t *testing.T) {
	text := rapid.StringOfN(rapid.SampledFrom([]rune("ab $`'\\(é")), 1, 5, -1)
	rapid.Check(t, func(t *rapid.T) {
		names := rapid.SliceOfNDistinct(text, 2, 4, rapid.ID[string]).Draw(t, "names")
		var found []Candidate
		for _, n := range names {
			found = append(found, Candidate{Name: n})
		}
		var l line
		texts := l.forBash(found, "")
		common := texts[0]
		for i, x := range texts {
			if got, ok := readLine("kvctl get " + x); !ok || got.current != names[i] || got.quote != unquoted || got.bare {
				t.Fatalf("%q becomes %s", names[i], x)
			}
			for !strings.HasPrefix(x, common) {
				common = common[:len(common)-1]
			}
		}
		got, ok := readLine(common)
		if !ok || strings.HasSuffix(strings.ReplaceAll(common, `\\`, ""), `\`) || got.quote != unquoted || len(got.words) > 0 {
			t.Fatalf("%q have %s in common", names, common)
		}
	})
}

func TestExpanded(t *testing.T) {
	got := expanded([]string{"--endpoints", "$EP", "--token-file=${HOME}/t", "~/x", "$NONE", "$(id)", "`id`"}, []string{"EP=h:1", "HOME=/h"})
	if want := "--endpoints h:1 --token-file=/h/t /h/x  "; !strings.HasPrefix(strings.Join(got, " "), want) {
		t.Errorf("%q", got)
	}
}
