package named

import (
	"encoding/binary"
	"testing"
	"time"

	"tenure/internal/ballot"
	"tenure/internal/quorum"
)

// Fields are taken from the bytes one after the other; what is missing is zero.
type fuzzed []byte

func (f *fuzzed) byte() byte {
	if len(*f) == 0 {
		return 0
	}
	b := (*f)[0]
	*f = (*f)[1:]
	return b
}

// number is mostly small, sometimes any.
func (f *fuzzed) number() uint64 {
	b := f.byte()
	if b < 0xf0 {
		return uint64(b)
	}
	var w [8]byte
	for i := range w {
		w[i] = f.byte()
	}
	return binary.BigEndian.Uint64(w[:])
}

func (f *fuzzed) text() string {
	n := min(int(f.byte()), len(*f))
	s := string((*f)[:n])
	*f = (*f)[n:]
	return s
}

func (f *fuzzed) request() Request {
	q := Request{Kind: Kind(f.byte() % 12), Counter: f.number(), Token: Token(f.number()),
		Duration: time.Duration(f.number()), Owner: f.text()}
	q.Name[0], q.Acquisition[3] = f.byte(), f.byte()
	return q
}

func (f *fuzzed) reply() Reply {
	r := Reply{
		Kind: Kind(f.byte() % 12), Counter: f.number(), Promised: f.number(), Report: Token(f.number()), LiveToken: Token(f.number()),
		LiveLeft: time.Duration(f.number()), LiveOwner: f.text(),
	}
	flags := f.byte()
	r.Full, r.Live = flags&1 != 0, flags&2 != 0
	r.Name[0], r.LiveAcquisition[3] = f.byte(), f.byte()
	return r
}

// No request makes an acceptor panic, give a malformed answer, or exceed its bounds.
func FuzzTableHandle(f *testing.F) {
	f.Add([]byte{})
	f.Add([]byte{1, 1, 0, 0, 0, 5, 1, 4, 1, 9, 200, 3, 'a', 'b', 'c', 5, 1, 7, 1, 0, 0, 0, 5, 1})
	f.Add([]byte{4, 1, 0xff, 1, 2, 3, 4, 5, 6, 7, 8, 0xff, 0, 0, 0, 0, 0x1d, 0xcd, 0x65, 0, 1, 'o', 9, 2, 9, 1, 0, 0, 0,
		9, 2})
	f.Fuzz(func(t *testing.T, b []byte) {
		in := fuzzed(b)
		c := testConfig()
		c.MaxRecords = 3
		table := opened(t, c, 0)
		now := time.Duration(0)
		for range 20 {
			if len(in) == 0 {
				break
			}
			q := in.request()
			r, ok := table.Handle(now, ballot.Incarnation{Restart: in.number(), Node: ballot.NodeID(in.byte()),
				Nonce: in.number()}, q)
			if ok && (r.Check() != nil || q.Check() != nil || r.Counter != q.Counter || r.Name != q.Name) {
				t.Fatalf("%+v is answered with %+v: %v", q, r, r.Check())
			}
			if table.Records() > c.MaxRecords || int(table.slab.n) > c.MaxRecords || int(table.owners.list.n) > c.MaxRecords+1 {
				t.Fatalf("%d records, %d owners", table.Records(), table.owners.list.n)
			}
			now += time.Duration(in.byte()) * ms
			table.Sweep(now, int(in.byte()))
		}
	})
}

// No answer makes an attempt panic, or send a malformed request.
func FuzzAttemptHandle(f *testing.F) {
	f.Add([]byte{})
	f.Add([]byte{2, 1, 0, 4, 0, 0, 0, 0, 'n', 0, 1, 2, 1, 0, 4, 0, 0, 0, 0, 'n', 0, 2})
	f.Fuzz(func(t *testing.T, b []byte) {
		in := fuzzed(b)
		a := Begin(0, Ask{Name: Name{'n'}, Acquisition: acquisitionOf("a"), Duration: 500 * ms, Renewal: in.byte()&1 != 0},
			quorum.Of(1, 2, 3, 4, 5, 6, 7), 1)
		for now := time.Duration(0); len(in) > 0; now += time.Duration(in.byte()) * ms {
			r := in.reply()
			a.Handle(now, ballot.NodeID(in.byte()%9), r)
			if q, to := a.Requests(now); to.Len() > 0 && q.Check() != nil {
				t.Fatalf("sends %+v: %v", q, q.Check())
			}
			if q, ok := a.Withdrawal(); ok && q.Check() != nil {
				t.Fatalf("withdraws %+v: %v", q, q.Check())
			}
			_ = a.RetryIn()
		}
	})
}
