package glob

import (
	"strings"
	"testing"
	"time"
)

func TestMatch(t *testing.T) {
	for _, c := range []struct {
		pattern, text string
		want          bool
	}{
		{"", "", true}, {"", "a", false}, {"a", "", false}, {"*", "", true}, {"*", "abc", true}, {"a*", "abc", true},
		{"a*c", "abc", true}, {"a*c", "abd", false}, {"*b*", "abc", true}, {"**a**", "a", true}, {"a?c", "abc", true},
		{"a?", "a", false}, {"?", "é", false}, {"??", "é", true}, {"h[ae]llo", "hallo", true}, {"h[ae]llo", "hillo", false},
		{"h[^e]llo", "hallo", true}, {"h[^e]llo", "hello", false}, {"h[a-c]llo", "hbllo", true}, {"h[c-a]llo", "hbllo", true},
		{"h[a-c]llo", "hdllo", false}, {`\*`, "*", true}, {`\*`, "a", false}, {`[\]]`, "]", true}, {"[a", "a", true},
		{"[a", "b", false}, {`a\`, `a\`, true}, {"a*b*c*d", "axbxcxd", true}, {"a*b*c*d", "axbxcx", false}, {"[]", "a", false},
	} {
		if got := Match(c.pattern, c.text); got != c.want {
			t.Errorf("Match(%q, %q) = %v", c.pattern, c.text, got)
		}
	}
}

func TestManyStarsTakeNoTime(t *testing.T) {
	began := time.Now()
	if Match(strings.Repeat("a*", 500)+"b", strings.Repeat("a", 1000)) {
		t.Error("it matches")
	}
	if took := time.Since(began); took > 5*time.Second {
		t.Errorf("it took %v", took)
	}
}

func TestPrefix(t *testing.T) {
	for pattern, want := range map[string]string{"a/*": "a/", "abc": "abc", "*": "", `a\*b`: "a", "a[bc]": "a", "a?": "a"} {
		if got := Prefix(pattern); got != want {
			t.Errorf("Prefix(%q) = %q", pattern, got)
		}
	}
}

// FuzzMatch: what a pattern matches begins with its prefix, and text matches itself quoted.
func FuzzMatch(f *testing.F) {
	f.Add("a*[^b-c]?", "axd")
	f.Fuzz(func(t *testing.T, pattern, text string) {
		if Match(pattern, text) && !strings.HasPrefix(text, Prefix(pattern)) {
			t.Errorf("%q matches %q", pattern, text)
		}
		var quoted strings.Builder
		for i := range len(text) {
			quoted.WriteString(`\` + text[i:i+1])
		}
		if !Match(quoted.String(), text) {
			t.Errorf("%q does not match itself", text)
		}
	})
}
