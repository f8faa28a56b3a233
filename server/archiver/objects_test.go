package archiver

import (
	"bytes"
	"context"
	"errors"
	"io"
	"os"
	"path/filepath"
	"testing"

	"filippo.io/age"

	"tenure/internal/ident"
	"tenure/server/archive"
	"tenure/server/backup"
	"tenure/server/backup/target"
)

// TestEncryptedObjectsThatWereChanged: a restore takes the full copy before a damaged one, also if it is encrypted.
func TestEncryptedObjectsThatWereChanged(t *testing.T) {
	dir, c, f, s := t.TempDir(), ident.ClusterID{1}, archive.Full{Slot: 1}, archive.Segment{First: 2, Last: 2}
	id, err := age.GenerateX25519Identity()
	if err != nil {
		t.Fatal(err)
	}
	to, err := target.Open(dir, target.Config{Recipients: []age.Recipient{id.Recipient()}, Identities: []age.Identity{id}})
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{f.Name(c), s.Name(c)} {
		if err := to.Put(context.Background(), name, bytes.NewReader(make([]byte, 1000))); err != nil {
			t.Fatal(err)
		}
		path := filepath.Join(dir, name+target.EncryptedSuffix)
		b, err := os.ReadFile(path)
		if err == nil {
			b[len(b)-9] ^= 1
			err = os.WriteFile(path, b, 0o600)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	o := Objects{Target: to}
	r, err := o.Full(context.Background(), c, f)
	if err == nil {
		_, err = io.ReadAll(r)
	}
	if !errors.Is(err, backup.ErrDamaged) {
		t.Errorf("a full copy: %v", err)
	}
	if _, err := o.Segment(context.Background(), c, s); !errors.Is(err, archive.ErrDamaged) {
		t.Errorf("a segment: %v", err)
	}
}
