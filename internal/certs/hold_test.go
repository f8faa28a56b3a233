//go:build unix

package certs

import (
	"sync"
	"testing"
)

// TestTwoRevokeAtOnce: each of many programs that revoke a certificate at the same time finds it on the list.
func TestTwoRevokeAtOnce(t *testing.T) {
	d, path := made(t)
	var files []string
	for _, name := range []string{"n1", "n2", "n3", "n4", "n5", "n6", "n7", "n8"} {
		w, err := d.Issue(node(name), "", now)
		if err != nil {
			t.Fatal(err)
		}
		files = append(files, w.Cert)
	}
	var all sync.WaitGroup
	for _, name := range files {
		all.Go(func() {
			release, err := Hold(path)
			if err != nil {
				t.Error(err)
				return
			}
			defer release()
			d, err := Open(path)
			if err == nil {
				_, _, err = d.Revoke([]string{name}, ListValidity, now)
			}
			if err != nil {
				t.Error(err)
			}
		})
	}
	all.Wait()
	if got := serials(t, d); len(got) != len(files) {
		t.Errorf("%d of %d are on the list", len(got), len(files))
	}
}
