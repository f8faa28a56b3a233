package state

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"path/filepath"
	"strings"
	"testing"

	"tenure/internal/ident"
	"tenure/kv"
	"tenure/storage/internal/sealed"
)

// forge is a stream of one record and its header.
func forge(change func(h *snapshotHeader), records ...kv.Change) (header []byte, pieces [][]byte) {
	h := snapshotHeader{Version: snapshotVersion, Cluster: ident.ClusterID{9}, Slot: 30, Meta: []byte("forged")}
	var stream []byte
	for _, c := range records {
		record := bucketSeeds[c.Kind].Seal(nil, c.Key, c.Value)
		h.Records.Add(record)
		w := pieceWriter{at: position{kind: c.Kind, key: c.Key}, buf: make([]byte, 0, 1<<20)}
		w.add(record)
		stream = append(stream, w.buf...)
	}
	if change != nil {
		change(&h)
	}
	header = h.seal()
	for at := 0; at < len(stream); at += 1000 {
		p := binary.BigEndian.AppendUint64(nil, uint64(at))
		pieces = append(pieces, sealPiece(pieceSeed(header), append(p, stream[at:min(len(stream), at+1000)]...)))
	}
	return header, pieces
}

func record(key string) kv.Change {
	return kv.Change{Kind: kv.KindData, Key: []byte(key), Value: []byte("v")}
}

func TestPositionsThatAreWrong(t *testing.T) {
	s := open(t, t.TempDir(), small)
	checkpointKeys(t, s, 1, 0, 3000, "v")
	v, err := s.Snapshot(ident.ClusterID{9}, ident.Membership{}, 0)
	must(t, err)
	t.Cleanup(v.Close)
	_, next, err := v.Piece(nil, minPieceBytes)
	must(t, err)
	for name, p := range map[string][]byte{
		"short": next[:5], "without a key": next[:positionBytes],
		"of a key that is not there": append(bytes.Clone(next), 'x'),
		"of a space without records": append(append(bytes.Clone(next[:8]), 200), next[9:]...),
		"long":                       append(bytes.Clone(next), make([]byte, sealed.MaxKeyBytes)...),
	} {
		if _, _, err := v.Piece(p, 1000); !errors.Is(err, ErrBadPiece) {
			t.Errorf("a position %s: %v", name, err)
		}
	}
}

// A stream that is not what its header says is noticed at its end at the latest, and leaves the state alone.
func TestSnapshotsThatAreNotWhole(t *testing.T) {
	type row struct {
		change  func(h *snapshotHeader)
		records []kv.Change
		left    int // pieces left out at the end
		words   string
	}
	a, b := record("a"), record("b")
	long := kv.Change{Kind: kv.KindData, Key: []byte("b"), Value: make([]byte, 1500)}
	for name, forged := range map[string]row{
		"whole":               {nil, []kv.Change{a, b}, 0, ""},
		"a record is missing": {func(h *snapshotHeader) { h.Records.Count++ }, []kv.Change{a}, 0, "1 records came and 2"},
		"another record":      {func(h *snapshotHeader) { h.Records.Sum++ }, []kv.Change{a}, 0, "or not these"},
		"out of order":        {nil, []kv.Change{b, a}, 0, "out of order"},
		"the end is missing":  {nil, []kv.Change{a, long}, 1, "in the middle of a record"},
		"an unknown space":    {nil, []kv.Change{{Kind: 200, Key: []byte("a"), Value: []byte("v")}}, 0, "does not know"},
		"one too many":        {func(h *snapshotHeader) { h.Records = sealed.Digest{} }, []kv.Change{a}, 0, "should have"},
	} {
		t.Run(name, func(t *testing.T) {
			s := open(t, t.TempDir(), small)
			before := mustContent(t, s)
			header, all := forge(forged.change, forged.records...)
			r, err := receive(s, header)
			must(t, err)
			for _, p := range all[:len(all)-forged.left] {
				err = errors.Join(err, r.Add(p))
			}
			err = errors.Join(err, r.Finish())
			if forged.words == "" {
				must(t, err)
				if !strings.Contains(mustContent(t, reopen(t, s)), "forged") {
					t.Error("was not installed")
				}
				return
			}
			if err == nil || !strings.Contains(err.Error(), forged.words) {
				t.Fatalf("%v", err)
			}
			if left, _ := filepath.Glob(filepath.Join(s.files.Dir, "state.*.receiv*")); len(left) > 0 ||
				mustContent(t, reopen(t, s)) != before {
				t.Errorf("the store is not what it was: %v", left)
			}
		})
	}
}

func receive(s *testDB, header []byte) (*Receiver, error) {
	stream, err := OpenSnapshotStream(header)
	if err != nil {
		return nil, err
	}
	return s.Receive(stream, s.owner)
}

func TestSnapshotsThatAreRefused(t *testing.T) {
	s := open(t, t.TempDir(), small)
	for name, c := range map[string]struct {
		change func(*snapshotHeader)
		kind   error
		words  string
	}{
		"of another version":   {func(h *snapshotHeader) { h.Version = 2 }, ErrBadPiece, "version"},
		"larger than the disk": {func(h *snapshotHeader) { h.Bytes = 1 << 55 }, ErrNoSpace, "make space"},
		"larger than can be":   {func(h *snapshotHeader) { h.Bytes = math.MaxInt64 }, ErrBadPiece, "header"},
	} {
		t.Run(name, func(t *testing.T) {
			header, _ := forge(c.change, record("a"))
			_, err := receive(s, header)
			wantError(t, err, c.kind, c.words)
		})
	}
	header, _ := forge(nil, record("a"))
	r, err := receive(s, header)
	must(t, err)
	r.batchSize = 1 << 55
	wantError(t, r.flush(), ErrNoSpace, fmt.Sprintf("takes %d and a reserve of %d;", 1<<56,
		s.room.space.Usage().ReserveBytes/2))
	must(t, r.Abort())
}
