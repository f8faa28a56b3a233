package certs

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// serials returns what is on the lists in a directory, in order.
func serials(t *testing.T, d *Dir) (out []string) {
	t.Helper()
	lists, err := d.Lists()
	if err != nil {
		t.Fatal(err)
	}
	for _, l := range lists {
		for _, e := range l.Entries {
			out = append(out, e.Serial)
		}
	}
	return out
}

// revoke revokes the certificates in files, which must work.
func revoke(t *testing.T, d *Dir, at time.Time, files ...string) RevokedList {
	t.Helper()
	l, done, err := d.Revoke(files, ListValidity, at)
	if err != nil || len(done) != len(files) {
		t.Fatal(done, err)
	}
	return l
}

// TestNothingIsLostFromAList: rewriting a list keeps its entries and their dates, and an unreadable list is not
// overwritten.
func TestNothingIsLostFromAList(t *testing.T) {
	d, path := made(t)
	var all []Written
	for _, name := range []string{"n1", "n2", "n3"} {
		w, err := d.Issue(node(name), "", now)
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, w)
	}
	revoke(t, d, now, all[0].Cert)
	l := revoke(t, d, now.Add(time.Hour), all[0].Cert, all[1].Cert)
	if len(l.Entries) != 2 || !l.Entries[0].At.Equal(now) || l.Entries[0].Serial != serialText(all[0].Leaf.SerialNumber) ||
		!l.Entries[1].At.Equal(now.Add(time.Hour)) {
		t.Errorf("%+v", l)
	}
	again := revoke(t, d, now.Add(48*time.Hour))
	if len(again.Entries) != 2 || again.Next.Sub(l.Next) != 47*time.Hour {
		t.Errorf("%+v: only the date of the next update is another one", again)
	}
	name := filepath.Join(path, ListName)
	whole := read(t, name)
	for _, damage := range []string{"", whole[:len(whole)-40], strings.Replace(whole, "M", "N", 3)} {
		write(t, name, []byte(damage))
		if _, _, err := d.Revoke([]string{all[2].Cert}, ListValidity, now); err == nil {
			t.Errorf("%q was written over", damage)
		}
		if read(t, name) != damage {
			t.Errorf("%q was changed", damage)
		}
	}
	write(t, name, []byte(whole))
	if _, _, err := d.Revoke([]string{all[2].Cert, "/none"}, ListValidity, now); err == nil || read(t, name) != whole {
		t.Errorf("one file is not there, and the list was changed: %v", err)
	}
}

// TestAListThatHasChangedMeanwhileIsNotWrittenOver: what another program has revoked since it was read stays revoked.
func TestAListThatHasChangedMeanwhileIsNotWrittenOver(t *testing.T) {
	d, _ := made(t)
	w, err := d.Issue(node("n1"), "", now)
	if err != nil {
		t.Fatal(err)
	}
	for _, before := range [][]string{nil, {w.Cert}} {
		text, err := d.listText()
		if err != nil {
			t.Fatal(err)
		}
		next, err := d.nextList(nil, ListValidity, now)
		if err != nil {
			t.Fatal(err)
		}
		revoke(t, d, now, before...) // by another program
		want := serials(t, d)
		if _, err := d.writeLists(next, nil, text); err == nil || !strings.Contains(err.Error(), "try again") {
			t.Error(err)
		}
		if got := serials(t, d); len(got) != len(want) {
			t.Errorf("%v, want %v", got, want)
		}
	}
}

// TestWhoCanRevoke: the authority that has signed a certificate, while it signs, and no other.
func TestWhoCanRevoke(t *testing.T) {
	d, path := made(t)
	other, _ := made(t)
	w, err := d.Issue(node("n1"), "", now)
	if err != nil {
		t.Fatal(err)
	}
	foreign, err := other.Issue(node("n1"), "", now)
	if err != nil {
		t.Fatal(err)
	}
	refused := func(file, want string) {
		t.Helper()
		if _, _, err := d.Revoke([]string{file}, ListValidity, now); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v; want %q", err, want)
		}
	}
	refused(foreign.Cert, "no authority in")
	refused(filepath.Join(path, BundleName), "the certificate of the authority itself")
	refused(w.Key, "has no certificate in PEM form")
	if _, err := os.Stat(filepath.Join(path, ListName)); err == nil {
		t.Error("a list was written")
	}
	revoke(t, d, now, w.Cert)
	if _, err := d.RenewAuthority(AuthorityValidity, now); err != nil {
		t.Fatal(err)
	}
	refused(w.Cert, "whose key is not here any more")
	if _, _, err := d.Revoke(nil, ListValidity, now.Add(2*AuthorityValidity)); err == nil || !strings.Contains(err.Error(), "expired") {
		t.Error(err)
	}
	if got := serials(t, d); len(got) != 1 {
		t.Errorf("%v: the list of the authority of before is gone, and it is still trusted", got)
	}
	revoke(t, d, now)
	if got := serials(t, d); len(got) != 1 {
		t.Errorf("%v: the same after another list was written", got)
	}
	if _, err := d.Renew(w.Cert, 0, now); err != nil {
		t.Fatal(err)
	}
	if _, err := d.Retire(now); err != nil {
		t.Fatal(err)
	}
	if got := serials(t, d); len(got) != 0 {
		t.Errorf("%v: lists of an authority that is not there any more", got)
	}
	f, err := Load(Paths{Cert: w.Cert, Key: w.Key, CA: filepath.Join(path, BundleName)}, nil)
	if err == nil {
		_, err = LoadRevocations(filepath.Join(path, ListName), f)
	}
	if err != nil {
		t.Errorf("a node does not take what is left: %v", err)
	}
}

// TestAListIsNotWrittenThroughALink: neither what a link names is changed nor the link, and a link to nothing is not
// taken for a list of nobody.
func TestAListIsNotWrittenThroughALink(t *testing.T) {
	d, path := made(t)
	revoke(t, d, now)
	name, target := filepath.Join(path, ListName), filepath.Join(t.TempDir(), "target")
	before := read(t, name)
	for _, there := range []bool{true, false} {
		if err := os.Remove(name); err != nil {
			t.Fatal(err)
		}
		if err := os.Symlink(target, name); err != nil {
			t.Fatal(err)
		}
		if there {
			write(t, target, []byte(before))
		} else if err := os.Remove(target); err != nil {
			t.Fatal(err)
		}
		if _, _, err := d.Revoke(nil, ListValidity, now); err == nil || !strings.Contains(err.Error(), "is a link") {
			t.Errorf("the target is there: %v: %v", there, err)
		}
		if to, err := os.Readlink(name); err != nil || to != target || there && read(t, target) != before {
			t.Errorf("the target is there: %v: it was changed: %v", there, err)
		}
	}
}

// TestShowHasTheList: with how many are on it, when the next update is due, and who in the directory is revoked.
func TestShowHasTheList(t *testing.T) {
	d, _ := made(t)
	w, err := d.Issue(node("n1"), "", now)
	if err != nil {
		t.Fatal(err)
	}
	revoke(t, d, now, w.Cert)
	list, err := d.Show(now)
	if err != nil || len(list) != 3 || list[1].List == nil || len(list[1].List.Entries) != 1 || list[1].Problem != "" ||
		!list[1].To.Equal(now.Add(ListValidity)) || !strings.Contains(list[2].Problem, "it was revoked on") {
		t.Errorf("%+v, %v", list, err)
	}
	if list, err = d.Show(now.Add(ListValidity + time.Hour)); err != nil || !strings.Contains(list[1].Problem, "overdue") {
		t.Errorf("%+v, %v", list, err)
	}
}
