package certs

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"os"
	"strings"
	"testing"
	"time"
)

func state(leaf *x509.Certificate) tls.ConnectionState {
	return tls.ConnectionState{PeerCertificates: []*x509.Certificate{leaf}}
}

// seen writes what a Watcher reports into a list.
func seen(w *Watcher) *[]string {
	var out []string
	w.Report = Report{
		Changed: func(Source) { out = append(out, "changed") },
		Broken:  func(_ Source, err error) { out = append(out, "broken: "+err.Error()) },
		Expires: func(_ Source, e Expiry) {
			out = append(out, fmt.Sprintf("%s of %s expires %s", e.What, e.Named, e.At.Format(time.DateOnly)))
		},
	}
	return &out
}

func TestFilesAreReadAgain(t *testing.T) {
	old, next := authority(t, "prod"), authority(t, "prod")
	f := files(t, issue(t, old, RoleNode, "n1", now), old)
	w := &Watcher{Files: []Source{f}, Now: func() time.Time { return now }}
	out := seen(w)
	w.look(false)
	write(t, f.paths.CA, bundle(old, next))
	w.look(false)
	p := issue(t, next, RoleNode, "n1", now)
	write(t, f.paths.Key, p.Key) // the certificate follows before anybody complains
	w.look(false)
	write(t, f.paths.Cert, p.Cert)
	w.look(false)
	w.look(false)
	if got := strings.Join(*out, "; "); got != "changed; changed" || w.Reloads() != 2 || w.Failures() != 0 {
		t.Errorf("%s; %d reloads, %d failures", got, w.Reloads(), w.Failures())
	}
	if !f.Certificate().Leaf.Equal(p.Leaf) {
		t.Error("the certificate of before is in use")
	}
	for _, a := range []*Authority{old, next} {
		if _, err := f.CheckPeer(state(issue(t, a, RoleNode, "n2", now).Leaf), now); err != nil {
			t.Error(err)
		}
	}
	write(t, f.paths.CA, bundle(next))
	w.look(false)
	if _, err := f.CheckPeer(state(issue(t, old, RoleNode, "n2", now).Leaf), now); err == nil {
		t.Error("an authority that was taken away is trusted")
	}
}

func TestBrokenFilesChangeNothing(t *testing.T) {
	a := authority(t, "prod")
	first := issue(t, a, RoleNode, "n1", now)
	f := files(t, first, a)
	f.check = func(c *x509.Certificate) error {
		if id, err := IdentityOf(c); err != nil || id.Name != "n1" {
			return errors.New("another node's")
		}
		return nil
	}
	w := &Watcher{Files: []Source{f}, Now: func() time.Time { return now }}
	out := seen(w)
	cert, key, ca := read(t, f.paths.Cert), read(t, f.paths.Key), read(t, f.paths.CA)
	other := issue(t, a, RoleNode, "n2", now)
	for _, broken := range []struct {
		want      string
		cert, key string
		ca        string
	}{
		{"has no certificate in PEM form", "garbage", key, ca},
		{"do not belong together", cert, string(other.Key), ca},
		{"another node's", string(other.Cert), string(other.Key), ca},
		{"has no certificate in PEM form", cert, key, ""},
		{"cannot be read", cert, key, "-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n"},
		{"has 2 lines -----BEGIN", cert, key, ca + "-----BEGIN CERTIFICATE-----\nMIIB\n"},
		{"it is UTF-16", cert, key, "\xff\xfe-\x00-\x00"},
		{"larger than", cert, key, strings.Repeat("x", maxFileBytes+1)},
	} {
		*out = nil
		for name, text := range map[string]string{f.paths.Cert: broken.cert, f.paths.Key: broken.key, f.paths.CA: broken.ca} {
			write(t, name, []byte(text))
		}
		failures := w.Failures()
		for range 3 {
			w.look(false)
		}
		if len(*out) != 1 || !strings.Contains((*out)[0], broken.want) || w.Failures() != failures+1 {
			t.Errorf("%s: %v, %d failures more", broken.want, *out, w.Failures()-failures)
		}
		w.look(true)
		if len(*out) != 2 {
			t.Errorf("who asks is not answered: %v", *out)
		}
		if !f.Certificate().Leaf.Equal(first.Leaf) || f.Pool() == nil {
			t.Fatal("the files of before are not in use any more")
		}
	}
	if err := os.Remove(f.paths.CA); err != nil {
		t.Fatal(err)
	}
	*out = nil
	w.look(true)
	if len(*out) != 1 || f.Pool() == nil {
		t.Errorf("a file that is gone: %v", *out)
	}
}

func TestExpiryIsToldOnceADay(t *testing.T) {
	a := authority(t, "prod")
	at := now
	f := files(t, issue(t, a, RoleNode, "n1", now), a)
	w := &Watcher{Files: []Source{f}, Now: func() time.Time { return at }}
	out := seen(w)
	at = now.Add(LeafValidity - WarnBefore)
	w.look(false)
	if len(*out) != 0 {
		t.Errorf("30 days before: %v", *out)
	}
	for range 48 {
		at = at.Add(time.Hour)
		w.look(false)
	}
	want := "certificate of tenure://prod/node/n1 expires 2027-11-24"
	if got := strings.Join(*out, "; "); got != want+"; "+want {
		t.Errorf("in two days: %s", got)
	}
}

func TestPairsGoTogether(t *testing.T) {
	if _, err := Load(Paths{Cert: "c"}, nil); err == nil || !strings.Contains(err.Error(), "go together") {
		t.Error(err)
	}
	if _, err := Load(Paths{Cert: "/none", Key: "/none"}, nil); !errors.Is(err, os.ErrNotExist) {
		t.Error(err)
	}
	a := authority(t, "prod")
	if err := CheckNode(issue(t, a, RoleClient, "c", now).Leaf); err == nil || !strings.Contains(err.Error(), "kvctl ca node") {
		t.Error(err)
	}
}
