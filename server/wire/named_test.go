package wire

import (
	"bytes"
	"errors"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"tenure/internal/ballot"
	"tenure/lease/named"
	"tenure/server/replica/leases"
)

func someBatch() leases.Batch {
	n, a := named.Name{1, 2, 3}, named.Acquisition{9, 8}
	return leases.Batch{
		To: 2, For: ballot.Incarnation{Restart: 3, Node: 2, Nonce: 1 << 63},
		Requests: []named.Request{
			{Kind: named.Prepare, Name: n, Counter: 1, Membership: 1},
			{Kind: named.Accept, Name: n, Counter: 1 << 60, Acquisition: a, Token: 1<<32 + 5, Duration: time.Second,
				Owner: "me", Text: "jobs/nightly", Membership: 1},
			{Kind: named.Release, Name: n, Counter: 7, Acquisition: a},
			{Kind: named.Withdraw, Name: n, Counter: 8, Acquisition: a},
		},
		Replies: []named.Reply{
			{Kind: named.Promise, Name: n, Counter: 1, Report: 4},
			{Kind: named.Promise, Name: n, Counter: 1, Report: 6, Live: true, LiveAcquisition: a, LiveToken: 6,
				LiveLeft: time.Minute, LiveOwner: "you"},
			{Kind: named.PrepareRejected, Name: n, Counter: 2, Report: 6, Promised: 9, Full: true, Membership: 1},
			{Kind: named.AcceptRejected, Name: n, Counter: 2, Report: 6, Promised: 9, Live: true, LiveAcquisition: a,
				LiveToken: 6, Membership: 1},
			{Kind: named.Accepted, Name: n, Counter: 2},
			{Kind: named.Released, Name: n, Counter: 3},
			{Kind: named.Silent, Name: n, Counter: 4, Left: 12 * time.Second},
		},
	}
}

// changedBatch is someBatch under changing memberships.
func changedBatch() leases.Batch {
	b := someBatch()
	b.Requests[1].Membership = 300
	b.Requests = append(b.Requests, b.Requests[1], b.Requests[0])
	b.Replies[2].Membership, b.Replies[3].Membership = 2, 1<<40
	return b
}

func TestNamedRoundTrip(t *testing.T) {
	roundTrip(t, someBatch())
	roundTrip(t, changedBatch())
	if _, err := DecodeNamed([]byte{typeNamed, 0, 0, 0, 77}); !errors.Is(err, ErrMalformed) {
		t.Errorf("an unknown kind: %v", err)
	}
}

func roundTrip(t *testing.T, sent leases.Batch) {
	t.Helper()
	want := sent
	body := EncodeNamed(&sent)
	if len(sent.Requests)+len(sent.Replies) != 0 {
		t.Fatal("something is left")
	}
	got, err := DecodeNamed(body)
	if err != nil {
		t.Fatal(err)
	}
	got.To = want.To
	if d := cmp.Diff(want, *got); d != "" {
		t.Error(d)
	}
	for n := 1; n < len(body); n++ {
		if b, err := DecodeNamed(body[:n]); err == nil &&
			len(b.Requests)+len(b.Replies) == len(want.Requests)+len(want.Replies) {
			t.Errorf("the first %d of %d bytes are a whole batch", n, len(body))
		}
	}
}

// The first membership is not written: nodes that know no other send and understand the same bytes.
func TestFirstMembershipIsNotWritten(t *testing.T) {
	first, old := someBatch(), someBatch()
	for i := range old.Requests {
		old.Requests[i].Membership = 0
	}
	for i := range old.Replies {
		old.Replies[i].Membership = 0
	}
	if d := cmp.Diff(EncodeNamed(&old), EncodeNamed(&first)); d != "" {
		t.Error(d)
	}
}

// A batch that is larger than a body may be goes in several.
func TestNamedBodiesAreBounded(t *testing.T) {
	var b leases.Batch
	for i := range 40_000 {
		b.Requests = append(b.Requests, named.Request{Kind: named.Accept, Counter: uint64(i + 1),
			Owner: string(bytes.Repeat([]byte("o"), named.MaxOwnerBytes))})
	}
	frames, seen := 0, 0
	for ; len(b.Requests) > 0; frames++ {
		body := EncodeNamed(&b)
		if len(body) > MaxNamedBytes {
			t.Fatalf("a frame of %d bytes", len(body))
		}
		got, err := DecodeNamed(body)
		if err != nil {
			t.Fatal(err)
		}
		seen += len(got.Requests)
	}
	if frames < 2 || seen != 40_000 {
		t.Errorf("%d messages in %d frames", seen, frames)
	}
}
