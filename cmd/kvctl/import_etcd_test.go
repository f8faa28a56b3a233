//go:build linux

package main

import (
	"bytes"
	"compress/gzip"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// etcdSnapshot unpacks a file made by etcd 3.7.3. The keys written were /x, six revisions of /app/k000 to k002, of
// which some were compacted, /app/leased with a lease, and /t/1 and /t/2 in one transaction; /app/k000 was deleted.
func etcdSnapshot(t *testing.T) string {
	t.Helper()
	b, err := os.ReadFile("testdata/etcd-3.7-snapshot.db.gz")
	if err != nil {
		t.Fatal(err)
	}
	z, err := gzip.NewReader(bytes.NewReader(b))
	if err == nil {
		b, err = io.ReadAll(z)
	}
	name := filepath.Join(t.TempDir(), "snapshot.db")
	if err == nil {
		err = os.WriteFile(name, b, 0o600)
	}
	if err != nil {
		t.Fatal(err)
	}
	return name
}

func TestImportFromEtcd(t *testing.T) {
	addr, file := realNode(t), etcdSnapshot(t)
	o := against("127.0.0.1:1", "", "import", "--from-etcd", file, "--dry-run")
	if o.code != 0 || o.out != "6 keys can be imported; nothing was written\n" ||
		!strings.Contains(o.errOut, "of 1 key in the file the lease is dropped") {
		t.Fatalf("%+v", o)
	}
	o = against(addr, "", "import", "--from-etcd", file, "--strip", "/", "--prefix", "etcd/", "--timeout", "30s")
	if o.code != 0 || o.out != "6 keys written\n" {
		t.Fatalf("%+v", o)
	}
	want := `{"key":"etcd/app/k001","text":"` + strings.Repeat("v4", 20) + `"}
{"key":"etcd/app/k002","text":"` + strings.Repeat("v5", 20) + `"}
{"key":"etcd/app/leased","value":"AP8="}
{"key":"etcd/t/1","text":"one"}
{"key":"etcd/t/2","text":"two"}
{"key":"etcd/x","text":"0"}
`
	if o = against(addr, "", "export", "--text"); o.code != 0 || o.out != want {
		t.Errorf("%+v", o)
	}
	o = against(addr, "", "import", "--from-etcd", file, "--only", "/t/", "--strip", "/t/")
	if o.code != 0 || o.out != "2 keys written\n" {
		t.Errorf("%+v", o)
	}
	for args, want := range map[string]string{
		"import --from-etcd /there/is/none":                "no such file",
		"import --from-etcd import.go":                     "import.go: not a whole etcd snapshot",
		"import --from-etcd " + file + " - ":               "takes no arguments",
		"import --from-etcd " + file + " --strip x":        "does not begin with \"x\", which --strip takes off; nothing was written",
		"import --from-etcd " + file + " --format ndjson":  "--format is not for --from-etcd",
		"import --from-etcd " + file + " --on-conflict no": "there is overwrite, skip and fail",
	} {
		if o := against(addr, "", strings.Fields(args)...); o.code == 0 || !strings.Contains(o.errOut, want) {
			t.Errorf("%s: %+v, want %s", args, o, want)
		}
	}
}
