package replica

import (
	"testing"
	"time"

	"tenure/internal/ballot"
	"tenure/kv"
)

// A keyed write is forwarded to a master whose answer is lost. Before the node of its client has a second copy decided
// by the next master, somebody loses a permission. The verdict on the second copy tells whether the first was applied.
func TestAVerdictOnASecondCopyTellsOfTheFirst(t *testing.T) {
	for _, c := range []struct {
		first bool // copy comes to the master
		want  kv.Code
		value string
	}{{true, kv.CodeDecideInDoubt, "new"}, {false, kv.CodeDecideAgain, ""}} {
		cluster := newCluster(t, 3, 7)
		m := cluster.awaitMaster()
		f, third := cluster.nodes[m.id%3], cluster.nodes[(m.id+1)%3]
		cluster.write(m, 1, kv.Command{Op: kv.OpLevel, Num: kv.NewestLevel, Value: []byte("test")}, 5*time.Second)
		token := kv.Token{Accessor: "00000000-0000-4000-8000-0000000000b1", Secret: kv.HashSecret("s")}
		cluster.write(m, 2, kv.PutToken(token, true), 5*time.Second)
		cluster.run(200 * time.Millisecond)
		cmd := set("k", "new")
		cmd.IdemKey, cmd.Base, cmd.Decided = "w", f.state.Revision(), f.state.ACL().Revision()
		cluster.cut = func(from, to ballot.NodeID) bool {
			return from == m.id && to == f.id || !c.first && from == f.id && to == m.id
		}
		f.input(Event{Write: &Write{ID: 3, Command: kv.EncodeCommand(&cmd), Keyed: true, Until: cluster.now + 20*time.Second}})
		cluster.run(50 * time.Millisecond)
		if r := cluster.write(m, 4, kv.DropToken(token.Accessor), 5*time.Second); r.Result.Code != kv.CodeDone {
			t.Fatalf("%+v", r)
		}
		cluster.run(50 * time.Millisecond)
		cluster.crash(m)
		cluster.cut = func(_, _ ballot.NodeID) bool { return false }
		r := cluster.await(f, 3, 20*time.Second)
		if e, _, _ := third.state.Get("k"); r.Outcome != Done || r.Sole || r.Result.Code != c.want || string(e.Value) != c.value {
			t.Errorf("the first copy comes to the master: %v; the key holds %q; %+v", c.first, e.Value, r)
		}
	}
}
