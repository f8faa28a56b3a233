package suggest

import "testing"

func TestQuestion(t *testing.T) {
	names := []string{"get", "set", "status", "session", "lease", "list", "timeout", "ttl", "Value", "a"}
	for word, want := range map[string]string{
		"statsu":  "; did you mean --status?",
		"gett":    "; did you mean --get?",
		"sett":    "; did you mean --set?",
		"jet":     "; did you mean --get or --set?",
		"timout":  "; did you mean --timeout?",
		"sess":    "; did you mean --session?",
		"valu":    "; did you mean --Value?",
		"STATUS":  "; did you mean --status?",
		"b":       "",
		"":        "",
		"compact": "",
		"xyz":     "",
	} {
		if got := Question(word, "--", names); got != want {
			t.Errorf("%q: %q, want %q", word, got, want)
		}
	}
}

func TestDistance(t *testing.T) {
	for _, x := range []struct {
		a, b string
		want int
	}{
		{"", "", 0}, {"", "abc", 3}, {"abc", "", 3}, {"abc", "abc", 0}, {"abc", "acb", 1}, {"abc", "abxc", 1},
		{"abc", "xbc", 1}, {"ab", "ba", 1}, {"kitten", "sitting", 3},
	} {
		if got := distance(x.a, x.b); got != x.want {
			t.Errorf("%q to %q: %d, want %d", x.a, x.b, got, x.want)
		}
	}
}
