package certs

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// made returns the directory of a new authority.
func made(t *testing.T) (*Dir, string) {
	t.Helper()
	path := filepath.Join(t.TempDir(), "ca")
	d, err := Init(path, "prod", now, AuthorityValidity)
	if err != nil {
		t.Fatal(err)
	}
	return d, path
}

func node(name string) Request {
	return Request{Identity: Identity{Role: RoleNode, Name: name}, Hosts: []string{"127.0.0.1", "n1.example"},
		Validity: LeafValidity}
}

func read(t *testing.T, name string) string {
	t.Helper()
	b, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

func TestNothingIsOverwritten(t *testing.T) {
	d, path := made(t)
	w, err := d.Issue(node("n1"), "", now)
	if err != nil {
		t.Fatal(err)
	}
	before := read(t, w.Cert) + read(t, w.Key) + read(t, filepath.Join(path, BundleName))
	if _, err := d.Issue(node("n1"), "", now); err == nil || !strings.Contains(err.Error(), "nothing is overwritten") {
		t.Errorf("a second certificate of that name: %v", err)
	}
	if _, err := Init(path, "prod", now, AuthorityValidity); err == nil || !strings.Contains(err.Error(), "overwritten") {
		t.Errorf("a second authority: %v", err)
	}
	out := t.TempDir()
	write(t, filepath.Join(out, "node-n1-key.pem"), []byte("a key"))
	if _, err := d.Issue(node("n1"), out, now); err == nil {
		t.Error("a key was overwritten")
	}
	if _, err := os.Stat(filepath.Join(out, "node-n1.pem")); err == nil {
		t.Error("a certificate without its key was left")
	}
	if before != read(t, w.Cert)+read(t, w.Key)+read(t, filepath.Join(path, BundleName)) {
		t.Error("files have changed")
	}
}

func TestOnlyTheOwnerReadsKeys(t *testing.T) {
	d, path := made(t)
	w, err := d.Issue(node("n1"), "", now)
	if err != nil {
		t.Fatal(err)
	}
	check := func(when string) {
		for _, name := range []string{w.Key, filepath.Join(path, KeyName)} {
			if info, err := os.Stat(name); err != nil || info.Mode() != 0o600 {
				t.Errorf("%s, %s: %v, %v", name, when, info.Mode(), err)
			}
		}
	}
	check("made")
	if _, err := d.Renew(w.Cert, 0, now); err != nil {
		t.Fatal(err)
	}
	if _, err := d.RenewAuthority(AuthorityValidity, now); err != nil {
		t.Fatal(err)
	}
	check("renewed")
}

// TestRotationOfAnAuthority: at no step is a certificate in the directory one that the bundle of the step before or of
// this one does not know.
func TestRotationOfAnAuthority(t *testing.T) {
	d, path := made(t)
	w, err := d.Issue(node("n1"), "", now)
	if err != nil {
		t.Fatal(err)
	}
	first := read(t, filepath.Join(path, BundleName))
	if _, err := d.Retire(now); err == nil {
		t.Error("the only authority was retired")
	}
	later := now.Add(300 * 24 * time.Hour)
	if _, err := d.RenewAuthority(AuthorityValidity, later); err != nil {
		t.Fatal(err)
	}
	both := read(t, filepath.Join(path, BundleName))
	if !strings.HasSuffix(both, first) || both == first {
		t.Fatalf("the bundle is\n%s\nafter\n%s", both, first)
	}
	if _, err := d.Retire(now); err == nil || !strings.Contains(err.Error(), "node-n1.pem is signed by an authority") {
		t.Errorf("an authority whose certificate is in use was retired: %v", err)
	}
	if d, err = Open(path); err != nil {
		t.Fatal(err)
	}
	renewed, err := d.Renew(w.Cert, 0, later)
	if err != nil {
		t.Fatal(err)
	}
	if got := strings.Join(Hosts(renewed.Leaf), " "); got != "n1.example 127.0.0.1" {
		t.Errorf("renewed for %s", got)
	}
	if d := renewed.Leaf.NotAfter.Sub(later); d != LeafValidity {
		t.Errorf("renewed for %v", d)
	}
	gone, err := d.Retire(now)
	if err != nil || len(gone) != 1 || read(t, filepath.Join(path, BundleName)) != strings.TrimSuffix(both, first) {
		t.Errorf("retired %d, %v", len(gone), err)
	}
	f, err := Load(Paths{renewed.Cert, renewed.Key, filepath.Join(path, BundleName)}, CheckNode)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := f.CheckPeer(state(renewed.Leaf), later); err != nil {
		t.Error(err)
	}
}

func TestOnlyItsOwnIsRenewed(t *testing.T) {
	d, path := made(t)
	if _, err := d.Renew(filepath.Join(path, BundleName), 0, now); err == nil {
		t.Error("an authority was renewed as a certificate")
	}
	other, _ := made(t)
	other.authority = *authority(t, "test")
	w, err := other.Issue(node("n1"), "", now)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := d.Renew(w.Cert, 0, now); err == nil || !strings.Contains(err.Error(), "does not sign") {
		t.Error(err)
	}
	if _, err := Open(t.TempDir()); err == nil || !strings.Contains(err.Error(), "kvctl ca init") {
		t.Error(err)
	}
}

func TestShowNamesProblems(t *testing.T) {
	d, _ := made(t)
	if _, err := d.Issue(node("n1"), "", now); err != nil {
		t.Fatal(err)
	}
	list, err := d.Show(now)
	if err != nil || len(list) != 2 || !list[0].Signs || list[0].Problem+list[1].Problem != "" ||
		list[1].Named != "tenure://prod/node/n1" {
		t.Errorf("%+v, %v", list, err)
	}
	list, err = d.Show(now.Add(LeafValidity + time.Hour))
	if err != nil || list[0].Problem != "" || !strings.Contains(list[1].Problem, "expired") {
		t.Errorf("%+v, %v", list, err)
	}
}

// What the file of a certificate says is believed only if an authority of the directory has signed it.
func TestOnlyWhatWasSignedIsRenewed(t *testing.T) {
	d, path := made(t)
	forged := issue(t, authority(t, "prod"), RoleNode, "n1", now)
	out := t.TempDir()
	cert := write(t, filepath.Join(out, "client-c.pem"), forged.Cert)
	key := write(t, filepath.Join(out, "client-c-key.pem"), forged.Key)
	if _, err := d.Renew(cert, 0, now); err == nil || !strings.Contains(err.Error(), "no authority in "+path) {
		t.Errorf("a certificate that nobody here has signed: %v", err)
	}
	if read(t, cert) != string(forged.Cert) || read(t, key) != string(forged.Key) {
		t.Error("the files have changed")
	}
	w, err := d.Issue(node("n1"), "", now)
	if err != nil {
		t.Fatal(err)
	}
	// Whoever connects to a node has its certificate, and may put it in the place of his own.
	c, err := d.Issue(Request{Identity: Identity{Role: RoleClient, Name: "c"}, Validity: LeafValidity}, "", now)
	if err != nil {
		t.Fatal(err)
	}
	own, ownKey := read(t, w.Cert), read(t, c.Key)
	if err := os.WriteFile(c.Cert, []byte(own), 0o644); err != nil {
		t.Fatal(err)
	}
	if _, err := d.Renew(c.Cert, 0, now); err == nil || read(t, c.Cert) != own || read(t, c.Key) != ownKey {
		t.Errorf("a node's certificate beside a client's key: %v", err)
	}
	if _, err := d.RenewAuthority(AuthorityValidity, now); err != nil {
		t.Fatal(err)
	}
	if _, err := d.Renew(w.Cert, 0, now.Add(LeafValidity+time.Hour)); err != nil {
		t.Errorf("an expired one, of the authority before: %v", err)
	}
}
