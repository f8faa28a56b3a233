package main

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"tenure/client"
	"tenure/internal/certs"
)

// alone runs kvctl without a cluster.
func alone(environ []string, args ...string) outcome {
	var out, errOut bytes.Buffer
	code := run(context.Background(), args, environ, strings.NewReader(""), &out, &errOut)
	return outcome{code, out.String(), errOut.String()}
}

// TestCertificatesFromTheFirstToTheLast types what docs/security.md does.
func TestCertificatesFromTheFirstToTheLast(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "ca")
	for _, x := range []struct {
		line string
		code int
		out  string // in standard output
		err  string // in standard error
	}{
		{"ca show --dir DIR", exitFailed, "", "make one with kvctl ca init"},
		{"ca node n1 --hosts 10.0.0.1 --dir DIR", exitFailed, "", "make one with kvctl ca init"},
		{"ca init DIR --cluster Prod", exitUsage, "", "--cluster: \"Prod\" cannot be the name of a cluster"},
		{"ca init DIR --cluster prod --validity 10x", exitUsage, "", "such as 365d or 12h"},
		{"ca init DIR --cluster prod", exitDone, "ca-key.pem   stays here", ""},
		{"ca init DIR --cluster prod", exitFailed, "", "nothing is overwritten"},
		{"ca renew --dir DIR", exitFailed, "", "has no certificate of a node or client"},
		{"ca node n1 --dir DIR", exitUsage, "", "give them with --hosts"},
		{"ca node n/1 --hosts h --dir DIR", exitUsage, "", "cannot be a name in a certificate"},
		{"ca node n1 --hosts 10.0.0.1:8300 --dir DIR", exitFailed, "", "leave out the port"},
		{"ca node n1 --hosts 10.0.0.1,n1.example.com --dir DIR", exitDone, "tenure://prod/node/n1, until", ""},
		{"ca node n1 --hosts 10.0.0.1 --dir DIR", exitFailed, "", "nothing is overwritten"},
		{"ca client deploy --dir DIR --validity 12h", exitDone, "tenure://prod/client/deploy, until", ""},
		{"ca node n2 --hosts 10.0.0.2 --dir DIR --out DIR/out", exitDone, "tenure://prod/node/n2, until", ""},
		{"ca show --dir DIR", exitDone, "n1.example.com,10.0.0.1", ""},
		{"ca show --dir DIR --json", exitDone, `"of":"tenure://prod/node/n1","hosts":["n1.example.com","10.0.0.1"]`, ""},
		{"ca renew --dir DIR DIR/node-n1.pem", exitDone, "tenure://prod/node/n1, until", ""},
		{"ca revoke --dir DIR DIR/client-nobody.pem", exitFailed, "", "name the file of a certificate"},
		{"ca revoke --dir DIR DIR/ca.pem", exitFailed, "", "the certificate of the authority itself"},
		{"ca revoke --dir DIR --validity 1x", exitUsage, "", "such as 365d or 12h"},
		{"ca revoke --dir DIR", exitDone, "crl.pem   has 0 revoked certificates, next update by", ""},
		{"ca show --dir DIR", exitDone, "0 revoked certificates", ""},
		{"ca revoke --dir DIR DIR/client-deploy.pem", exitDone, "tenure://prod/client/deploy, revoked\n", ""},
		{"ca revoke --dir DIR DIR/client-deploy.pem", exitDone, "tenure://prod/client/deploy, was revoked before\n", ""},
		{"ca revoke --dir DIR DIR/node-n1.pem --json", exitDone, `"of":"tenure://prod/node/n1","serial":"`, ""},
		{"ca renew --dir DIR DIR/node-n1.pem DIR/client-deploy.pem", exitDone, "tenure://prod/client/deploy, until", ""},
		{"ca show --dir DIR", exitDone, "2 revoked certificates", ""},
		{"ca show --dir DIR --json", exitDone, `"revoked":[{"serial":"`, ""},
		{"ca renew --authority --dir DIR x", exitUsage, "", "--authority renews no certificate"},
		{"ca retire --dir DIR", exitFailed, "", "no authority but the one that signs"},
		{"ca renew --authority --dir DIR", exitDone, "has the old and the new authority", ""},
		{"ca retire --dir DIR", exitFailed, "", "renew it with kvctl ca renew first"},
		{"ca renew --dir DIR", exitDone, "tenure://prod/client/deploy, until", ""},
		{"ca show --dir DIR DIR/out/node-n2.pem", exitDone, "out/node-n2.pem  ", ""},
		{"ca retire --dir DIR DIR/out/node-n2.pem", exitFailed, "", "out/node-n2.pem is signed by an authority that would be retired"},
		{"ca renew --dir DIR DIR/out/node-n2.pem", exitDone, "tenure://prod/node/n2, until", ""},
		{"ca retire --dir DIR DIR/out/node-n2.pem", exitDone, "the authority that signs, and no other", "outside DIR were not looked at"},
		{"ca show --dir DIR DIR/out/none.pem", exitFailed, "", "none.pem"},
		{"ca", exitUsage, "", "kvctl ca needs a command"},
	} {
		o := alone(nil, strings.Fields(strings.ReplaceAll(x.line, "DIR", dir))...)
		x.err = strings.ReplaceAll(x.err, "DIR", dir)
		if o.code != x.code || !strings.Contains(o.out, x.out) || !strings.Contains(o.errOut, x.err) ||
			x.code != exitDone && o.out != "" {
			t.Errorf("kvctl %s: exit %d, %q, %q; want exit %d, %q, %q", x.line, o.code, o.out, o.errOut, x.code, x.out, x.err)
		}
	}
	for _, name := range []string{"ca-key.pem", "node-n1-key.pem", "client-deploy-key.pem"} {
		if info, err := os.Stat(filepath.Join(dir, name)); err != nil || info.Mode().Perm() != 0o600 {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// TestCommandsThatChangeAnAuthorityTakeTurns: those that revoke wait while another program changes the directory, and
// each finds its certificate on the list in the end.
func TestCommandsThatChangeAnAuthorityTakeTurns(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "ca")
	alone(nil, "ca", "init", dir, "--cluster", "prod")
	const n = 8
	for i := range n {
		if o := alone(nil, "ca", "client", fmt.Sprint("c", i), "--dir", dir); o.code != exitDone {
			t.Fatal(o)
		}
	}
	release, err := certs.Hold(dir)
	if err != nil {
		t.Fatal(err)
	}
	ended := make(chan outcome, n)
	for i := range n {
		go func() {
			ended <- alone(nil, "ca", "revoke", "--dir", dir, filepath.Join(dir, fmt.Sprint("client-c", i, ".pem")))
		}()
	}
	select {
	case o := <-ended:
		t.Errorf("it did not wait: %+v", o)
		ended <- o
	case <-time.After(500 * time.Millisecond):
	}
	release()
	for range n {
		if o := <-ended; o.code != exitDone {
			t.Error(o)
		}
	}
	if o := alone(nil, "ca", "show", "--dir", dir); !strings.Contains(o.out, fmt.Sprint(n, " revoked certificates")) {
		t.Error(o)
	}
}

// What weakens TLS is told: an endpoint in the clear, and certificates that are not verified.
func TestWeakTLSIsToldOf(t *testing.T) {
	for _, x := range []struct {
		tls       client.TLS
		endpoints []string
		want      []string
	}{
		{client.TLS{}, []string{"http://a"}, nil},
		{client.TLS{CAFile: "a"}, []string{"b", "https://c"}, nil},
		{client.TLS{CAFile: "a"}, []string{"b", "http://c"}, []string{"http://c is spoken to without TLS"}},
		{client.TLS{CAFile: "a"}, []string{"HTTP://c"}, []string{"HTTP://c is spoken to without TLS"}},
		{client.TLS{SkipVerify: true}, []string{"b"}, []string{"are not verified"}},
	} {
		var out strings.Builder
		(&printer{stderr: &out}).warnOfWeakTLS(&x.tls, x.endpoints)
		if n := strings.Count(out.String(), "\n"); n != len(x.want) {
			t.Errorf("%+v: %q", x, out.String())
		}
		for _, w := range x.want {
			if !strings.Contains(out.String(), w) {
				t.Errorf("%+v: %q", x, out.String())
			}
		}
	}
}

func TestWhereTLSIsTakenFrom(t *testing.T) {
	for _, x := range []struct {
		environ []string
		flags   client.TLS
		want    *client.TLS
	}{
		{nil, client.TLS{}, nil},
		{nil, client.TLS{CAFile: "a"}, &client.TLS{CAFile: "a"}},
		{[]string{"TENURE_CACERT=a"}, client.TLS{}, &client.TLS{CAFile: "a"}},
		{[]string{"TENURE_CACERT=a"}, client.TLS{CAFile: "b"}, &client.TLS{CAFile: "b"}},
		{[]string{"CONSUL_CACERT=a"}, client.TLS{}, &client.TLS{CAFile: "a"}},
		{[]string{"CONSUL_CACERT=a", "CONSUL_HTTP_SSL_VERIFY=false"}, client.TLS{}, &client.TLS{CAFile: "a", SkipVerify: true}},
		{[]string{"CONSUL_CACERT=a", "CONSUL_HTTP_SSL_VERIFY=false"}, client.TLS{CAFile: "b"}, &client.TLS{CAFile: "b"}},
		{[]string{"CONSUL_CACERT=a", "CONSUL_HTTP_SSL=true"}, client.TLS{}, &client.TLS{CAFile: "a", Default: true}},
		{[]string{"TENURE_CLIENT_CERT=c", "TENURE_CLIENT_KEY=k"}, client.TLS{ServerName: "n"},
			&client.TLS{CertFile: "c", KeyFile: "k", ServerName: "n"}},
	} {
		got, err := (&connection{environ: x.environ, tls: x.flags}).clientTLS()
		if err != nil || (got == nil) != (x.want == nil) || got != nil && *got != *x.want {
			t.Errorf("%v, %+v: %+v, %v; want %+v", x.environ, x.flags, got, err, x.want)
		}
	}
	for _, x := range []struct {
		environ []string
		line    string
		err     string
	}{
		{nil, "get k --client-cert c", "--client-cert and --client-key go together"},
		{nil, "get k --ca-cert /none", "/none: no such file"},
		{[]string{"TENURE_HTTP_SSL=maybe"}, "get k", `TENURE_HTTP_SSL="maybe": must be true or false`},
	} {
		if o := alone(x.environ, strings.Fields(x.line)...); o.code != exitUsage || !strings.Contains(o.errOut, x.err) {
			t.Errorf("kvctl %s: exit %d, %q", x.line, o.code, o.errOut)
		}
	}
}
