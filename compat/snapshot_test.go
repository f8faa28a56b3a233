package compat

import (
	"archive/tar"
	"bufio"
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"hash"
	"io"
	"testing"

	"github.com/hashicorp/consul/api"
)

// TestSnapshotSave saves a snapshot through each node with Consul's client, and checks it by the rules of consul
// snapshot save.
func TestSnapshotSave(t *testing.T) {
	c := start(t)
	for i, n := range c.Nodes() {
		client := dial(t, n)
		_, err := client.KV().Put(&api.KVPair{Key: fmt.Sprintf("k%d", i), Value: bytes.Repeat([]byte{byte(i)}, 300_000)}, nil)
		must(t, err)
		body, meta, err := client.Snapshot().Save(&api.QueryOptions{AllowStale: i == 0})
		must(t, err)
		if meta.LastIndex < uint64(2+i) || !meta.KnownLeader {
			t.Errorf("%+v", meta)
		}
		index, size := verifySnapshot(t, body)
		must(t, body.Close())
		if index != meta.LastIndex || size < 300_000 {
			t.Errorf("index %d, meta %+v, %d bytes", index, meta, size)
		}
	}
}

// verifySnapshot does the same as Consul's snapshot.Verify: it knows three files, hashes the bytes that a JSON decoder
// reads of the first and all of the second, and compares with the third. The file meta.json must decode as the metadata
// of hashicorp/raft.
func verifySnapshot(t *testing.T, r io.Reader) (index uint64, size int64) {
	t.Helper()
	z, err := gzip.NewReader(r)
	must(t, err)
	archive := tar.NewReader(z)
	hashes := map[string]hash.Hash{"meta.json": sha256.New(), "state.bin": sha256.New()}
	var meta struct {
		Version       int
		ID            string
		Index, Term   uint64
		Peers         []byte
		Configuration struct {
			Servers []struct{ ID, Address string }
		}
		ConfigurationIndex uint64
		Size               int64
	}
	var sums bytes.Buffer
	for {
		h, err := archive.Next()
		if err == io.EOF {
			break
		}
		must(t, err)
		switch h.Name {
		case "meta.json":
			must(t, json.NewDecoder(io.TeeReader(archive, hashes[h.Name])).Decode(&meta))
		case "state.bin":
			size, err = io.Copy(hashes[h.Name], archive)
			must(t, err)
		case "SHA256SUMS":
			_, err = io.Copy(&sums, archive)
			must(t, err)
		default:
			t.Fatalf("unexpected file %q", h.Name)
		}
	}
	seen := 0
	for s := bufio.NewScanner(&sums); s.Scan(); seen++ {
		sum, name := make([]byte, sha256.Size), ""
		_, err := fmt.Sscanf(s.Text(), "%x  %s", &sum, &name)
		must(t, err)
		if hashes[name] == nil || !bytes.Equal(sum, hashes[name].Sum(nil)) {
			t.Errorf("the hash of %q differs", name)
		}
	}
	rest, err := io.Copy(io.Discard, z)
	must(t, err)
	if seen != 2 || rest != 0 || meta.Size != size {
		t.Errorf("%d hashes, %d bytes behind the archive, %+v, %d bytes", seen, rest, meta, size)
	}
	return meta.Index, size
}
