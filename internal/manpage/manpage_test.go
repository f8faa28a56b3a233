package manpage

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/spf13/cobra"
)

func TestWrite(t *testing.T) {
	root := &cobra.Command{Use: "prog", Short: "Do things", Long: "prog does things:\n\n  one   the first\n  two   the second"}
	sub := &cobra.Command{Use: "thing NAME", Short: "Do one thing", Run: func(*cobra.Command, []string) {}}
	sub.Flags().Bool("twice", false, "do it twice, ID=HOST:PORT,…")
	root.AddCommand(sub)
	dir := t.TempDir()
	if err := write(root, "8", dir); err != nil {
		t.Fatal(err)
	}
	for name, words := range map[string][]string{
		"prog.8":       {".TH \"PROG\" \"8\"", "prog does things:", "one   the first\ntwo   the second", "prog-thing(8)"},
		"prog-thing.8": {"prog thing NAME", "--twice", "HOST:PORT,..."},
	} {
		b, err := os.ReadFile(filepath.Join(dir, name))
		if err != nil {
			t.Error(err)
			continue
		}
		page := strings.ReplaceAll(string(b), `\-`, "-")
		for _, w := range words {
			if !strings.Contains(page, w) {
				t.Errorf("%s lacks %q:\n%s", name, w, page)
			}
		}
	}
}

func TestWriteMarkdown(t *testing.T) {
	root := &cobra.Command{Use: "prog", Short: "Do things", Long: "prog does things"}
	root.AddCommand(&cobra.Command{Use: "thing NAME", Short: "Do one thing", Run: func(*cobra.Command, []string) {}})
	dir := t.TempDir()
	if err := writeMarkdown(root, dir); err != nil {
		t.Fatal(err)
	}
	b, err := os.ReadFile(filepath.Join(dir, "prog_thing.md"))
	if err != nil || !strings.Contains(string(b), "## prog thing") || !strings.Contains(string(b), "prog thing NAME") {
		t.Errorf("%v: %s", err, b)
	}
}
