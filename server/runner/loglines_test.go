package runner

import (
	"bytes"
	"strings"
	"testing"

	"github.com/rs/zerolog"

	"tenure/internal/ballot"
	"tenure/internal/ident"
	"tenure/storage"
)

// The line about a full disk names the member, and has the figures of the disk when the line is written.
func TestTheLineOfAFullDisk(t *testing.T) {
	var out bytes.Buffer
	l := &Log{cfg: LogConfig{Logger: zerolog.New(&out)}}
	u := storage.Usage{FreeBytes: 7, HeldBytes: 1, LogBytes: 20, StateBytes: 30, ReserveBytes: 9, QuotaBytes: 50}
	usage := func() storage.Usage { return u }
	l.fullChanged(nil, []ballot.NodeID{1, 2}, 2, usage)
	u.FreeBytes, u.StateBytes = 70, 10
	l.fullChanged([]ballot.NodeID{1, 2}, []ballot.NodeID{1}, 2, usage)
	const want = `{"level":"warn","member":1,"message":"the disk of a member has reached its reserve or its quota"}
{"level":"warn","member":2,"free_bytes":8,"used_bytes":50,"reserve_bytes":9,"quota_bytes":50,` +
		`"message":"the disk of a member has reached its reserve or its quota"}
{"level":"info","member":2,"free_bytes":71,"used_bytes":30,"reserve_bytes":9,"quota_bytes":50,` +
		`"message":"the disk of a member has space again, or the member cannot be reached"}
`
	if out.String() != want {
		t.Errorf("%s\nwant %s", out.String(), want)
	}
}

func TestTheLinesOfADrain(t *testing.T) {
	var out bytes.Buffer
	d := NewDrain(DrainConfig{Logger: zerolog.New(&out), Members: NewMembers(1, ident.Membership{}, nil)})
	d.Begin()
	d.End() // taken back before it took effect
	if out.Len() != 0 {
		t.Errorf("%s", out.String())
	}
	d.Begin()
	if done, err := d.Complete(); !done || err != nil {
		t.Fatal(done, err)
	}
	if got := out.String(); !strings.Contains(got, "is drained") {
		t.Errorf("the beginning: %s", got)
	}
	out.Reset()
	d.End()
	if got := out.String(); !strings.Contains(got, "has ended") || strings.Contains(got, "begun") {
		t.Errorf("the end: %s", got)
	}
}
