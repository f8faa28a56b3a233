package ui

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// inNode runs a script that may import the files of the page, and returns what it prints as JSON.
func inNode(t *testing.T, script string, out any) {
	t.Helper()
	node, err := exec.LookPath("node")
	if err != nil {
		t.Skip("not installed: node")
	}
	dir := t.TempDir()
	for name, file := range files {
		if err := os.WriteFile(filepath.Join(dir, name), file.Body, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for name, text := range map[string]string{"package.json": `{"type":"module"}`, "test.js": script} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	printed, err := exec.Command(node, filepath.Join(dir, "test.js")).Output()
	if err != nil {
		t.Fatal(err, string(err.(*exec.ExitError).Stderr))
	}
	if err := json.Unmarshal(printed, out); err != nil {
		t.Fatal(err, string(printed))
	}
}

// What nobody would see, or what changes the order of the text around it, is shown as its number, wherever text is put.
// Values in pre keep their lines.
func TestUnseenCharactersAreShown(t *testing.T) {
	const script = `
import { h } from "./dom.js";
import { seen } from "./text.js";
const text = (k) => (typeof k === "object" ? "[" + k.kids.map(text).join("") + "]" : k);
const cases = TEXTS;
console.log(JSON.stringify(cases.map((c) => [text(h("code", {}, c)), text(h("pre", {}, [c])), seen(c)])));
`
	cases := [][]string{ // the text; as a name; in pre; as the title of the page
		{"app/a b", "[app/a b]", "[app/a b]", "app/a b"},
		{"Grüße/日本/🔑 שלום", "[Grüße/日本/🔑 שלום]", "[Grüße/日本/🔑 שלום]", "Grüße/日本/🔑 שלום"},
		{"12\u202f345\u00a0ms", "[12[⟨U+202F⟩]345[⟨U+00A0⟩]ms]", "[12[⟨U+202F⟩]345[⟨U+00A0⟩]ms]", "12⟨U+202F⟩345⟨U+00A0⟩ms"},
		{"rtl/\u202eevil", "[rtl/[⟨U+202E⟩]evil]", "[rtl/[⟨U+202E⟩]evil]", "rtl/⟨U+202E⟩evil"},
		{"nl/a\nb", "[nl/a[⟨U+000A⟩]b]", "[nl/a\nb]", "nl/a⟨U+000A⟩b"},
		{"a\tb", "[a[⟨U+0009⟩]b]", "[a\tb]", "a⟨U+0009⟩b"},
		{"\x1b[2J\u009b", "[[⟨U+001B⟩][2J[⟨U+009B⟩]]", "[[⟨U+001B⟩][2J[⟨U+009B⟩]]", "⟨U+001B⟩[2J⟨U+009B⟩"},
		{"z\u200bw\u3164\ufe0f", "[z[⟨U+200B⟩]w[⟨U+3164⟩][⟨U+FE0F⟩]]", "[z[⟨U+200B⟩]w[⟨U+3164⟩][⟨U+FE0F⟩]]",
			"z⟨U+200B⟩w⟨U+3164⟩⟨U+FE0F⟩"},
		{"\u2066a\u2069\u061c", "[[⟨U+2066⟩]a[⟨U+2069⟩][⟨U+061C⟩]]", "[[⟨U+2066⟩]a[⟨U+2069⟩][⟨U+061C⟩]]", "⟨U+2066⟩a⟨U+2069⟩⟨U+061C⟩"},
		{"tag\U000E0041", "[tag[⟨U+E0041⟩]]", "[tag[⟨U+E0041⟩]]", "tag⟨U+E0041⟩"},
		{"a\u2003b\u2028", "[a[⟨U+2003⟩]b[⟨U+2028⟩]]", "[a[⟨U+2003⟩]b[⟨U+2028⟩]]", "a⟨U+2003⟩b⟨U+2028⟩"},
	}
	var texts []string
	for _, c := range cases {
		texts = append(texts, c[0])
	}
	list, err := json.Marshal(texts)
	if err != nil {
		t.Fatal(err)
	}
	var got [][]string
	inNode(t, strings.Replace(script, "TEXTS", string(list), 1), &got)
	for i, c := range cases {
		if !slices.Equal(got[i], c[1:]) {
			t.Errorf("%q is shown as %q, want %q", c[0], got[i], c[1:])
		}
	}
}

// Blanks that nobody would see are shown too: those at an end of a name or line, and several in a row in a name.
func TestBlanksAreShown(t *testing.T) {
	const script = `
import { h } from "./dom.js";
import { ending, name, value } from "./names.js";
import { exact } from "./text.js";
const text = (k) => (typeof k === "object" ? "[" + k.kids.map(text).join("") + "]" : k);
const all = (kids) => text(h("pre", {}, kids));
const cases = TEXTS;
console.log(JSON.stringify(cases.map((c) => [all(name(c)), exact(c), all(value(c)), all(ending(c))])));
`
	cases := [][]string{ // the text; as a name; as a title; as a value; its end
		{"a b", "[a b]", "a b", "[a b]", "[]"},
		{"a ", "[a[⟨U+0020⟩]]", "a⟨U+0020⟩", "[a[⟨U+0020⟩]]", "[[⟨U+0020⟩]]"},
		{" a", "[[⟨U+0020⟩]a]", "⟨U+0020⟩a", "[ a]", "[]"},
		{"a  b", "[a[⟨2 × U+0020⟩]b]", "a⟨2 × U+0020⟩b", "[a  b]", "[]"},
		{" ", "[[⟨U+0020⟩]]", "⟨U+0020⟩", "[[⟨U+0020⟩]]", "[[⟨U+0020⟩]]"},
		{"a \t\nb\n", "[a \t\nb\n]", "a \t\nb\n", "[a[⟨U+0020⟩][⟨U+0009⟩]\nb[⟨U+000A⟩]]", "[[⟨U+000A⟩]]"},
		{"a\n\n", "[a\n\n]", "a\n\n", "[a[⟨2 × U+000A⟩]]", "[[⟨2 × U+000A⟩]]"},
		{"", "[]", "", "[]", "[]"},
	}
	var texts []string
	for _, c := range cases {
		texts = append(texts, c[0])
	}
	list, err := json.Marshal(texts)
	if err != nil {
		t.Fatal(err)
	}
	var got [][]string
	inNode(t, strings.Replace(script, "TEXTS", string(list), 1), &got)
	for i, c := range cases {
		if !slices.Equal(got[i], c[1:]) {
			t.Errorf("%q is shown as %q, want %q", c[0], got[i], c[1:])
		}
	}
}

// A value of nothing but such characters does not make an element of each.
func TestManyUnseenCharactersAreBounded(t *testing.T) {
	var got []int
	inNode(t, `
import { h } from "./dom.js";
import { value } from "./names.js";
const kids = h("pre", {}, "\u202e".repeat(50000)).kids;
const lines = h("pre", {}, value(" \n".repeat(50000) + "a" + " ".repeat(50000))).kids;
console.log(JSON.stringify([kids.length, kids.filter((k) => typeof k === "string").join("").length, lines.length]));
`, &got)
	if got[2] > 1000 {
		t.Errorf("%d elements of blanks", got[2])
	}
	if got[0] > 1000 || got[1] < 8*49000 {
		t.Errorf("%d elements, %d characters", got[0], got[1])
	}
}

// Text reaches the document through dom.js alone, which shows what would not be seen.
func TestTextGoesThroughOnePlace(t *testing.T) {
	sinks := regexp.MustCompile(`textContent|innerText|createTextNode|setAttribute|\.append\(|\.title\s*=`)
	each(t, ".js", func(name, text string) {
		if found := sinks.FindString(text); found != "" && name != "dom.js" {
			t.Errorf("%s uses %s", name, found)
		}
	})
}
