package transport

import (
	"bytes"
	"encoding/hex"
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"tenure/internal/ballot"
	"tenure/internal/frame"
	"tenure/internal/ident"
)

// golden is a message as bytes, with a name that finds it in a file of testdata.
type golden struct {
	name string
	body []byte
}

// TestGoldenHandshake compares the bytes of the handshake, of keepalives and of frames with those that an earlier build
// of this Version sent.
func TestGoldenHandshake(t *testing.T) {
	run := ballot.Incarnation{Restart: 300, Node: 2, Nonce: 1<<63 + 5}
	hello := Hello{Cluster: ident.ClusterID{1, 2, 255}, Node: 2, Store: ident.StoreID{3, 4}, Incarnation: run,
		Constants:  Constants{LeaseTime: 7 * time.Second, MaxLeaseTime: 3 * time.Minute, DriftPPM: 10_000, Margin: 5 * time.Millisecond},
		ClientAddr: "127.0.0.1:8500", Marks: Marks{Promised: ballot.New(9, run), Accepted: 70000}}
	list := []Address{{1, "a:1"}, {2, "b:2"}}
	members := ident.Membership{Number: 1, Members: []ident.Member{{Node: 1, Store: ident.StoreID{1}}, {Node: 2, Store: ident.StoreID{2}}}}
	var all []golden
	for i, m := range []any{
		&helloMsg{KindLease, 1, hello}, &helloMsg{KindLog, 1, hello}, &helloMsg{KindNamed, 1, hello}, &readyMsg{},
		&refuseMsg{ReasonStore, "text"}, &askMsg{1, 2, ident.StoreID{7}, list}, &answerMsg{Node: 2, Store: ident.StoreID{8}, List: list},
		&answerMsg{2, ident.StoreID{8}, list, ident.ClusterID{1}, members, true}, &foundMsg{ident.ClusterID{1}, members}, &formedMsg{},
		&releaseMsg{1, Release{Cluster: ident.ClusterID{1}, Store: ident.StoreID{2}, Owner: run, Counters: []uint64{1, 70000}}},
	} {
		all = append(all, golden{fmt.Sprintf("handshake %d, type %d", i, typeOf(m)), encodeMsg(m)})
	}
	tr := &Transport{cfg: Config{Hello: func() Hello { return hello }}}
	for _, k := range kinds {
		all = append(all, golden{fmt.Sprintf("keepalive on a %v connection", k), (&link{t: tr, kind: k}).keepalive()})
	}
	for _, n := range []int{0, 5, 300, 5000} {
		var out bytes.Buffer
		f := frame.NewWriter(&out)
		f.Add(bytes.Repeat([]byte{byte(n)}, n))
		if err := f.Flush(); err != nil || out.Len() != frame.HeaderBytes+n {
			t.Fatal(err)
		}
		all = append(all, golden{fmt.Sprintf("header of a frame of %d bytes", n), out.Bytes()[:frame.HeaderBytes]})
	}
	compareGolden(t, "testdata/handshake.txt", all)
}

// compareGolden compares messages with the lines of a file, each the name of a message and its bytes in hexadecimal.
func compareGolden(t *testing.T, file string, all []golden) {
	t.Helper()
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	want := map[string]string{}
	for line := range strings.Lines(string(text)) {
		name, bytes, _ := strings.Cut(strings.TrimSpace(line), "\t")
		want[name] = bytes
	}
	for _, g := range all {
		got := hex.EncodeToString(g.body)
		if got != want[g.name] {
			t.Errorf("the bytes have changed, want %q; have\n%s\t%s", want[g.name], g.name, got)
		}
		delete(want, g.name)
	}
	for name := range want {
		t.Errorf("%s: no such message any more", name)
	}
}
