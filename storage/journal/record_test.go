package journal

import (
	"bytes"
	"runtime"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"pgregory.net/rapid"

	"tenure/internal/ballot"
	"tenure/multipaxos"
)

func drawRecord(t *rapid.T) *Record {
	draw := func(name string) ballot.Ballot {
		return ballot.Ballot{
			Counter: rapid.Uint64Range(0, 2).Draw(t, name), Restart: rapid.Uint64().Draw(t, name+" restart") & 1,
			Node:  ballot.NodeID(rapid.Uint64Range(0, 1).Draw(t, name+" node")),
			Nonce: rapid.Uint64().Draw(t, name+" nonce") & 1,
		}
	}
	slot := func(name string) multipaxos.Slot { return multipaxos.Slot(rapid.Uint64().Draw(t, name)) }
	r := &Record{
		Generation: rapid.Uint64().Draw(t, "generation"),
		Marks: multipaxos.Durable{Promised: draw("promised"), Truncated: slot("truncated"),
			Chosen: slot("chosen"), Last: slot("last")},
	}
	for range rapid.IntRange(0, 5).Draw(t, "entries") {
		r.Entries = append(r.Entries, multipaxos.Entry{
			Slot: slot("slot"), Ballot: draw("ballot"),
			Value: bytes.Repeat([]byte{7}, rapid.SampledFrom([]int{0, 1, 127, 128, 300, 20_000}).Draw(t, "bytes")),
		})
	}
	return r
}

func TestRecordsComeBack(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		r := drawRecord(t)
		body := appendBody(nil, r)
		if len(body) != sizeOf(r) || Size(r) != sectorsOf(len(body))*SectorBytes {
			t.Fatalf("%d bytes, foretold %d, in %d", len(body), sizeOf(r), Size(r))
		}
		padded := append(body, make([]byte, sectorsOf(len(body))*spaceBytes-len(body))...)
		got, err := decode(padded)
		if d := cmp.Diff(&got, r, cmpopts.EquateEmpty()); err != nil || d != "" {
			t.Fatalf("%v %s", err, d)
		}
	})
}

// Decoding any body ends without a panic and takes a bounded multiple of its length. A decoded record comes back
// unchanged from encoding and decoding.
func FuzzDecode(f *testing.F) {
	f.Add(appendBody(nil, rec(7, 100)))
	f.Add(appendBody(nil, &Record{}))
	many := &Record{Entries: make([]multipaxos.Entry, 100)}
	f.Add(appendBody(nil, many))
	lie := appendBody(nil, many)
	order.PutUint32(lie[68:], 1<<31)
	f.Add(lie)
	long := appendBody(nil, rec(7, 100))
	long[bodyBytes+9] = 0xff
	f.Add(long)
	f.Fuzz(func(t *testing.T, body []byte) {
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		r, err := decode(body)
		runtime.ReadMemStats(&after)
		if took := after.TotalAlloc - before.TotalAlloc; took > 16*uint64(len(body))+64<<10 {
			t.Fatalf("%d bytes made it allocate %d", len(body), took)
		}
		if err != nil {
			return
		}
		again, err := decode(appendBody(nil, &r))
		if d := cmp.Diff(again, r, cmpopts.EquateEmpty()); err != nil || d != "" {
			t.Fatalf("%v %s", err, d)
		}
	})
}

// Opening a ring of any bytes ends without a panic. The patch goes over a good ring; its checksums are made right
// again, so that the checks behind them are reached too.
func FuzzOpen(f *testing.F) {
	good := newMemFile(32)
	g, _ := mustOpen(f, good, Home{})
	for i := range 6 {
		mustAppend(f, g, rec(i+1, i*200))
	}
	f.Add(uint64(0), []byte{0, 0, 12, 9})
	f.Add(uint64(3), []byte{1, 0, 4, 9, 2, 0, 15, 200})
	f.Fuzz(func(t *testing.T, journaled uint64, patch []byte) {
		m := newMemFile(32)
		copy(m.seen, good.disk)
		for ; len(patch) >= 4; patch = patch[4:] {
			at := int(patch[0])%32*SectorBytes + (int(patch[1])<<8+int(patch[2]))%SectorBytes
			m.seen[at] = patch[3]
		}
		for s := range 32 {
			sector := m.seen[s*SectorBytes : (s+1)*SectorBytes]
			if string(sector) != string(never[:]) {
				order.PutUint32(sector, seedOf(store).sum(s, sector))
			}
		}
		ring, records, err := openAll(m, store, Home{Journaled: journaled, Generation: 5})
		if err != nil {
			return
		}
		if n := len(records); n > 0 && (records[n-1].Number > ring.Last() || records[0].Number != journaled+1) {
			t.Fatalf("%v after %d, last %d", numbers(records), journaled, ring.Last())
		}
	})
}
