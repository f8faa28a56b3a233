//go:build linux

package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestExportAndImport takes keys out of a node, and brings them back under another name.
func TestExportAndImport(t *testing.T) {
	addr := realNode(t)
	var in strings.Builder
	for i := range 300 {
		fmt.Fprintf(&in, "{\"key\":\"a/%03d\",\"text\":\"v%d\"}\n", i, i)
	}
	in.WriteString(`{"key":"b","value":"/w==","flags":7,"ttl":"1h0m0s"}` + "\n")
	o := against(addr, in.String(), "import", "-", "--timeout", "30s")
	if o.code != 0 || o.out != "301 keys written\n" || o.errOut != "" {
		t.Fatalf("%+v", o)
	}
	dir := t.TempDir()
	file := filepath.Join(dir, "all")
	o = against(addr, "", "export", "-o", file, "--text")
	if o.code != 0 || o.out != "" || !strings.Contains(o.errOut, "301 keys, as of revision ") {
		t.Fatalf("%+v", o)
	}
	if b, err := os.ReadFile(file); err != nil || string(b) != in.String() {
		t.Errorf("%v: %s", err, b)
	}
	if o := against(addr, "", "export", "-o", file); o.code != 2 || !strings.Contains(o.errOut, "is there already, and kept") {
		t.Errorf("%+v", o)
	}
	o = against(addr, "", "export", "b", "--format", "consul")
	if o.code != 0 || o.out != "[\n\t{\n\t\t\"key\": \"b\",\n\t\t\"flags\": 7,\n\t\t\"value\": \"/w==\"\n\t}\n]\n" ||
		!strings.Contains(o.errOut, "no place for the time to live of 1 key") {
		t.Errorf("%+v", o)
	}

	if o := against(addr, "", "import", file, "--strip", "a/", "--dry-run"); o.code != 1 ||
		!strings.Contains(o.errOut, `key "b" does not begin with "a/", which --strip takes off; nothing was written`) {
		t.Errorf("%+v", o)
	}
	if o := against("127.0.0.1:1", "", "import", file, "--dry-run"); o.code != 0 ||
		o.out != "301 keys can be imported; nothing was written\n" {
		t.Errorf("%+v", o)
	}
	if o := against(addr, "", "import", "-"); o.code != 0 || !strings.Contains(o.errOut, "there was no key to write") {
		t.Errorf("%+v", o)
	}
	if o := against(addr, "", "import", file, "--timeout", "1ns"); o.code != 1 ||
		!strings.Contains(o.errOut, "the time limit was reached before every key was written") ||
		!strings.Contains(o.errOut, "give more time with --timeout") {
		t.Errorf("%+v", o)
	}
	if o := against(addr, "", "import", file, "--prefix", "copy/", "--json"); o.code != 0 ||
		decode[imported](t, o.out) != (imported{Written: 301}) {
		t.Errorf("%+v", o)
	}
	if o := against(addr, "", "get", "copy/a/299"); o.out != "v299" {
		t.Errorf("%+v", o)
	}
	if o := against(addr, "", "delete", "a/007"); o.code != 0 {
		t.Errorf("%+v", o)
	}
	o = against(addr, "", "import", file, "--on-conflict", "skip")
	if o.code != 0 || o.out != "1 key written, 300 skipped because they exist\n" {
		t.Errorf("%+v", o)
	}
	o = against(addr, "", "import", file, "--on-conflict", "fail")
	if o.code != 1 || o.out != "0 keys written\n" || !strings.Contains(o.errOut, "the key exists already; --on-conflict skip leaves") {
		t.Errorf("%+v", o)
	}
	if o := against("127.0.0.1:1", "", "import", file); o.code != 1 || o.out != "0 keys written\n" ||
		!strings.Contains(o.errOut, "run the same command with --resume ") {
		t.Errorf("%+v", o)
	} else if _, token, _ := strings.Cut(o.errOut, "--resume "); true {
		token, _, _ = strings.Cut(token, "\n")
		if o := against(addr, "", "import", file, "--resume", token); o.code != 0 || o.out != "301 keys written\n" {
			t.Errorf("%+v", o)
		}
	}
	if err := os.WriteFile(file, []byte("{\"key\":\"new\",\"text\":\"\"}\n{\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if o := against(addr, "", "import", file); o.code != 1 || !strings.Contains(o.errOut, "line 2: unexpected EOF; nothing was written") {
		t.Errorf("%+v", o)
	}
	if o := against(addr, "", "get", "new"); o.code != 1 {
		t.Errorf("%+v", o)
	}
	for args, want := range map[string]string{
		"import":                           "wrong number of arguments",
		"import - --format xml":            "there is auto, ndjson and consul",
		"import - --on-conflict ask":       "there is overwrite, skip and fail",
		"import - --resume 17":             "this is not what an earlier import has printed",
		"import - --stale":                 "leave them out here",
		"import /there/is/none":            "no such file",
		"export --format xml":              "there is ndjson, and consul",
		"export --format consul --text":    "--text is for ndjson",
		"export a b":                       "wrong number of arguments",
		"export -o /there/is/no/directory": "no such file",
	} {
		if o := against(addr, "", strings.Fields(args)...); o.code == 0 || !strings.Contains(o.errOut, want) {
			t.Errorf("%s: %+v, want %s", args, o, want)
		}
	}
}
