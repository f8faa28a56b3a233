package shown

import (
	"bytes"
	"encoding/json"
	"os/exec"
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"

	"pgregory.net/rapid"
)

func TestLine(t *testing.T) {
	for in, want := range map[string]string{
		"":                "",
		"app/a b":         "app/a b",
		"Grüße/日本/🔑":      "Grüße/日本/🔑",
		"שלום":            "שלום",
		`a"b\`:            `a"b\`,
		`"a"`:             `"\"a\""`,
		"a\nb\tc\r":       `"a\nb\tc\r"`,
		"\x1b[2J":         `"\x1b[2J"`,
		"\u009b2J":        `"\u009b2J"`,
		"\x7f":            `"\x7f"`,
		"rtl/\u202Eevil":  `"rtl/\u202eevil"`,
		"a\u2066b\u2069":  `"a\u2066b\u2069"`,
		"a\u200bb":        `"a\u200bb"`,
		"a\u3164":         `"a\u3164"`,
		"a\u115f":         `"a\u115f"`,
		"a\u034f":         `"a\u034f"`,
		"a\ufe0f":         `"a\ufe0f"`,
		"a\U000E0041":     `"a\U000e0041"`,
		"a\u00a0b":        `"a\u00a0b"`,
		"a\u2800":         `"a\u2800"`,
		"\u0301a":         `"\u0301a"`,
		"a\u0301":         "a\u0301",
		"\xff\\":          `"\xff\\"`,
		"\uFFFD":          "\uFFFD",
		"a\u2028b":        `"a\u2028b"`,
		"\ue000":          `"\ue000"`,
		"\U000E0001\x00x": `"\U000e0001\x00x"`,
	} {
		if got := Line(in); got != want {
			t.Errorf("Line(%q) = %s, want %s", in, got, want)
		}
	}
}

// harmless fails t if s has anything that a terminal obeys or nobody sees, besides what is allowed.
func harmless(t interface{ Fatalf(string, ...any) }, s, allowed string) {
	for _, r := range s {
		if !strings.ContainsRune(allowed, r) && (unicode.IsControl(r) || unicode.In(r, unicode.Cf, unicode.Zl, unicode.Zp,
			unicode.Bidi_Control, unicode.Other_Default_Ignorable_Code_Point)) {
			t.Fatalf("%q has %U", s, r)
		}
	}
	if !utf8.ValidString(s) {
		t.Fatalf("%q is not UTF-8", s)
	}
}

// anyText draws texts with what matters here.
func anyText(t *rapid.T) string {
	piece := rapid.OneOf(rapid.String(), rapid.SampledFrom([]string{"\x1b[31m", "\u202e", "\u200d", "\n", "\"", "\\", "'", "$(id)",
		"`", "\xe2\x80", "\xff", "🔑", "\u0301", " ", "-", "~", "=", "!"}))
	return strings.Join(rapid.SliceOfN(piece, 0, 6).Draw(t, "text"), "")
}

func TestWhateverIsShownIsHarmless(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s, o := anyText(t), anyText(t)
		harmless(t, Line(s), "")
		harmless(t, Text(s), "\n\t")
		harmless(t, Word(s), "")
		if s != o && Line(s) == Line(o) {
			t.Fatalf("%q and %q are both shown as %s", s, o, Line(s))
		}
		text, err := json.Marshal(s)
		if err != nil {
			t.Fatal(err)
		}
		var before, after string
		if err := json.Unmarshal(text, &before); err != nil {
			t.Fatal(err)
		}
		text = JSON(text)
		harmless(t, string(text), "\n\t\r")
		if err := json.Unmarshal(text, &after); err != nil || after != before {
			t.Fatalf("%s says %q, %v; want %q", text, after, err, before)
		}
	})
}

func TestWriterTakesAnyPieces(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := strings.ToValidUTF8(anyText(t), "?")
		var b bytes.Buffer
		w := Writer(&b)
		for rest := s; rest != ""; {
			n := rapid.IntRange(1, len(rest)).Draw(t, "n")
			if got, err := w.Write([]byte(rest[:n])); got != n || err != nil {
				t.Fatal(got, err)
			}
			rest = rest[n:]
		}
		if b.String() != Text(s) {
			t.Fatalf("%q, want %q", b.String(), Text(s))
		}
	})
}

// A real shell reads the same word.
func TestWordInAShell(t *testing.T) {
	shell, err := exec.LookPath("bash")
	if err != nil {
		t.Skip("there is no bash")
	}
	words := []string{"", "a", "a b", "it's", `"`, "$(id)", "`id`", "$HOME", "~", "~/a", "#a", "a;b", "a&b", "!!", "*", "a\nb", "\x1b[2J",
		"\u202eevil", "=ls", "a=b", "{a,b}", "^a", `\`, `\n'\`, "日本", "-n", "\xff\xfe", "%1", "[a]", "(a)", "<a>"}
	var line strings.Builder
	line.WriteString("printf '%s\\0'")
	for _, w := range words {
		line.WriteString(" " + Word(w))
	}
	out, err := exec.Command(shell, "-c", line.String()).Output()
	if err != nil {
		t.Fatal(err)
	}
	if got := strings.Split(strings.TrimSuffix(string(out), "\x00"), "\x00"); strings.Join(got, "|") != strings.Join(words, "|") {
		t.Errorf("%q, want %q", got, words)
	}
}
