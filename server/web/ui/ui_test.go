package ui

import (
	"regexp"
	"strings"
	"testing"
)

// each calls f with every file that has the extension.
func each(t *testing.T, extension string, f func(name, text string)) {
	t.Helper()
	n := 0
	for name, file := range files {
		if strings.HasSuffix(name, extension) {
			f(name, string(file.Body))
			n++
		}
	}
	if n == 0 {
		t.Fatalf("no file ends in %s", extension)
	}
}

// The policy of the page would refuse a script or a style in the markup, silently: there is none.
func TestMarkupHasNoScriptAndNoStyle(t *testing.T) {
	inline := regexp.MustCompile(`(?i)<style|\sstyle\s*=|\son[a-z]+\s*=|javascript:|<script[^>]*>[^<]|<base|<form|<iframe`)
	for _, extension := range []string{".html", ".svg"} {
		each(t, extension, func(name, text string) {
			if found := inline.FindString(text); found != "" {
				t.Errorf("%s has %q", name, found)
			}
		})
	}
}

// Keys and values are anybody's. No script uses what takes a text for markup, for a script or for a place to go to.
func TestScriptsTakeNoTextForMarkup(t *testing.T) {
	sinks := regexp.MustCompile(`innerHTML|outerHTML|insertAdjacentHTML|document\.write|DOMParser|` +
		`createContextualFragment|setHTML|srcdoc|\beval\b|new Function|setTimeout\("|location\.(assign|replace)|` +
		`location\s*=|window\.open|document\.cookie|localStorage`)
	each(t, ".js", func(name, text string) {
		if found := sinks.FindString(text); found != "" {
			t.Errorf("%s uses %s", name, found)
		}
	})
}

// A node may have no way out, and who looks at it is nobody else's business.
func TestNothingIsLoadedFromElsewhere(t *testing.T) {
	for name, file := range files {
		text := strings.ReplaceAll(string(file.Body), "http://www.w3.org/2000/svg", "") // a name of a language, never fetched
		if found := regexp.MustCompile(`(?:https?:)?//[a-z0-9-]+\.[a-z]|@import|\burl\(`).FindString(text); found != "" {
			t.Errorf("%s has %q", name, found)
		}
	}
}

// Every file that another one names is there, and every file is named.
func TestFilesAreThere(t *testing.T) {
	named := map[string]bool{Index: true}
	names := regexp.MustCompile(`(?:from |src=|href=)"(?:\./)?([a-z]+\.[a-z]+)"`)
	for by, file := range files {
		for _, found := range names.FindAllStringSubmatch(string(file.Body), -1) {
			named[found[1]] = true
			if _, ok := Find(found[1]); !ok {
				t.Errorf("%s names %s, which is not there", by, found[1])
			}
		}
	}
	for name := range files {
		if !named[name] {
			t.Errorf("nothing names %s", name)
		}
	}
	if _, ok := Find("../ui.go"); ok {
		t.Error("what is no file of the page is served")
	}
}

// The page stays small: it is in every node, and read over slow lines.
func TestThePageIsSmall(t *testing.T) {
	const limit = 192 << 10
	sum := 0
	for _, file := range files {
		sum += len(file.Body)
	}
	if sum > limit {
		t.Errorf("%d bytes, at most %d are meant", sum, limit)
	}
}
