package snapshots

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"tenure/internal/ballot"
	"tenure/internal/ident"
)

// transfer is a receiver, node 1, and senders of a snapshot of so many pieces, with a network between them.
type transfer struct {
	t       *testing.T
	now     time.Duration
	view    View
	r       Receiver
	senders map[ballot.NodeID]*testSender
	wire    []message
	lose    func(message) bool
	result  func(piece int) Result

	got      []string // pieces of the snapshot that is being received
	began    []string // headers
	aborted  int
	finished bool
	problems []string
	asked    []ballot.NodeID // of each new transfer
}

type testSender struct {
	Sender
	view   SenderView
	pieces int
	open   uint64 // id of the snapshot that is open
	opened int
	step   SenderStep // the newest
	worked time.Duration
	dead   bool
}

func newTransfer(t *testing.T, pieces int, nodes ...ballot.NodeID) *transfer {
	x := &transfer{t: t, now: time.Minute, senders: map[ballot.NodeID]*testSender{},
		view: View{Behind: true, Applied: 5}, lose: func(message) bool { return false },
		result: func(int) Result { return Done }}
	for _, n := range nodes {
		x.senders[n] = &testSender{view: SenderView{Checkpointed: 100}, pieces: pieces}
		x.view.Peers = append(x.view.Peers, Peer{Node: n, Connected: true, Applied: 100})
	}
	return x
}

func (x *transfer) peer(n ballot.NodeID) *Peer {
	for i := range x.view.Peers {
		if x.view.Peers[i].Node == n {
			return &x.view.Peers[i]
		}
	}
	return nil
}

// message is an ask or an answer on its way.
type message struct {
	from ballot.NodeID
	Outgoing
}

func (x *transfer) send(out Outgoing, from ballot.NodeID) {
	if m := (message{from, out}); !x.lose(m) {
		x.wire = append(x.wire, m)
	}
}

// do carries a receiver's step out.
func (x *transfer) do(s Step) {
	if s.Problem != "" {
		x.problems = append(x.problems, s.Problem)
	}
	if s.Abort {
		x.aborted++
		x.got = nil
	}
	if s.Begin != nil {
		x.began, x.got = append(x.began, string(s.Begin)), nil
	}
	if s.Send != nil {
		if s.Send.Message.ID == 0 {
			x.asked = append(x.asked, s.Send.To)
		}
		x.send(*s.Send, 1)
	}
	if s.Add == nil {
		return
	}
	result := x.result(len(x.got))
	if result == Done {
		x.got = append(x.got, string(s.Add))
		x.finished = x.finished || s.Finish
	}
	x.do(x.r.Did(x.now, result))
}

// pass lets d pass, in steps of 50 ms, or less if something is to be done before.
func (x *transfer) pass(d time.Duration) {
	for end := x.now + d; x.now < end && !x.finished; x.now += 50 * time.Millisecond {
		x.do(x.r.Tick(x.now, x.view))
		for range 100 {
			x.deliver()
			for id, s := range x.senders {
				x.serve(id, s)
			}
			if len(x.wire) == 0 {
				break
			}
		}
	}
}

func (x *transfer) deliver() {
	wire := x.wire
	x.wire = nil
	for _, m := range wire {
		switch p := x.peer(max(m.from, m.To)); {
		case !p.Connected:
		case m.To == 1:
			x.do(x.r.Take(x.now, m.from, m.Message))
		case !x.senders[m.To].dead:
			x.senders[m.To].Ask(x.now, m.from, m.Message)
		}
	}
}

func (x *transfer) serve(id ballot.NodeID, s *testSender) {
	if s.dead {
		return
	}
	s.step = s.Next(x.now, s.view)
	switch {
	case s.step.Open:
		s.opened++
		s.open = uint64(id)<<32 | uint64(s.opened)
		s.Opened(s.open, s.view.Checkpointed, true)
	case s.step.Close:
		s.open = 0
	case s.step.Refuse != nil:
		x.send(*s.step.Refuse, id)
	case s.step.Read != nil:
		x.read(id, s, s.step.Read)
	}
}

func (x *transfer) read(id ballot.NodeID, s *testSender, r *Read) {
	if s.open == 0 || r.ID != s.open {
		x.t.Fatalf("node %d reads snapshot %x and has %x open", id, r.ID, s.open)
	}
	at := 0
	if len(r.After) > 0 {
		fmt.Sscan(string(r.After), &at)
	}
	p := &Message{ID: r.ID, After: r.After, Piece: fmt.Appendf(nil, "%x/%d", r.ID, at)}
	if r.First {
		p.Header = fmt.Appendf(nil, "header %x", r.ID)
	}
	if at+1 < s.pieces {
		p.Next = fmt.Append(nil, at+1)
	}
	x.send(Outgoing{r.To, p}, id)
	s.Sent(x.now, p.Next, PieceBytes, s.worked, true)
}

// whole fails the test unless all pieces of one snapshot were taken, in order.
func (x *transfer) whole(pieces int) {
	x.t.Helper()
	if !x.finished || len(x.got) != pieces {
		x.t.Fatalf("%d of %d pieces, finished %v, problems %q", len(x.got), pieces, x.finished, x.problems)
	}
	id, _, _ := strings.Cut(x.got[0], "/")
	for i, p := range x.got {
		if p != fmt.Sprintf("%s/%d", id, i) || x.began[len(x.began)-1] != "header "+id {
			x.t.Fatalf("piece %d of %q is %q", i, x.began, p)
		}
	}
}

func TestANodeThatIsBehindGetsASnapshot(t *testing.T) {
	x := newTransfer(t, 30, 2, 3)
	x.peer(3).Master = true
	x.pass(behindFor)
	if len(x.asked) > 0 {
		t.Fatal("asked before it was behind for long enough")
	}
	x.pass(10 * time.Second)
	x.whole(30)
	if len(x.asked) != 1 || x.asked[0] != 2 || x.senders[2].opened != 1 || x.senders[3].opened != 0 {
		t.Errorf("asked %v", x.asked)
	}
}

// A node that gets on, or has no connected node ahead of it, asks for nothing.
func TestWhoIsNotBehindAsksForNothing(t *testing.T) {
	for name, change := range map[string]func(x *transfer, i int){
		"not behind":   func(x *transfer, _ int) { x.view.Behind = false },
		"gets on":      func(x *transfer, i int) { x.view.Applied = uint64(5 + i) },
		"now and then": func(x *transfer, i int) { x.view.Behind = i%2 == 0 },
		"nobody ahead": func(x *transfer, _ int) { x.view.Applied = 100 },
		"alone":        func(x *transfer, _ int) { x.peer(2).Connected = false },
	} {
		x := newTransfer(t, 3, 2)
		for i := range 20 {
			change(x, i)
			x.pass(500 * time.Millisecond)
		}
		if len(x.asked) > 0 {
			t.Errorf("%s: asked %v", name, x.asked)
		}
	}
}

// Messages that are lost or come twice cost time and nothing else.
func TestATransferOverABadNetwork(t *testing.T) {
	for seed := range uint64(20) {
		x := newTransfer(t, 40, 2)
		rnd := rand.New(rand.NewPCG(seed, 0))
		x.lose = func(m message) bool {
			if rnd.IntN(4) == 0 {
				x.wire = append(x.wire, m)
			}
			return rnd.IntN(5) == 0
		}
		x.result = func(int) Result { return []Result{Done, Bad}[rnd.IntN(8)/7] }
		x.pass(10 * time.Minute)
		x.whole(40)
		if x.aborted > 0 || x.senders[2].opened != 1 {
			t.Errorf("seed %d: aborted %d times, %d snapshots", seed, x.aborted, x.senders[2].opened)
		}
	}
}

// A connection that comes back within Keep goes on where it was; a sender that does not come back is given up
// for another one.
func TestSendersThatAreLost(t *testing.T) {
	x := newTransfer(t, 4000, 2, 3)
	x.peer(3).Applied = 99
	x.pass(3 * time.Second)
	before := len(x.got)
	x.peer(2).Connected = false
	x.senders[2].Lost(1)
	x.pass(giveUp / 2)
	x.peer(2).Connected = true
	x.pass(5 * time.Second)
	if len(x.asked) != 1 || x.aborted > 0 || before == 0 || len(x.got) <= before {
		t.Fatalf("asked %v, %d pieces and %d later", x.asked, before, len(x.got))
	}
	x.senders[2].dead = true
	x.peer(2).Connected = false
	x.pass(5 * time.Minute)
	x.whole(4000)
	if len(x.asked) != 2 || x.asked[1] != 3 || x.aborted != 1 {
		t.Errorf("asked %v, aborted %d times", x.asked, x.aborted)
	}
}

// A node that is connected and gives nothing, since its disk hangs, is given up soon for another one.
func TestASenderThatGivesNothing(t *testing.T) {
	x := newTransfer(t, 40, 2, 3)
	x.peer(3).Applied = 99
	x.senders[2].dead = true
	x.pass(behindFor + firstWithin)
	if slices.Contains(x.asked, 3) {
		t.Fatalf("asked %v too soon", x.asked)
	}
	x.pass(behindFor + 5*time.Second)
	x.whole(40)
	if x.asked[len(x.asked)-1] != 3 {
		t.Errorf("asked %v", x.asked)
	}
}

// A sender that was started again does not have the snapshot any more: another one is asked, or the same for another.
func TestASenderThatWasStartedAgain(t *testing.T) {
	x := newTransfer(t, 400, 2)
	x.pass(3 * time.Second)
	fresh := &testSender{view: SenderView{Checkpointed: 120}, pieces: 400, opened: 1}
	x.senders[2] = fresh
	x.pass(5 * time.Minute)
	x.whole(400)
	if x.aborted != 1 || len(x.problems) != 1 || !strings.Contains(x.problems[0], "any more") {
		t.Errorf("aborted %d times, %q", x.aborted, x.problems)
	}
}

func TestRefusals(t *testing.T) {
	for name, c := range map[string]struct {
		change func(x *transfer)
		words  string
	}{
		"nothing ahead":  {func(x *transfer) { x.senders[2].view.Checkpointed = 5 }, "ahead"},
		"short of space": {func(x *transfer) { x.senders[2].view.Short = true }, "short of space"},
	} {
		x := newTransfer(t, 10, 2, 3)
		x.peer(3).Master = true
		c.change(x)
		x.pass(time.Minute)
		x.whole(10)
		if len(x.asked) != 2 || x.asked[1] != 3 || len(x.problems) != 1 || !strings.Contains(x.problems[0], c.words) {
			t.Errorf("%s: asked %v, %q", name, x.asked, x.problems)
		}
	}
}

// A disk that cannot take a snapshot is not tried again at once.
func TestTheOwnDiskRefuses(t *testing.T) {
	x := newTransfer(t, 10, 2)
	x.result = func(int) Result { return NoSpace }
	x.pass(10 * time.Second)
	if len(x.asked) != 1 || x.aborted != 1 {
		t.Fatalf("asked %v, aborted %d times", x.asked, x.aborted)
	}
	x.result = func(int) Result { return Done }
	x.pass(pauseFor + 10*time.Second)
	x.whole(10)
}

// The entries came after all, before the first piece did.
func TestAnAskIsTakenBack(t *testing.T) {
	x := newTransfer(t, 10, 2)
	x.senders[2].dead = true
	x.pass(2 * time.Second)
	x.view.Behind = false
	x.pass(time.Second)
	if len(x.asked) != 1 || x.r.From() != 0 || x.aborted != 0 {
		t.Errorf("asked %v, still asks %d", x.asked, x.r.From())
	}
}

// A sender keeps what it sends for a while after the last ask, and the log behind it for longer, but not at any price.
func TestWhatASenderKeeps(t *testing.T) {
	var s Sender
	v := SenderView{Checkpointed: 70}
	now := time.Minute
	ask := func(id uint64) {
		s.Ask(now, 1, &Message{ID: id, Above: 5, Pieces: 1})
	}
	begin := func() {
		ask(0)
		if st := s.Next(now, v); !st.Open {
			t.Fatalf("%+v", st)
		}
		s.Opened(9, 70, true)
		if st := s.Next(now, v); st.Read == nil || st.Read.ID != 9 || !st.Read.First || st.Pin != 70 {
			t.Fatalf("%+v", st)
		}
		s.Sent(now, nil, 1, time.Millisecond, true)
	}
	begin()
	now += Keep
	if st := s.Next(now, v); st.Close || st.Pin != 70 || st.Wait == 0 {
		t.Errorf("%+v", st)
	}
	now++
	if st := s.Next(now, v); !st.Close || st.Pin != 70 {
		t.Errorf("%+v", st)
	}
	ask(9)
	if st := s.Next(now, v); st.Refuse == nil || st.Refuse.Message.Refused != Gone || st.Refuse.To != 1 {
		t.Errorf("%+v", st)
	}
	now += PinFor + 1
	if st := s.Next(now, v); st.Pin != 0 {
		t.Errorf("%+v", st)
	}
	begin()
	v.LogBytes = PinBytes + 1
	if st := s.Next(now, v); st.Pin != 0 || st.Close {
		t.Errorf("a log that is too large: %+v", st)
	}
	v = SenderView{Checkpointed: 80}
	ask(0)
	if s.Next(now, v).Open {
		t.Error("a second snapshot beside one that is good enough")
	}
	v.Short = true
	if st := s.Next(now, v); !st.Close || st.Pin != 0 {
		t.Errorf("a disk that is short of space: %+v", st)
	}
}

// The pace leaves the node most of its time, and the network most of its width; askers take turns, and get no more than
// a window.
func TestSendersArePaced(t *testing.T) {
	for worked, least := range map[time.Duration]time.Duration{
		time.Millisecond: PieceBytes * time.Second / sendRate, 30 * time.Millisecond: 90 * time.Millisecond,
	} {
		var s Sender
		now := time.Minute
		v := SenderView{Checkpointed: 70}
		for n := range ballot.NodeID(2) {
			s.Ask(now, 1+n, &Message{Pieces: Window + 9})
		}
		s.Next(now, v)
		s.Opened(9, 70, true)
		for i := range 2 * Window {
			st := s.Next(now, v)
			if st.Read == nil || st.Read.To != ballot.NodeID(1+i%2) {
				t.Fatalf("piece %d: %+v", i, st)
			}
			now += worked
			s.Sent(now, []byte{byte(i)}, PieceBytes, worked, true)
			if st = s.Next(now, v); st.Wait < least {
				t.Errorf("waits %v after a piece that took %v", st.Wait, worked)
			}
			now += st.Wait
		}
		if st := s.Next(now, v); st.Read != nil {
			t.Error("more pieces than were asked for")
		}
	}
}

// The snapshot of a follower that needs one itself is of no use: no node's log goes on from its slot.
func TestTheSenderReachesTheLogOfTheOthers(t *testing.T) {
	follower, ahead := Peer{Node: 2, Connected: true, Applied: 80}, Peer{Node: 3, Connected: true, Applied: 95}
	master := Peer{Node: 1, Connected: true, Applied: 99, Master: true}
	for _, c := range []struct {
		name  string
		gone  uint64
		peers []Peer
		want  ballot.NodeID
	}{
		{"rather a follower", 70, []Peer{master, follower}, 2},
		{"one that is behind, too", 90, []Peer{master, follower}, 1},
		{"rather one that is not", 90, []Peer{master, follower, ahead}, 3},
		{"nobody is better", 99, []Peer{follower}, 2},
	} {
		r := Receiver{applied: 50}
		if got := r.choose(time.Minute, View{Gone: c.gone, Peers: c.peers}); got != c.want {
			t.Errorf("%s: node %d, want %d", c.name, got, c.want)
		}
	}
}

// Who has got an older snapshot comes back for the log behind that, though another one was opened since.
func TestTheLogBehindTheOlderSnapshotIsKept(t *testing.T) {
	var s Sender
	now := time.Minute
	for i, slot := range []uint64{70, 90} {
		v := SenderView{Checkpointed: slot}
		s.Ask(now, ballot.NodeID(1+i), &Message{Above: slot - 5, Pieces: 1})
		for st := s.Next(now, v); !st.Open; st = s.Next(now, v) {
			if !st.Close {
				t.Fatalf("slot %d: %+v", slot, st)
			}
		}
		s.Opened(slot, slot, true)
		if st := s.Next(now, v); st.Read == nil || st.Pin != 70 {
			t.Fatalf("slot %d: %+v", slot, st)
		}
		s.Sent(now, nil, PieceBytes, time.Millisecond, true)
		now += time.Second
	}
	now += PinFor
	if st := s.Next(now, SenderView{Checkpointed: 90}); st.Pin != 0 {
		t.Errorf("pins %d when nobody has come for long", st.Pin)
	}
}

// A node at which hardly anything is written sends faster, and so does one whose log would else outgrow its bound before
// the receiver has all.
func TestSendersHurry(t *testing.T) {
	for _, c := range []struct {
		name   string
		writes uint64 // slots a second
		log    int64
		fast   bool
	}{
		{"written to", 500, 0, false},
		{"idle", 0, 0, true},
		{"nearly idle", quietSlots - 1, 0, true},
		{"outgrown", 500, PinBytes/4 + 1, true},
		{"not yet", 500, PinBytes / 4, false},
	} {
		var s Sender
		now, v := time.Minute, SenderView{Checkpointed: 70, Applied: 100, LogBytes: c.log}
		s.Next(now, v)
		now, v.Applied = now+2*time.Second, v.Applied+2*c.writes
		s.Ask(now, 1, &Message{Pieces: Window})
		s.Next(now, v)
		s.Opened(9, 70, true)
		if s.Next(now, v).Read == nil {
			t.Fatal("no piece")
		}
		s.Sent(now, []byte{1}, PieceBytes, time.Microsecond, true)
		want := time.Duration(PieceBytes) * time.Second / sendRate
		if c.fast {
			want = time.Duration(PieceBytes) * time.Second / fastRate
		}
		if got := s.Next(now, v).Wait; got != want {
			t.Errorf("%s: waits %v, want %v", c.name, got, want)
		}
	}
}

func TestPiecesOfOthersAreDropped(t *testing.T) {
	x := newTransfer(t, 10, 2, 3)
	x.senders[2].dead, x.senders[3].dead = true, true
	x.pass(1500 * time.Millisecond)
	from := x.r.From()
	good := Message{ID: 7, Header: []byte("h"), Piece: []byte("p"), Next: []byte("n")}
	middle := good
	middle.After = []byte("x")
	for name, m := range map[string]message{
		"of another node":      {5 - from, Outgoing{Message: &good}},
		"of nothing":           {from, Outgoing{}},
		"without a header":     {from, Outgoing{Message: &Message{ID: 7, Piece: []byte("p")}}},
		"without an id":        {from, Outgoing{Message: &Message{Header: []byte("h"), Piece: []byte("p")}}},
		"without a piece":      {from, Outgoing{Message: &Message{ID: 7, Header: []byte("h"), Next: []byte("n")}}},
		"from the middle":      {from, Outgoing{Message: &middle}},
		"a refusal of another": {from, Outgoing{Message: &Message{ID: 8, Refused: Gone}}},
	} {
		if s := x.r.Take(x.now, m.from, m.Message); s.Add != nil || s.Begin != nil || s.Abort || x.r.From() != from {
			t.Errorf("%s: %+v", name, s)
		}
	}
	if s := x.r.Take(x.now, from, &good); !bytes.Equal(s.Begin, good.Header) {
		t.Errorf("%+v", s)
	}
}

// A node that went away without the sender hearing of it does not keep a snapshot, and the log behind it, for ever.
func TestAnAskerThatIsGoneIsForgotten(t *testing.T) {
	s, v, now := Sender{}, SenderView{Checkpointed: 70}, time.Minute
	s.Ask(now, 1, &Message{Above: 5, Pieces: Window})
	for end := now + giveUp + PinFor + 2*time.Second; now < end; {
		switch st := s.Next(now, v); {
		case st.Open:
			s.Opened(9, 70, true)
		case st.Read != nil:
			s.Sent(now, []byte("next"), 0, time.Millisecond, true) // the connection takes nothing
		default:
			now += max(st.Wait, time.Millisecond)
		}
	}
	if st := s.Next(now, v); s.open || st.Pin != 0 {
		t.Errorf("open %v, pins %d", s.open, st.Pin)
	}
}

// Who asks for no piece gets none.
func TestAnAskForNoPieceIsDropped(t *testing.T) {
	var s Sender
	s.Ask(0, 1, &Message{})
	if step := s.Next(0, SenderView{Checkpointed: 9}); step.Open || step.Read != nil || step.Refuse != nil {
		t.Errorf("%+v", step)
	}
}

// While voters differ nobody is given a snapshot, begun or not: a copy of a wrong state would be one more vote for it.
func TestThereAreNoSnapshotsWhileReplicasDiffer(t *testing.T) {
	for _, id := range []uint64{0, 9} {
		var s Sender
		v := SenderView{Checkpointed: 70, Withheld: true}
		if id != 0 {
			s.open, s.id, s.slot = true, id, 70
		}
		for _, node := range []ballot.NodeID{3, 4} {
			s.Ask(time.Minute, node, &Message{ID: id, Above: 5, Pieces: 1})
			if st := s.Next(time.Minute, v); st.Refuse == nil || st.Refuse.Message.Refused != Disputed {
				t.Errorf("node %d: %+v", node, st)
			}
		}
	}
}

// A node that is no member gets no snapshot: it would bring it the membership that does not list it.
func TestStrangersGetNoSnapshot(t *testing.T) {
	s, v := Sender{}, SenderView{Checkpointed: 70, Members: ident.Membership{Number: 2,
		Members: []ident.Member{{Node: 1}, {Node: 2}}}}
	for from, want := range map[ballot.NodeID]bool{2: true, 3: false} {
		s.Ask(time.Minute, from, &Message{Pieces: 1})
		step := s.Next(time.Minute, v)
		if given := step.Refuse == nil; given != want || !given && step.Refuse.Message.Refused != Stranger {
			t.Errorf("node %d: %+v", from, step)
		}
		s = Sender{}
	}
}
