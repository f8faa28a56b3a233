package txnfile

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestTxnFiles(t *testing.T) {
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "v alue"), []byte("a\x00b"), 0o600); err != nil {
		t.Fatal(err)
	}
	t.Chdir(dir)
	for _, x := range []struct{ text, want string }{
		{"set k v", `1 {"Verb":"set","Key":"k","Value":"dg=="}`},
		{"  set\tk  ''\r\n", `1 {"Verb":"set","Key":"k"}`},
		{`cas 'a b' 7 "c \"d\" \n" flags=3`, `1 {"Verb":"cas","Key":"a b","Value":"YyAiZCIgXG4=","Flags":3,"Index":7}`},
		{"set k @'v alue'", `1 {"Verb":"set","Key":"k","Value":"YQBi"}`},
		{"set k '@v'\nset '@k' \\@v",
			`1 {"Verb":"set","Key":"k","Value":"QHY="} 2 {"Verb":"set","Key":"@k","Value":"QHY="}`},
		{"# nothing\n\nset k 'two\nlines'\nadd n -5 # less\n",
			`3 {"Verb":"set","Key":"k","Value":"dHdvCmxpbmVz"} 5 {"Verb":"add","Key":"n","Num":-5}`},
		{"set k a#b", `1 {"Verb":"set","Key":"k","Value":"YSNi"}`},
		{"rename a \\\n b\nget-tree ''", `1 {"Verb":"rename","Key":"a","NewKey":"b"} 3 {"Verb":"get-tree","Key":""}`},
		{"lock k S v\nunlock k S v\ncheck-session k S\ncheck-index k 3\ncheck-not-exists k",
			`1 {"Verb":"lock","Key":"k","Value":"dg==","Session":"S"} ` +
				`2 {"Verb":"unlock","Key":"k","Value":"dg==","Session":"S"} 3 {"Verb":"check-session","Key":"k",` +
				`"Session":"S"} 4 {"Verb":"check-index","Key":"k","Index":3} 5 {"Verb":"check-not-exists",` +
				`"Key":"k"}`},
		{"delete-tree-cas p 4", `1 {"Verb":"delete-tree-cas","Key":"p","Index":4}`},
		{"get k\ndelete k\ndelete-cas k 4\ndelete-tree p\nget-or-empty k\ncheck-value k v",
			`1 {"Verb":"get","Key":"k"} 2 {"Verb":"delete","Key":"k"} ` +
				`3 {"Verb":"delete-cas","Key":"k","Index":4} 4 {"Verb":"delete-tree","Key":"p"} 5 ` +
				`{"Verb":"get-or-empty","Key":"k"} 6 {"Verb":"check-value","Key":"k","Value":"dg=="}`},
		{"[\n {\"KV\":{\"Verb\":\"set\",\"Key\":\"k\",\"Value\":\"dg==\"}},\n\n " +
			"{\"KV\":{\"Verb\":\"get\",\"Key\":\"k\"}}]\n",
			`2 {"Verb":"set","Key":"k","Value":"dg=="} 4 {"Verb":"get","Key":"k"}`},

		{"set k", "line 1: set takes KEY VALUE, and there is 1 word after it"},
		{"get k\nset k a b", `line 2: "b": only flags=NUMBER may follow`},
		{"check-value k v flags=1", "line 1: check-value takes KEY VALUE"},
		{"put k v", `line 1: there is no operation "put"`},
		{"sett k v", `line 1: there is no operation "sett"; did you mean set?`},
		{"xyz k v", `line 1: there is no operation "xyz"; there are add, cas, check-index`},
		{`[{"KV":{"Verb":"set","Key":"k","Valeu":"x"}}]`,
			`line 1: JSON: an operation has no member "Valeu"; did you mean Value?`},
		{`[{"VK":{}}]`, `line 1: JSON: an operation has no member "VK"; did you mean KV?`},
		{`[{"Service":{}}]`, `line 1: JSON: an operation has no member "Service"`},
		{"@set k v", `line 1: there is no operation "set"`},
		{"set @k v", "line 1: KEY: only a VALUE"},
		{"set k @none", "line 1: open none"},
		{"cas k x v", "line 1: INDEX"},
		{"add k 1.5", "line 1: NUMBER"},
		{"get k\nset k \"a\nb", "line 2: the quote"},
		{"[\n{\"KV\":{\"Verb\":\"get\"},}]", "line 2: JSON"},
		{"[\n\n{\"Service\":{}}]", "line 3: JSON"},
		{"[{}]", "line 1: JSON: each operation"},
		{"[] x", "line 1: JSON"},
		{"\xff\xfeg\x00e\x00t\x00", "it is UTF-16"},
		{"g\x00e\x00t\x00", "it is UTF-16"},
		{"\ufeff[] x", "line 1: JSON"},
		{"[{\"KV\":{\"Verb\":\"get\",\"Key\":\"k\"}}", "line 1: JSON"},
	} {
		ops, err := Parse(t.Context(), []byte(x.text))
		var got []string
		for _, o := range ops {
			b, _ := json.Marshal(o.TxnOp)
			got = append(got, string(rune('0'+o.Line))+" "+string(b))
		}
		text := strings.Join(got, " ")
		if err != nil {
			text = err.Error()
		}
		if text != x.want && (err == nil || !strings.HasPrefix(text, x.want)) {
			t.Errorf("%q: %s, want %s", x.text, text, x.want)
		}
	}
}

func FuzzParse(f *testing.F) {
	f.Add("set k 'v'\ncas k 1 \"x\\\"\" flags=2 # c\n")
	f.Add(`[{"KV":{"Verb":"get","Key":"k"}}]`)
	f.Fuzz(func(t *testing.T, text string) {
		if strings.Contains(text, "@") {
			return // no files
		}
		ops, err := Parse(t.Context(), []byte(text))
		lines := 1 + strings.Count(text, "\n")
		last := 1
		for _, o := range ops {
			if o.Line < last || o.Line > lines {
				t.Fatalf("line %d of %d behind %d", o.Line, lines, last)
			}
			last = o.Line
		}
		if err != nil && len(ops) > 0 {
			t.Fatal("operations and an error")
		}
	})
}
