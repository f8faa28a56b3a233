package certs

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// recipe are the commands of docs/security.md under "Another program's authority": what an operator types who has
// openssl.
func recipe(t *testing.T) string {
	t.Helper()
	page := read(t, "../../docs/security.md")
	_, section, _ := strings.Cut(page, "\n### Another program's authority\n")
	_, block, ok := strings.Cut(section, "\n```\n")
	block, _, ended := strings.Cut(block, "\n```\n")
	if !ok || !ended {
		t.Fatal("docs/security.md has no commands under \"Another program's authority\"")
	}
	return block
}

// openssl types lines of a shell in a directory of its own, and returns it.
func openssl(t *testing.T, lines string) string {
	t.Helper()
	if _, err := exec.LookPath("openssl"); err != nil {
		t.Skip("there is no openssl: apt-get install openssl")
	}
	dir := t.TempDir()
	cmd := exec.Command("bash", "-euo", "pipefail", "-c", lines)
	cmd.Dir = dir
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	return dir
}

// TestFilesOfOpenSSL reads what openssl has written: the recipe of the documentation, and keys and files as people have
// them lying about.
func TestFilesOfOpenSSL(t *testing.T) {
	dir := openssl(t, recipe(t)+`
sign() { # KEY CERT: a certificate of node n1 for that key
  openssl req -new -key "$1" -subj / | openssl x509 -req -CA root.pem -CAkey root-key.pem -CAcreateserial -days 30 \
    -extfile n1.ext -out "$2"
}
openssl genrsa -traditional -out pkcs1.key 2048;      sign pkcs1.key pkcs1.pem
openssl genrsa -out rsa.key 2048;                     sign rsa.key rsa.pem
openssl ecparam -name prime256v1 -genkey -out sec1.key; sign sec1.key sec1.pem
openssl genpkey -algorithm EC -pkeyopt ec_paramgen_curve:P-384 -out p384.key; sign p384.key p384.pem
openssl genpkey -algorithm ED25519 -out ed.key;       sign ed.key ed.pem
openssl pkey -in rsa.key -aes256 -passout pass:x -out pkcs8-encrypted.key
openssl rsa -in rsa.key -traditional -aes256 -passout pass:x -out pkcs1-encrypted.key
openssl x509 -in rsa.pem -outform der -out der.pem
cat root.pem rsa.pem >wrong-order.pem;                cat rsa.pem root.pem >chain.pem
sed 's/$/\r/' rsa.pem >crlf.pem;                      sed 's/$/\r/' rsa.key >crlf.key
{ printf '\357\273\277'; cat root.pem; } >bom.pem
{ echo junk; openssl x509 -in root.pem -text; echo; echo '# more'; cat rsa.pem; } >junk.pem
{ sed 5d root.pem; cat rsa.pem; } >shorter.pem
{ head -n 5 root.pem; cat rsa.pem; } >torn.pem
{ sed '3s/^./!/' root.pem; cat rsa.pem; } >damaged.pem
`)
	for _, c := range []struct {
		cert, key, ca string
		want          string // "": taken
	}{
		{"n1.pem", "n1-key.pem", "root.pem", ""}, // of the documentation
		{"pkcs1.pem", "pkcs1.key", "root.pem", ""}, {"rsa.pem", "rsa.key", "root.pem", ""}, {"sec1.pem", "sec1.key", "root.pem", ""},
		{"p384.pem", "p384.key", "root.pem", ""}, {"ed.pem", "ed.key", "root.pem", ""}, {"chain.pem", "rsa.key", "root.pem", ""},
		{"crlf.pem", "crlf.key", "root.pem", ""}, {"rsa.pem", "rsa.key", "bom.pem", ""}, {"rsa.pem", "rsa.key", "junk.pem", ""},
		{"rsa.pem", "pkcs8-encrypted.key", "", "is encrypted, and nobody is here to type its passphrase: decrypt it with openssl pkey"},
		{"rsa.pem", "pkcs1-encrypted.key", "", "is encrypted"},
		{"wrong-order.pem", "rsa.key", "", "is that of certificate 2: the owner's comes first"},
		{"rsa.pem", "sec1.key", "", "do not belong together"}, {"rsa.key", "rsa.key", "", "has no certificate in PEM form"},
		{"der.pem", "rsa.key", "", "has no certificate in PEM form"}, {"rsa.pem", "rsa.pem", "", "has no private key in PEM form"},
		{"rsa.pem", "rsa.key", "torn.pem", "has 2 lines -----BEGIN"}, {"rsa.pem", "rsa.key", "damaged.pem", "has 2 lines -----BEGIN"},
		{"rsa.pem", "rsa.key", "shorter.pem", "certificate 1 cannot be read"},
	} {
		p := Paths{Cert: filepath.Join(dir, c.cert), Key: filepath.Join(dir, c.key)}
		if c.ca != "" {
			p.CA = filepath.Join(dir, c.ca)
		}
		f, err := Load(p, CheckNode)
		if c.want != "" {
			if err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("%+v: %v, want %q", c, err, c.want)
			}
			continue
		}
		if err != nil {
			t.Errorf("%+v: %v", c, err)
			continue
		}
		id, err := f.CheckPeer(state(f.Certificate().Leaf), time.Now())
		if err != nil || id != (Identity{"prod", RoleNode, "n1"}) {
			t.Errorf("%+v is taken for %v, %v", c, id, err)
		}
	}
}

// TestAuthorityOfOpenSSL: kvctl ca signs with another program's authority if its certificate names the cluster, in any
// form of key, and otherwise says what is missing.
func TestAuthorityOfOpenSSL(t *testing.T) {
	for _, c := range []struct{ key, uri, want string }{
		{"openssl genrsa -traditional -out ca-key.pem 2048", "tenure://prod/authority", ""},
		{"openssl ecparam -name prime256v1 -genkey -out ca-key.pem", "tenure://prod/authority", ""},
		{"openssl genpkey -algorithm RSA -out ca-key.pem", "https://example.com/", "it has no URI tenure://"},
		{"openssl genrsa -aes256 -passout pass:x -out ca-key.pem 2048", "tenure://prod/authority", "is encrypted"},
	} {
		dir := openssl(t, c.key+"\nopenssl req -x509 -new -key ca-key.pem -passin pass:x -subj /CN=ours -days 30 -out ca.pem "+
			"-addext basicConstraints=critical,CA:TRUE -addext subjectAltName=URI:"+c.uri)
		d, err := Open(dir)
		var w Written
		if err == nil {
			w, err = d.Issue(node("n1"), "", time.Now())
		}
		if c.want != "" {
			if err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("%s, %s: %v, want %q", c.key, c.uri, err, c.want)
			}
			continue
		}
		if err != nil {
			t.Errorf("%s: %v", c.key, err)
			continue
		}
		out, err := exec.Command("openssl", "verify", "-CAfile", filepath.Join(dir, BundleName), w.Cert).CombinedOutput()
		if err != nil || !bytes.Contains(out, []byte("OK")) {
			t.Errorf("%s: openssl verify: %v %s", c.key, err, out)
		}
		if _, err := os.Stat(w.Key); err != nil {
			t.Error(err)
		}
	}
}
