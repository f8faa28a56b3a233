package transport

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"tenure/internal/ballot"
	"tenure/internal/ident"
	"tenure/server/wire"
)

// disk is what a node keeps across runs.
type disk struct {
	store      ident.StoreID
	name       string // of the node
	mu         sync.Mutex
	cluster    ident.ClusterID
	membership ident.Membership
	founds     int
	fail       error // Found keeps what it gets, and returns this: a crash just after the write
}

func (d *disk) Formed() (ident.ClusterID, ident.Membership, bool) {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.cluster, d.membership, !d.cluster.IsZero()
}

func (d *disk) Found(c ident.ClusterID, m ident.Membership) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.founds++
	d.cluster, d.membership = c, m
	return d.fail
}

// outcome is what Bootstrap returned.
type outcome struct {
	cluster    ident.ClusterID
	membership ident.Membership
	fresh      bool
	err        error
}

func (n *node) bootstrap(ctx context.Context, d *disk, list []wire.Address) outcome {
	var o outcome
	o.cluster, o.membership, o.fresh, o.err = n.Bootstrap(ctx,
		BootstrapConfig{Self: n.cfg.Self, Store: d.store, Name: d.name, Data: fmt.Sprint("/data/", n.cfg.Self), List: list,
			Formed: d.Formed, Found: d.Found})
	return o
}

// begin runs Bootstrap on its own goroutine.
func (n *node) begin(ctx context.Context, d *disk, list []wire.Address) <-chan outcome {
	out := make(chan outcome, 1)
	go func() { out <- n.bootstrap(ctx, d, list) }()
	return out
}

func ended(t *testing.T, c <-chan outcome) outcome {
	t.Helper()
	select {
	case o := <-c:
		return o
	case <-time.After(testTimeout):
		t.Fatal("Bootstrap did not end")
		panic("unreachable")
	}
}

// town is nodes 1 to n, listening, with empty disks.
func town(t *testing.T, n int) (nodes []*node, disks []*disk, list []wire.Address) {
	for i := 1; i <= n; i++ {
		id := ballot.NodeID(i)
		nodes = append(nodes, listen(t, id, "", nil))
		disks = append(disks, &disk{store: store(id)})
		list = append(list, wire.Address{Node: id, Addr: nodes[i-1].Addr().String()})
	}
	return nodes, disks, list
}

// formAll is the bootstrap of a whole town.
func formAll(t *testing.T, nodes []*node, disks []*disk, list []wire.Address) ident.ClusterID {
	t.Helper()
	ctx := within(t)
	var outs []<-chan outcome
	for i, n := range nodes {
		outs = append(outs, n.begin(ctx, disks[i], list))
	}
	var first outcome
	for i, c := range outs {
		o := ended(t, c)
		if o.err != nil || !o.fresh || o.cluster.IsZero() {
			t.Fatalf("node %d: %+v", i+1, o)
		}
		if i == 0 {
			first = o
		}
		if d := cmp.Diff(first, o, cmp.AllowUnexported(outcome{})); d != "" {
			t.Fatalf("nodes 1 and %d disagree: %s", i+1, d)
		}
		if disks[i].founds != 1 || disks[i].cluster != o.cluster {
			t.Fatalf("disk of node %d: %+v", i+1, disks[i])
		}
	}
	return first.cluster
}

// again starts node id anew on its old address.
func again(t *testing.T, old *node) *node {
	t.Helper()
	addr := old.Addr().String()
	old.Close()
	return listen(t, old.cfg.Self, addr, func(_ *Config, h *wire.Hello) {
		h.Incarnation.Restart = old.hello.Incarnation.Restart + 1
		h.Incarnation.Nonce++
	})
}

func TestBootstrapOfThreeAndOfOne(t *testing.T) {
	for _, n := range []int{1, 2, 3, 7} {
		nodes, disks, list := town(t, n)
		formAll(t, nodes, disks, list)
		if len(disks[0].membership.Members) != n || disks[0].membership.Number != 1 {
			t.Fatalf("membership %v", disks[0].membership)
		}
		for i := range n {
			if !disks[0].membership.Lists(list[i].Node, disks[i].store) {
				t.Fatalf("membership %v lacks node %d", disks[0].membership, i+1)
			}
		}
	}
}

func TestBootstrapNeedsAllListedNodes(t *testing.T) {
	nodes, disks, list := town(t, 3)
	ctx := within(t)
	short, cancel := context.WithCancel(ctx)
	two := nodes[1].begin(ctx, disks[1], list)
	addr := nodes[2].Addr().String()
	nodes[1].logs.awaitAll(t, "node 3 is still starting") // it answers by now: the founder lacks nobody but node 3
	one := nodes[0].begin(short, disks[0], list)
	nodes[0].logs.awaitAll(t, "node 3 is still starting")
	cancel()
	if o := ended(t, one); !errors.Is(o.err, context.Canceled) || !strings.Contains(o.err.Error(), showList(list)) ||
		disks[0].founds != 0 {
		t.Fatalf("%+v", o)
	}
	nodes[0] = again(t, nodes[0])
	one = nodes[0].begin(ctx, disks[0], list)
	nodes[2].Close()
	nodes[0].logs.awaitAll(t, "waiting for this node", addr)
	nodes[2] = listen(t, 3, addr, nil)
	three := nodes[2].begin(ctx, disks[2], list)
	for i, c := range []<-chan outcome{one, two, three} {
		if o := ended(t, c); o.err != nil || !o.fresh {
			t.Fatalf("node %d: %+v", i+1, o)
		}
	}
}

// A node that is formed gets its cluster back, not fresh, with nobody else there, and only once was it founded.
func TestBootstrapHappensOnce(t *testing.T) {
	nodes, disks, list := town(t, 3)
	cluster := formAll(t, nodes, disks, list)
	for i := range nodes {
		nodes[i].Close()
	}
	for i := range nodes {
		n := again(t, nodes[i])
		if o := n.bootstrap(within(t), disks[i], list[:i+1]); o.err != nil || o.fresh || o.cluster != cluster ||
			disks[i].founds != 1 {
			t.Fatalf("node %d: %+v", i+1, o)
		}
		n.Close()
	}
}

func TestFounderThatCrashedBeforeItToldAnybody(t *testing.T) {
	nodes, disks, list := town(t, 3)
	ctx := within(t)
	disks[0].fail = errors.New("power cut")
	one := nodes[0].begin(ctx, disks[0], list)
	two, three := nodes[1].begin(ctx, disks[1], list), nodes[2].begin(ctx, disks[2], list)
	if o := ended(t, one); !errors.Is(o.err, disks[0].fail) || o.fresh {
		t.Fatalf("%+v", o)
	}
	if _, _, told := nodes[0].Transport.bootstrap.Load().formed(); told || disks[1].founds+disks[2].founds > 0 {
		t.Fatal("the others may hear of a write that failed")
	}
	disks[0].fail = nil
	one = again(t, nodes[0]).begin(ctx, disks[0], list)
	if o := ended(t, one); o.err != nil || o.fresh {
		t.Fatalf("the founder's second run: %+v", o)
	}
	for i, c := range []<-chan outcome{two, three} {
		if o := ended(t, c); o.err != nil || !o.fresh || o.cluster != disks[0].cluster || disks[i+1].founds != 1 {
			t.Fatalf("node %d: %+v", i+2, o)
		}
	}
}

// The founder and one other have it; the third one gets it from the other alone.
func TestBootstrapIsToldByAnyFormedNode(t *testing.T) {
	nodes, disks, list := town(t, 3)
	formAll(t, nodes, disks, list)
	nodes[0].Close()
	nodes[2].Close()
	disks[2] = &disk{store: store(3)} // as it was before
	nodes[2] = again(t, nodes[2])
	if o := nodes[2].bootstrap(within(t), disks[2], list); o.err != nil || !o.fresh || o.cluster != disks[1].cluster {
		t.Fatalf("%+v", o)
	}
}

func TestDifferentListsRefuseEachOther(t *testing.T) {
	nodes, disks, list := town(t, 3)
	other := []wire.Address{list[0], list[1], {Node: 3, Addr: "10.0.0.3:1"}}
	ctx := within(t)
	one, two := nodes[0].begin(ctx, disks[0], list), nodes[1].begin(ctx, disks[1], other)
	for i, c := range []<-chan outcome{one, two} {
		o := ended(t, c)
		var g *BootstrapError
		if !errors.As(o.err, &g) || !errors.Is(o.err, ErrLists) || !strings.Contains(g.Text, showList(list)) ||
			!strings.Contains(g.Text, showList(other)) {
			t.Fatalf("node %d: %+v", i+1, o)
		}
	}
	if disks[0].founds+disks[1].founds > 0 {
		t.Fatal("founded all the same")
	}
	// The asked node has both in its log too.
	var all string
	for _, n := range nodes[:2] {
		n.logs.change(func() { all += n.logs.text.String() })
	}
	if !hasLine(all, []string{showList(list), showList(other), "different lists"}) {
		t.Fatalf("not logged: %s", all)
	}
}

func TestWipedNodeIsToldSo(t *testing.T) {
	for wiped := range 3 {
		t.Run(fmt.Sprint("node ", wiped+1), func(t *testing.T) {
			nodes, disks, list := town(t, 3)
			formAll(t, nodes, disks, list)
			fresh := &disk{store: ident.StoreID{0xbb}}
			n := again(t, nodes[wiped])
			o := n.bootstrap(within(t), fresh, list)
			var g *BootstrapError
			if !errors.As(o.err, &g) || g.Kind != ErrWiped || o.fresh || fresh.founds > 0 {
				t.Fatalf("%+v", o)
			}
			for _, w := range []string{fmt.Sprintf("node %d", wiped+1), disks[wiped].store.String(),
				fresh.store.String(), "must not vote", "under its name, with another number"} {
				if !strings.Contains(g.Text, w) {
					t.Errorf("%q is not in: %s", w, g.Text)
				}
			}
			heard := func(i int) bool {
				var text string
				nodes[i].logs.change(func() { text = nodes[i].logs.text.String() })
				return hasLine(text, []string{"was wiped", fresh.store.String(), disks[wiped].store.String()})
			}
			if !heard((wiped+1)%3) && !heard((wiped+2)%3) {
				t.Error("no other node said so")
			}
		})
	}
}

func TestTwoWipedNodesDoNotFoundWithoutTheThird(t *testing.T) {
	nodes, disks, list := town(t, 3)
	formAll(t, nodes, disks, list)
	a, b := &disk{store: ident.StoreID{0xb1}}, &disk{store: ident.StoreID{0xb2}}
	nodes[2].Close() // the only one that knows
	one, two := again(t, nodes[0]), again(t, nodes[1])
	ctx := within(t)
	o1, o2 := one.begin(ctx, a, list), two.begin(ctx, b, list)
	one.logs.awaitAll(t, "waiting for this node", `"peer":3`)
	if a.founds+b.founds > 0 {
		t.Fatal("founded without node 3")
	}
	if o := again(t, nodes[2]).bootstrap(ctx, disks[2], list); o.err != nil {
		t.Fatalf("%+v", o)
	}
	for _, c := range []<-chan outcome{o1, o2} {
		if o := ended(t, c); !errors.Is(o.err, ErrWiped) {
			t.Fatalf("%+v", o)
		}
	}
}

func TestClusterFormedWithoutThisNode(t *testing.T) {
	nodes, disks, list := town(t, 2)
	formAll(t, nodes, disks, list)
	n := listen(t, 3, "", nil)
	o := n.bootstrap(within(t), &disk{store: store(3)}, append(list, wire.Address{Node: 3, Addr: n.Addr().String()}))
	if !errors.Is(o.err, ErrFormedElsewhere) || !strings.Contains(o.err.Error(), disks[0].membership.String()) ||
		!strings.Contains(o.err.Error(), disks[0].cluster.String()) {
		t.Fatalf("%+v", o)
	}
}

// A node that has taken its own place has another number. If it loses its disk again, its name tells who it is.
func TestADiskLostAgain(t *testing.T) {
	nodes, disks, list := town(t, 2)
	formAll(t, nodes, disks, list)
	n := listen(t, 3, "", nil)
	o := n.bootstrap(within(t), &disk{store: store(3), name: "node-2"},
		append(list, wire.Address{Node: 3, Addr: n.Addr().String()}))
	var refused *BootstrapError
	if !errors.Is(o.err, ErrWiped) || !errors.As(o.err, &refused) || !refused.Lost || refused.Name != "node-2" ||
		!strings.Contains(o.err.Error(), "for node 2") {
		t.Fatalf("%+v", o)
	}
}

func TestListChangedAfterTheBootstrapWasMissed(t *testing.T) {
	nodes, disks, list := town(t, 2)
	formAll(t, nodes, disks, list)
	n := again(t, nodes[1])
	o := n.bootstrap(within(t), &disk{store: store(2)}, append(list, wire.Address{Node: 3, Addr: "127.0.0.1:1"}))
	if !errors.Is(o.err, ErrLists) {
		t.Fatalf("%+v", o)
	}
}

func TestCopiedStoreIsNotCountedTwice(t *testing.T) {
	for _, pair := range [][2]int{{0, 1}, {1, 2}} {
		nodes, disks, list := town(t, 3)
		disks[pair[1]].store = disks[pair[0]].store
		var outs []<-chan outcome
		ctx, cancel := context.WithCancel(within(t))
		for i, n := range nodes {
			outs = append(outs, n.begin(ctx, disks[i], list))
		}
		o := ended(t, outs[pair[0]])
		cancel()
		if !errors.Is(o.err, ErrCopied) || disks[0].founds+disks[1].founds+disks[2].founds > 0 {
			t.Fatalf("%+v", o)
		}
	}
}

func TestFounderCountsStoresOnce(t *testing.T) {
	d := &disk{store: store(1)}
	list := []wire.Address{{Node: 1, Addr: "a:1"}, {Node: 2, Addr: "b:1"}, {Node: 3, Addr: "c:1"}}
	cfg := BootstrapConfig{Self: 1, Store: d.store, List: list, Formed: d.Formed, Found: d.Found}
	a := asker{bootstrap: &bootstrap{cfg: cfg, open: true}}
	from := func(id ballot.NodeID) reply {
		return reply{peer: wire.Address{Node: id}, answer: &wire.AnswerMsg{Node: id, Store: store(7)}}
	}
	if err := a.found([]reply{from(2), from(3)}); !errors.Is(err, ErrCopied) || d.founds > 0 {
		t.Fatalf("%v", err)
	}
}

func TestStoreThatForgotItsBootstrapIsRefused(t *testing.T) {
	nodes, disks, list := town(t, 2)
	cluster := formAll(t, nodes, disks, list)
	for _, n := range nodes {
		n.hello.Cluster = cluster
	}
	nodes[0].serve(disks[0].membership, nodes...)
	nodes[1].serve(disks[1].membership, nodes...)
	nodes[0].awaitEvent(t, "+log 2", 1)
	n := again(t, nodes[1])
	back := &disk{store: store(2)}
	if o := n.bootstrap(within(t), back, list); !errors.Is(o.err, ErrRolledBack) || back.founds > 0 {
		t.Fatalf("%+v", o)
	}
}

func TestOwnStoreMustBeInOwnMembership(t *testing.T) {
	nodes, disks, list := town(t, 2)
	formAll(t, nodes, disks, list)
	n := again(t, nodes[0])
	disks[0].store = ident.StoreID{9}
	if o := n.bootstrap(within(t), disks[0], list); !errors.Is(o.err, ErrWiped) {
		t.Fatalf("%+v", o)
	}
	n = listen(t, 3, "", nil)
	disks[1].store = store(3)
	alone := []wire.Address{{Node: 3, Addr: n.Addr().String()}}
	if o := n.bootstrap(within(t), disks[1], alone); !errors.Is(o.err, ErrFormedElsewhere) {
		t.Fatalf("%+v", o)
	}
}

func TestCloseEndsBootstrap(t *testing.T) {
	nodes, disks, list := town(t, 2)
	out := nodes[0].begin(within(t), disks[0], list)
	nodes[0].logs.awaitAll(t, "waiting for all listed nodes")
	nodes[0].Close()
	if o := ended(t, out); !errors.Is(o.err, ErrClosed) {
		t.Fatalf("%+v", o)
	}
}

func TestBootstrapConfigIsChecked(t *testing.T) {
	d := &disk{}
	list := func(a1 string, node ballot.NodeID, a2 string) []wire.Address {
		return []wire.Address{{Node: 1, Addr: a1}, {Node: node, Addr: a2}}
	}
	sound := BootstrapConfig{Self: 1, Store: store(1), List: list("a:1", 2, "b:1"), Formed: d.Formed, Found: d.Found}
	sound.List[0], sound.List[1] = sound.List[1], sound.List[0]
	if err := sound.Validate(); err != nil {
		t.Fatal(err)
	}
	for name, change := range map[string]func(*BootstrapConfig){
		"not in its list": func(c *BootstrapConfig) { c.Self = 3 },
		"node id 0":       func(c *BootstrapConfig) { c.Self = 0 },
		"no store":        func(c *BootstrapConfig) { c.Store = ident.StoreID{} },
		"listed twice":    func(c *BootstrapConfig) { c.List = list("a:1", 1, "b:1") },
		"HOST:PORT":       func(c *BootstrapConfig) { c.List = list("a:1", 2, "b") },
		"0 nodes":         func(c *BootstrapConfig) { c.List = nil },
		"without storage": func(c *BootstrapConfig) { c.Found = nil },
	} {
		c := sound
		change(&c)
		if err := c.Validate(); !errors.Is(err, ErrConfig) ||
			!strings.Contains(err.Error(), name) && name != "not in its list" {
			t.Errorf("%s: %v", name, err)
		}
	}
	tr, err := Listen(Config{Self: 1})
	if err != nil {
		t.Fatal(err)
	}
	defer tr.Close()
	if _, _, _, err := tr.Bootstrap(within(t), sound); !errors.Is(err, ErrConfig) {
		t.Fatalf("two nodes and no peer address: %v", err)
	}
}

// A node that has its membership needs no list. It still tells those who ask, and knows whether it was removed.
func TestAFormedNodeNeedsNoList(t *testing.T) {
	nodes, disks, list := town(t, 3)
	cluster := formAll(t, nodes, disks, list)
	nodes[0] = again(t, nodes[0])
	if o := nodes[0].bootstrap(within(t), disks[0], nil); o.err != nil || o.fresh || o.cluster != cluster {
		t.Fatalf("%+v", o)
	}
	nodes[1].Close()
	nodes[2].Close()
	lost := &disk{store: ident.StoreID{0xbb}}
	if o := again(t, nodes[2]).bootstrap(within(t), lost, list); !errors.Is(o.err, ErrWiped) {
		t.Fatalf("%+v", o)
	}
	disks[1].membership = ident.Membership{Number: 2, Members: []ident.Member{disks[0].membership.Members[0]}}
	nodes[1] = again(t, nodes[1])
	o := nodes[1].bootstrap(within(t), disks[1], nil)
	if !errors.Is(o.err, ErrRemoved) || !strings.Contains(o.err.Error(), "kvnode --join HOST:PORT --data DIRECTORY") {
		t.Fatalf("%+v", o)
	}
	o = again(t, nodes[1]).bootstrap(within(t), disks[1], list)
	if want := "kvnode --join " + list[0].Addr + " --data"; !errors.Is(o.err, ErrRemoved) || !strings.Contains(o.err.Error(), want) {
		t.Fatalf("%+v", o)
	}
}

func TestANodeWithoutAnIDIsNotReady(t *testing.T) {
	n := listen(t, 0, "", nil)
	_, err := Join(within(t), n.Addr().String(), newcomer(), nil)
	var r *Refusal
	if !errors.As(err, &r) || r.Reason != wire.ReasonNotReady || !strings.Contains(r.Text, "without an id") {
		t.Fatal(err)
	}
}
