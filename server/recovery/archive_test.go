package recovery

import (
	"bytes"
	"context"
	"errors"
	"io"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"tenure/internal/ballot"
	"tenure/internal/ident"
	"tenure/kv"
	"tenure/multipaxos"
	"tenure/server/archive"
	"tenure/server/backup"
	"tenure/storage"
)

// objects is an archive in memory.
type objects struct {
	listing archive.Listing
	all     map[string][]byte
}

func (o *objects) Full(_ context.Context, c ident.ClusterID, f archive.Full) (io.ReadCloser, error) {
	return io.NopCloser(bytes.NewReader(o.all[f.Name(c)])), nil
}

func (o *objects) Segment(_ context.Context, c ident.ClusterID, s archive.Segment) ([]byte, error) {
	return o.all[s.Name(c)], nil
}

// put adds an object.
func (o *objects) put(name string, b []byte) {
	o.all[name] = b
	var names []string
	for n := range o.all {
		names = append(names, n)
	}
	o.listing = archive.List(o.listing.Cluster, names)
}

// archived is a node whose log is archived: a full copy after its first slot, and a segment for each other slot.
type archived struct {
	w     *world
	store *storage.Store
	state *kv.State
	chain archive.Chain
	*objects
}

func newArchived(w *world) *archived {
	s, err := storage.Open(w.t.TempDir(), small)
	w.must(err)
	w.t.Cleanup(func() { s.Close() })
	c := ident.ClusterID{w.cluster}
	w.must(s.SetNode(1))
	w.must(s.Found(c, ident.Membership{Number: 1, Members: []ident.Member{{Node: 1, Store: s.Identity().Store}}}))
	w.must(s.Start(storage.StartRecord{Restart: 1, Bucket: time.Second}))
	a := &archived{w: w, store: s, chain: archive.BeginChain(c, 2),
		objects: &objects{listing: archive.Listing{Cluster: c}, all: map[string][]byte{}}}
	a.state, err = kv.Open(s, kv.DefaultLimits)
	w.must(err)
	a.do(kv.Command{Op: kv.OpLevel, Num: 1})
	all := a.copy()
	f := archive.Full{Slot: 1, Revision: a.state.Revision(), Made: time.UnixMilli(1), Node: 1}
	a.put(f.Name(c), all)
	return a
}

// copy returns a full copy of the state as it is now.
func (a *archived) copy() []byte {
	a.w.t.Helper()
	a.w.must(a.store.Checkpoint(a.state.Freeze().Checkpoint()))
	a.w.must(a.state.Checkpointed())
	snapshot, err := a.store.Snapshot()
	a.w.must(err)
	defer snapshot.Close()
	var all []byte
	m, err := backup.NewMaker(snapshot, time.UnixMilli(1))
	a.w.must(err)
	for {
		b, err := m.Next()
		if err == io.EOF {
			return all
		}
		a.w.must(err)
		all = append(all, b...)
	}
}

// do applies commands as the next slot, archives it, and returns the first result.
func (a *archived) do(cs ...kv.Command) kv.Result {
	a.w.t.Helper()
	var batch []byte
	for i := range cs {
		batch = kv.AppendBatch(batch, kv.EncodeCommand(&cs[i]))
	}
	slot := a.state.Applied() + 1
	value := append([]byte{1}, batch...)
	results, err := a.state.Apply(slot, batch)
	a.w.must(err)
	a.w.must(a.store.Commit([]multipaxos.Persist{{Seq: slot, Chosen: multipaxos.Slot(slot), Entries: []multipaxos.Entry{
		{Slot: multipaxos.Slot(slot), Ballot: ballot.Ballot{Counter: 1, Restart: 1, Node: 1}, Value: value}}}}))
	if slot == 1 {
		return results[0]
	}
	var m archive.Moments
	m.Add(slot, a.state.Revision(), time.UnixMilli(int64(slot)))
	b := archive.NewBuilder(a.listing.Cluster, slot, a.chain)
	b.Add(slot, value, 0)
	name, segment, _ := b.Encode(&m)
	a.chain = name.After
	a.put(name.Name(a.listing.Cluster), segment)
	return results[0]
}

func (a *archived) restore(at archive.At) (Result, Restored, error) {
	return RestoreArchive(a.w.t.Context(), a.objects, a.listing, at,
		filepath.Join(a.w.t.TempDir(), "new"), func(s string) { a.w.t.Error(s) }, func(Restored) {})
}

func set(key, value string) kv.Command {
	return kv.Command{Op: kv.OpSet, Key: key, Value: []byte(value), IdemKey: "once " + key, Base: 1}
}

// TestRestoreAroundAnUpload restores each revision before and after a state was replaced by an uploaded one. The
// revisions between, which the store never had, are refused, and leave nothing.
func TestRestoreAroundAnUpload(t *testing.T) {
	w := newWorld(t, 1)
	other := newArchived(w)
	for range 50 {
		other.do(kv.Command{Op: kv.OpSet, Key: "up", Value: []byte("loaded")})
	}
	f := other.state.Freeze().Checkpoint()
	pieces, err := kv.NewPieces(f.Slot, f.Meta)
	w.must(err)
	for c := range f.Changes {
		if _, ok := c.Kind.Staged(); ok {
			w.must(pieces.Add(c))
		}
	}
	a := newArchived(w)
	a.do(set("a", "1"), set("b", "1"))
	a.do(set("c", "1"))
	const id = "00000000-0000-4000-8000-00000000000a"
	for n, p := range pieces.List() {
		a.do(kv.Command{Op: kv.OpStage, Session: kv.Session{ID: id}, Num: int64(n), Value: p})
	}
	whole := kv.Command{Op: kv.OpInstall, Session: kv.Session{ID: id}, Num: int64(len(pieces.List()))}
	installed := a.do(whole).Revision
	a.do(kv.Command{Op: kv.OpSet, Key: "d", Value: []byte("1")})
	for _, c := range []struct {
		at   uint64
		keys string
	}{{2, "a=1"}, {3, "a=1 b=1"}, {4, "a=1 b=1 c=1"}, {installed, "up=loaded"}, {installed + 1, "d=1 up=loaded"}} {
		r, got, err := a.restore(archive.At{Revision: c.at})
		if err != nil {
			t.Errorf("revision %d: %v", c.at, err)
			continue
		}
		s, state, keys := w.result(r)
		if keys != c.keys || got.Revision != c.at || !jumped(state) {
			t.Errorf("revision %d: %s at %d, and it goes on at %d", c.at, keys, got.Revision, state.Revision())
		}
		next := kv.Command{Op: kv.OpSet, Key: "a", Value: []byte("2"), IdemKey: "new", Base: state.Revision()}
		if got, err := state.Apply(state.Applied()+1, kv.AppendBatch(nil, kv.EncodeCommand(&next))); err != nil ||
			got[0].Code != kv.CodeDone {
			t.Errorf("revision %d: a write afterwards: %+v %v", c.at, got, err)
		}
		w.must(s.Close())
	}
	for _, at := range []uint64{5, 100, installed - 1} {
		r, got, err := a.restore(archive.At{Revision: at})
		if !errors.Is(err, archive.ErrNotThere) || !strings.Contains(err.Error(), "from revision 4 beyond that (--at 4 ") {
			t.Errorf("revision %d, which never was: %+v %+v %v", at, r, got, err)
		}
	}
}

// TestASegmentOfAnotherLog: a segment is of the log of the full copy if its slots lead to the revisions that it says.
func TestASegmentOfAnotherLog(t *testing.T) {
	a := newArchived(newWorld(t, 1))
	a.do(set("a", "1"))
	slot := a.state.Applied() + 1
	c := set("b", "1")
	value := append([]byte{1}, kv.AppendBatch(nil, kv.EncodeCommand(&c))...)
	var m archive.Moments
	m.Add(slot, a.state.Revision()+2, time.UnixMilli(int64(slot)))
	b := archive.NewBuilder(a.listing.Cluster, slot, a.chain)
	b.Add(slot, value, 0)
	name, segment, _ := b.Encode(&m)
	a.put(name.Name(a.listing.Cluster), segment)
	if _, _, err := a.restore(archive.At{}); err == nil || !strings.Contains(err.Error(), "of another log than the full copy") {
		t.Error(err)
	}
	if _, got, err := a.restore(archive.At{Revision: 2}); err != nil || got.Revision != 2 {
		t.Errorf("before that segment: %+v %v", got, err)
	}
}
