package main

import (
	"bytes"
	"context"
	"errors"
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"tenure/api"
	"tenure/client"
	"tenure/client/clienttest"
	"tenure/cmd/kvctl/internal/output"
	"tenure/internal/freeport"
)

// If a node does not answer at the address that the members have for it, status prints what the others know of the
// node. For an endpoint of no member, it says so.
func TestStatusOfANodeThatIsElsewhere(t *testing.T) {
	c := start(t, 3)
	const why = "the members look for node 3 at client old:1: type kvctl member update 3 --client-address new:1"
	c.Node(3).SetKnown(why)
	o := kvctl(t, c, "", "status")
	if strings.Contains(o.out, why) {
		t.Errorf("it answers:\n%s", o.out)
	}
	c.Node(3).Stop()
	nobody := "http://127.0.0.1:1"
	o = kvctl(t, c, "", "status", "--endpoints", strings.Join(append(c.Endpoints(), nobody), ","))
	for _, want := range []string{": connection refused; " + why + "\n",
		nobody + ": connection refused; no member has that address for clients: see kvctl member list\n"} {
		if !strings.Contains(o.out, want) {
			t.Errorf("%q is missing in\n%s", want, o.out)
		}
	}
}

// Nobody has named the default endpoints: those without a node are not shown, unless they are a member's.
func TestStatusOfTheDefaultEndpoints(t *testing.T) {
	refused := nodeView{endpoint: "http://127.0.0.1:8501", err: syscall.ECONNREFUSED, at: time.Now()}
	slow := nodeView{endpoint: "http://127.0.0.1:8502", err: context.DeadlineExceeded, at: time.Now()}
	there := nodeView{endpoint: "http://127.0.0.1:8500", at: time.Now()}
	for _, c := range []struct {
		members []string
		want    int
	}{{nil, 3}, {[]string{"127.0.0.1:8500"}, 2}, {[]string{"127.0.0.1:8500", "127.0.0.1:8501"}, 3}} {
		var list client.MemberList
		for _, addr := range c.members {
			list.Members = append(list.Members, client.Member{ClientAddress: addr})
		}
		if s := (survey{there, refused, slow}).known(list); len(s) != c.want {
			t.Errorf("members %v: %v", c.members, s)
		}
	}
}

// Nodes that wait to found a cluster are none without a majority.
func TestStatusBeforeThereIsACluster(t *testing.T) {
	s := survey{{endpoint: "http://a:1", at: time.Now(), status: client.Status{Node: 1, Role: api.RoleNone}}}
	if err := s.problem(); err == nil || err.Error() != "no cluster yet: 1 node answers, and none is a member of one" {
		t.Error(err)
	}
}

func TestStatus(t *testing.T) {
	c := start(t, 3)
	c.Set("k", "v")
	c.Node(2).SetProblem("its directory was empty")
	c.Node(3).Stop()
	o := kvctl(t, c, "", "status")
	if o.code != 1 || o.errOut != "kvctl: node 2 does not work as it should; the cluster does\n" {
		t.Fatalf("exit %d, %q", o.code, o.errOut)
	}
	for _, want := range []string{
		"none, see below", "cluster pretended, master is node 1, epoch 1, lease 800 ms left, feature level 0, 2 of 3 nodes answering\n",
		"unreachable", ": connection refused\n", ": takes no part: its directory was empty\n", "~800 ms", "  800 ms  ",
	} {
		if !strings.Contains(o.out, want) {
			t.Errorf("%q is missing in\n%s", want, o.out)
		}
	}
	s := decode[surveyJSON](t, kvctl(t, c, "", "status", "--json").out)
	if s.Master != 1 || s.Epoch != 1 || s.Lease != 800 || len(s.Nodes) != 3 || !s.Nodes[0].Reachable ||
		s.Nodes[0].Status.Revision != 2 ||
		s.Nodes[2].Reachable || s.Nodes[2].Error != "connection refused" || s.Nodes[2].Status != nil {
		t.Errorf("%+v", s)
	}
	c.Node(1).Stop()
	if o := kvctl(t, c, "", "status"); o.code != 1 ||
		!strings.Contains(o.out, "no node says that it is master; the last was node 1, 1 of 3") ||
		o.errOut != "kvctl: no majority: 1 of 3 nodes answer; stale reads work\n" {
		t.Errorf("exit %d\n%s%s", o.code, o.out, o.errOut)
	}
	o = kvctl(t, c, "", "status", "--json")
	if s := decode[surveyJSON](t, o.out); o.code != 1 ||
		s.Problem != "no majority: 1 of 3 nodes answer; stale reads work" ||
		!strings.Contains(o.errOut, "no majority") {
		t.Errorf("exit %d, %+v, %s", o.code, s, o.errOut)
	}
	c.Node(2).Stop()
	if o := kvctl(t, c, "", "status"); o.code != 1 || !strings.Contains(o.out, "no master, 0 of 3 nodes answering") ||
		!strings.Contains(o.errOut, "--endpoints or KVCTL_ENDPOINTS") {
		t.Errorf("exit %d\n%s%s", o.code, o.out, o.errOut)
	}
}

// A node that the others refuse is no healthy follower, whatever it says of itself.
func TestStatusOfANodeThatOthersRefuse(t *testing.T) {
	c := start(t, 3)
	const why = "the certificate of tenure://prod/node/n3 is refused"
	c.Node(3).SetRefused(why)
	o := kvctl(t, c, "", "status")
	if o.code != 1 || o.errOut != "kvctl: node 3 does not work as it should; the cluster does\n" {
		t.Errorf("exit %d, %q", o.code, o.errOut)
	}
	row := "3     follower, see below  1 "
	note := c.Endpoints()[2] + ": not connected with node 1, which says: " + why + "\n"
	if !strings.Contains(o.out, row) || !strings.Contains(o.out, note) || strings.Count(o.out, "see below") != 1 {
		t.Errorf("want %q and %q in\n%s", row, note, o.out)
	}
	o = kvctl(t, c, "", "status", "--json")
	s := decode[surveyJSON](t, o.out)
	if o.code != 1 || s.Problem != "" || s.Nodes[0].Problem != "" || !strings.Contains(s.Nodes[2].Problem, why) {
		t.Errorf("exit %d, %+v", o.code, s)
	}
	if o := kvctl(t, c, "", "status", "--watch", "--timeout", "300ms"); o.code != 1 {
		t.Errorf("--watch: exit %d, %s", o.code, o.errOut)
	}
	c.Node(3).SetRefused("")
	if o := kvctl(t, c, "", "status"); o.code != 0 || strings.Contains(o.out, "see below") {
		t.Errorf("connected again: exit %d\n%s", o.code, o.out)
	}
}

// A node that is cut off refuses others for a fault of its own: these are well.
func TestStatusBlamesNobodyForTheFaultOfAnother(t *testing.T) {
	at := time.Now()
	s := survey{
		{endpoint: "http://a", at: at, status: client.Status{Node: 1, Role: "master", Master: 1, Peers: []api.PeerStatus{
			{Node: 2}}}},
		{endpoint: "http://b", at: at, status: client.Status{Node: 2, Role: "follower", Problem: "this node hears no majority",
			Peers: []api.PeerStatus{{Node: 1, Problem: "the certificate of tenure://prod/node/n1 is refused"}}}},
	}
	if a, b := s.wrong(s[0]), s.wrong(s[1]); len(a) != 0 || len(b) != 1 || b[0] != "this node hears no majority" {
		t.Errorf("%q, %q", a, b)
	}
}

// A majority without a master is a failure too; a master that was not asked is none.
func TestStatusFails(t *testing.T) {
	c := start(t, 3)
	for _, x := range []struct {
		name      string
		prepare   func()
		endpoints []string
		code      int
		says      string
	}{
		{"all is well", func() {}, c.Endpoints(), 0, ""},
		{"one follower is asked", func() {}, c.Endpoints()[1:2], 0, "master is node 1, epoch 1, lease 800 ms left, feature level 0, 3 of 3"},
		{"one follower is asked that does not tell of the others",
			func() { c.EditMembers(func(l []api.Member) []api.Member { return l[:0] }) }, c.Endpoints()[1:2], 0,
			"master is node 1, which is not among the endpoints"},
		{"no master", func() { c.SetMaster(0) }, c.Endpoints(), 1,
			"no master: 3 of 3 nodes answer, and none says that it is master; stale reads work"},
		{"one node of a cluster without a master is asked", func() {}, c.Endpoints()[1:2], 1,
			"no master: 3 of 3 nodes answer"},
		{"the master is gone", func() { c.SetMaster(1); c.Node(1).Stop() }, c.Endpoints(), 1,
			"no master: 2 of 3 nodes answer"},
		{"a master alone", func() { c.SetMaster(2); c.Node(3).Stop() }, c.Endpoints(), 1,
			"no majority: 1 of 3 nodes answer"},
	} {
		x.prepare()
		o := kvctl(t, c, "", "status", "--endpoints", strings.Join(x.endpoints, " , "))
		if o.code != x.code || !strings.Contains(o.out+o.errOut, x.says) {
			t.Errorf("%s: exit %d\n%s%s", x.name, o.code, o.out, o.errOut)
		}
	}
}

// A master that only this client cannot reach is one: another node is connected to it and has heard of its lease. So it
// is no reason to fail, but a lease that has expired or a connection that is gone is.
func TestStatusOfAMasterThatAnswersOthersOnly(t *testing.T) {
	seen := func(left int64, connected bool) survey {
		return survey{
			{endpoint: "http://a:1", at: time.Now(), err: errors.New("x509: certificate signed by unknown authority")},
			{endpoint: "http://b:1", at: time.Now(), status: client.Status{Cluster: "c", Node: 2, Role: api.RoleFollower,
				Master: 1, Lease: api.LeaseStatus{RemainingMS: left},
				Peers: []api.PeerStatus{{Node: 1, ClientAddress: "a:1", Connected: connected}, {Node: 3}}}},
			{endpoint: "http://c:1", at: time.Now(), err: context.DeadlineExceeded},
		}
	}
	s := seen(300, true)
	if err := s.complaint(); err != nil || !strings.Contains(s.headline(), "master is node 1, which does not answer here") {
		t.Errorf("%v, %s", err, s.headline())
	}
	for _, s := range []survey{seen(0, true), seen(300, false)} {
		if err := s.problem(); err == nil || !strings.Contains(s.headline(), "the last was node 1") {
			t.Errorf("%v, %s", err, s.headline())
		}
	}
}

// The watch ends when its time is over, and says how it is then.
func TestWatchObeysTimeout(t *testing.T) {
	c := start(t, 3)
	if o := kvctl(t, c, "", "status", "--watch", "--timeout", "300ms"); o.code != 0 ||
		!strings.Contains(o.out, "master 1") || o.errOut != "" {
		t.Errorf("exit %d\n%s%s", o.code, o.out, o.errOut)
	}
	c.SetMaster(0)
	if o := kvctl(t, c, "", "status", "--watch", "--timeout", "300ms"); o.code != 1 ||
		!strings.Contains(o.errOut, "no master: 3 of 3") {
		t.Errorf("exit %d\n%s%s", o.code, o.out, o.errOut)
	}
}

// One node is shown as master, and what a silent one said last is marked.
func TestOldRows(t *testing.T) {
	began := time.Now()
	w := &watcher{survey: survey{
		{endpoint: "http://a", status: client.Status{Node: 1, Role: "master", Master: 1, Epoch: 3}, at: began},
		{endpoint: "http://b", status: client.Status{Node: 2, Role: "follower", Master: 1, Epoch: 3},
			at: began.Add(400 * time.Millisecond)},
	}}
	s := w.current(began.Add(400 * time.Millisecond))
	b := &strings.Builder{}
	if err := s.write(b, client.MemberList{}); err != nil || strings.Contains(b.String(), "master is node") ||
		!strings.Contains(b.String(), "was master (400 ms ago)") {
		t.Error(b.String(), err)
	}
	if j := s.json(); j.Master != 0 || j.Nodes[0].Old != 400 || j.Nodes[1].Old != 0 {
		t.Errorf("%+v", j)
	}
	w.survey[1].status = client.Status{Node: 2, Role: "master", Master: 2, Epoch: 4}
	w.survey[0].at = began.Add(390 * time.Millisecond) // it answers and has not noticed yet
	b.Reset()
	if err := w.current(began.Add(400*time.Millisecond)).write(b, client.MemberList{}); err != nil ||
		!strings.Contains(b.String(), "master is node 2") ||
		strings.Count(b.String(), "  master  ") != 1 || !strings.Contains(b.String(), "was master  ") {
		t.Error(b.String(), err)
	}
}

// Every command fails soon, and says what to do, if nothing listens at any endpoint.
func TestNothingListens(t *testing.T) {
	port, err := freeport.Run(2)
	if err != nil {
		t.Fatal(err)
	}
	endpoints := freeport.Address(port) + ", " + freeport.Address(port+1)
	for _, line := range []string{
		"get a", "get a --stale", "set a b", "list", "count", "prune a", "status", "status --watch", "master show",
		"master transfer", "lock k -- true",
		"lease run l -- true", "lease list", "lease show l", "session list", "session create", "watch k",
		"bench get --duration 50ms",
	} {
		var out, errOut bytes.Buffer
		began := time.Now()
		code := run(context.Background(), append([]string{"--endpoints", endpoints}, strings.Fields(line)...), nil,
			strings.NewReader(""), &out, &errOut)
		// With no more than its --timeout to end it, a command would take 10 s.
		if took := time.Since(began); code != exitFailed ||
			!strings.Contains(errOut.String(), "--endpoints or KVCTL_ENDPOINTS") || took > 8*time.Second {
			t.Errorf("kvctl %s: exit %d after %v, %q", line, code, took, errOut.String())
		}
	}
}

// Below the table stand the newest loss of the lease and the newest win, oldest first; a first win is no change.
func TestStatusTellsWhyTheMasterChanged(t *testing.T) {
	at := time.Now()
	node := func(id uint64, changes ...client.TenureChange) nodeView {
		return nodeView{endpoint: "http://x", at: at,
			status: client.Status{Node: id, Lease: client.LeaseStatus{Changes: changes}}}
	}
	change := func(second int, event, cause, detail string) client.TenureChange {
		return client.TenureChange{Time: at.Add(time.Duration(second) * time.Second), Event: event, Cause: cause,
			Detail: detail}
	}
	s := survey{
		node(1, change(1, "won", "none", "first"), change(5, "lost", "unanswered", "nobody answered")),
		{endpoint: "http://y", err: errors.New("down"), at: at},
		node(2, change(2, "lost", "handed_over", "older"), change(6, "won", "expired", "it ran out")),
	}
	got := strings.Join(s.changes(), "|")
	if !strings.HasSuffix(got, "node 2 won the master lease: it ran out") ||
		!strings.Contains(got, "node 1 lost the master lease: nobody answered|") {
		t.Error(got)
	}
	s[2] = node(2, change(4, "won", "crashed", "earlier"))
	if got := s.changes(); len(got) != 2 || !strings.HasSuffix(got[0], "earlier") {
		t.Errorf("%q", got)
	}
	if got := (survey{node(1, change(1, "won", "none", "first"))}).changes(); len(got) != 0 {
		t.Errorf("%q", got)
	}
}

func TestWhyNotIsWithoutTheEndpoint(t *testing.T) {
	wrong := errors.New("http://x: wrong port: that of the peers")
	for _, err := range []error{wrong, &client.Error{Err: wrong}} {
		if got := (nodeView{endpoint: "http://x", err: err}).whyNot(); got != "wrong port: that of the peers" {
			t.Error(got)
		}
	}
}

// TestOneThatJoinsIsNoVoterYet: a node that has not joined yet says that it starts, as a voter does.
func TestOneThatJoinsIsNoVoterYet(t *testing.T) {
	view := func(s client.Status) nodeView { return nodeView{endpoint: "http://x", status: s, at: time.Now()} }
	member := client.Status{Cluster: "a", Node: 1, Role: "follower"}
	member.Membership.Change = 3
	joining := client.Status{Node: 2, Role: "starting"}
	for _, s := range []survey{{view(member), view(joining)}, {view(joining), view(member)}} {
		if s.alive() != 1 || s.voters() != 1 {
			t.Errorf("%d of %s", s.alive(), answers(s.voters()))
		}
	}
	member.Peers = []client.PeerStatus{{Node: 2}}
	if s := (survey{view(joining), view(member)}); s.alive() != 2 || s.voters() != 2 {
		t.Errorf("%d of %s, and it is a member", s.alive(), answers(s.voters()))
	}
}

func TestSurvey(t *testing.T) {
	at := time.Now()
	view := func(s client.Status) nodeView { return nodeView{endpoint: "http://x", status: s, at: at} }
	s := survey{
		view(client.Status{Cluster: "a", Node: 1, Role: "master", Master: 1, Epoch: 5, Chosen: 90, Applied: 90}),
		view(client.Status{Cluster: "a", Node: 2, Role: "master", Master: 2, Epoch: 9, Chosen: 100, Applied: 99}),
		view(client.Status{Cluster: "b", Node: 3, Role: "follower", Master: 2, Epoch: 9, Chosen: 100, Applied: 101}),
		{endpoint: "http://y", err: errors.New("down"), at: at},
		{endpoint: "http://z"},
	}
	for _, order := range []survey{s, {s[1], s[0]}} {
		if m, ok := order.master(); !ok || m.Node != 2 {
			t.Errorf("master %d: the newest epoch counts", m.Node)
		}
	}
	for i, want := range []uint64{10, 1, 0} {
		if got := s.lag(s[i]); got != want {
			t.Errorf("lag of node %d is %d, want %d", i+1, got, want)
		}
	}
	if s.worstLag() != 10 || s.answering() != 3 || len(s.clusters()) != 2 {
		t.Errorf("lag %d, %d answering, clusters %v", s.worstLag(), s.answering(), s.clusters())
	}
	var b strings.Builder
	if err := s.write(&b, client.MemberList{}); err != nil || !strings.Contains(b.String(), "http://z: not asked yet") {
		t.Errorf("%v\n%s", err, b.String())
	}
	if err := s.problem(); err == nil || !strings.Contains(err.Error(), "different clusters, a and b") {
		t.Error(err)
	}
}

func TestTracker(t *testing.T) {
	began := time.Now()
	at := func(ms int) time.Time { return began.Add(time.Duration(ms) * time.Millisecond) }
	var tr tracker
	for i, x := range []struct {
		ms       int
		cluster  string
		node     uint64
		role     string
		epoch    uint64
		from, to uint64 // of the news
		tookMS   int
	}{
		{0, "c", 1, "master", 5, 0, 0, 0}, // the first one is no change
		{10, "c", 2, "follower", 5, 0, 0, 0},
		{100, "c", 1, "master", 5, 0, 0, 0},
		{90, "c", 1, "master", 5, 0, 0, 0}, // an older answer that came late
		{700, "c", 2, "master", 9, 1, 2, 600},
		{710, "c", 1, "master", 5, 0, 0, 0}, // it was paused and does not know yet
		{800, "c", 2, "master", 9, 0, 0, 0},
		{900, "c", 2, "master", 12, 2, 2, 100},
		{1000, "new", 3, "master", 1, 0, 0, 0}, // another cluster at the same addresses
		{1100, "new", 1, "master", 4, 3, 1, 100},
	} {
		f, news := tr.observe(client.Status{Cluster: x.cluster, Node: x.node, Role: x.role, Epoch: x.epoch}, at(x.ms))
		if news != (x.to != 0) || news &&
			(f.From != x.from || f.To != x.to || f.Took != time.Duration(x.tookMS)*time.Millisecond) {
			t.Errorf("step %d: %+v %v, want %d -> %d in %d ms", i, f, news, x.from, x.to, x.tookMS)
		}
	}
	if got := tr.without(at(1500)); got != 400*time.Millisecond {
		t.Errorf("without a master for %v", got)
	}
}

// lines is a writer that lets a test wait for a text.
type lines struct {
	mu   sync.Mutex
	buf  bytes.Buffer
	more chan struct{}
}

func (l *lines) Write(b []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	select {
	case l.more <- struct{}{}:
	default:
	}
	return l.buf.Write(b)
}

func (l *lines) waitFor(t *testing.T, text string) {
	t.Helper()
	deadline := time.After(10 * time.Second)
	for {
		l.mu.Lock()
		found := strings.Contains(l.buf.String(), text)
		l.mu.Unlock()
		if found {
			return
		}
		select {
		case <-l.more:
		case <-deadline:
			t.Fatalf("%q is missing in\n%s", text, l.buf.String())
		}
	}
}

// watching runs status --watch until the function that it returns is called.
func watching(t *testing.T, c *clienttest.Cluster, args ...string) (*lines, func()) {
	t.Helper()
	out := &lines{more: make(chan struct{}, 1)}
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan int)
	go func() {
		environ := []string{endpointsVariable + "=" + strings.Join(c.Endpoints(), ",")}
		done <- run(ctx, append([]string{"status", "--watch", "--interval", "50ms"}, args...), environ, nil, out, out)
	}()
	return out, func() {
		cancel()
		if code := <-done; code != 0 {
			t.Errorf("exit %d when interrupted", code)
		}
	}
}

func TestWatchLines(t *testing.T) {
	c := start(t, 3)
	out, stop := watching(t, c)
	out.waitFor(t, "master 1  epoch 1  lease 800 ms  lag 0  revision 1  3/3 nodes\n")
	c.SetMaster(0)
	out.waitFor(t, "no master for ")
	c.SetMaster(2)
	out.waitFor(t, "FAILOVER node 1 -> node 2, epoch 2, took ")
	out.waitFor(t, "master 2  epoch 2")
	c.Node(3).Stop()
	out.waitFor(t, "2/3 nodes\n")
	stop()
}

// TestWatchSilentMaster: an answer from before a pause is not shown as if it were news.
func TestWatchSilentMaster(t *testing.T) {
	w := &watcher{survey: survey{{endpoint: "http://a"}, {endpoint: "http://b"}}}
	began := time.Now()
	w.printer = &newApp(nil, nil, &bytes.Buffer{}, nil).printer
	for i, s := range []client.Status{{Node: 1, Role: "master", Master: 1, Epoch: 3},
		{Node: 2, Role: "follower", Master: 1, Epoch: 3}} {
		if err := w.take(nodeView{endpoint: w.survey[i].endpoint, status: s, at: began}); err != nil {
			t.Fatal(err)
		}
	}
	w.survey[1].at = began.Add(1900 * time.Millisecond)
	for d, want := range map[time.Duration]string{
		100 * time.Millisecond:  "master 1  epoch 3  lease 0 ms  lag 0  revision 0  2/2 nodes",
		500 * time.Millisecond:  "no master for 500 ms, the last was node 1  lag 0  revision 0  2/2 nodes",
		2000 * time.Millisecond: "no master for 2.0 s, the last was node 1  lag 0  revision 0  1/2 nodes",
	} {
		now := began.Add(d)
		if got := w.line(w.current(now), now); got != want {
			t.Errorf("after %v: %q, want %q", d, got, want)
		}
	}
}

func TestWatchJSON(t *testing.T) {
	c := start(t, 2)
	out, stop := watching(t, c, "--json")
	out.waitFor(t, `"master":1`)
	c.SetMaster(2)
	out.waitFor(t, `"failover":{"from":1,"to":2,"epoch":2,"took_ms":`)
	out.waitFor(t, `"master":2`)
	stop()
	for line := range strings.Lines(out.buf.String()) {
		decode[map[string]any](t, line)
	}
}

func TestWatchPicture(t *testing.T) {
	c := start(t, 1)
	out := &lines{more: make(chan struct{}, 1)}
	a := newApp(nil, nil, out, out)
	a.endpoints, a.timeout = c.Endpoints(), time.Second
	api, err := a.client(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer a.close()
	w := newWatcher(a, api, time.Hour)
	w.redraw = true
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error)
	go func() { done <- w.run(ctx) }()
	out.waitFor(t, "master is node 1, epoch 1")
	c.SetMaster(1)
	out.waitFor(t, "FAILOVER node 1 again, epoch 2")
	cancel()
	if err := <-done; err != nil {
		t.Fatal(err)
	}
	if s := out.buf.String(); strings.Count(s, "\x1b[H") != 2 ||
		strings.Contains(strings.ReplaceAll(s, "\x1b[K\n", ""), "\n") {
		t.Errorf("not a picture over a picture: %q", s)
	}
}

func TestMaster(t *testing.T) {
	c := start(t, 3)
	for _, x := range []struct {
		line string
		code int
		out  string
		err  string
	}{
		{"master show", 0, "node 1, epoch 1, lease 800 ms left\n", ""},
		{"master transfer --to 3", 0, "node 1 -> node 3, epoch 2, took ", ""},
		{"master transfer", 0, "node 3 -> node 1, epoch 3, took ", ""},
		{"master transfer --to 1", 0, "node 1 is master already, epoch 3\n", ""},
		{"master transfer --to node-2", 0, "node 1 -> node 2, epoch 4, took ", ""},
		{"master transfer --to node-2", 0, "node 2 is master already, epoch 4\n", ""},
		{"master transfer --to 1", 0, "node 2 -> node 1, epoch 5, took ", ""},
		{"master transfer --to 9", 2, "", "node 9 is not a member"},
		{"master transfer --to n9", 1, "", "there is no member n9; members are 1 (node-1), 2 (node-2), 3 (node-3)"},
		{"master transfer --to=", 2, "", "--to is empty"},
		{"master show --json", 0, `{"master":1,"epoch":5,"lease_ms":800}` + "\n", ""},
	} {
		o := kvctl(t, c, "", strings.Fields(x.line)...)
		if o.code != x.code || !strings.HasPrefix(o.out, x.out) || !strings.Contains(o.errOut, x.err) {
			t.Errorf("kvctl %s: exit %d, %q, %q", x.line, o.code, o.out, o.errOut)
		}
	}
	c.Inject(func(r clienttest.Request) clienttest.Fault {
		if r.Method == "POST" {
			c.SetMaster(0)
			return clienttest.DropApplied
		}
		return clienttest.None
	})
	if o := kvctl(t, c, "", "master", "transfer"); o.code != 3 {
		t.Errorf("a transfer whose answer was lost: exit %d, %q", o.code, o.errOut)
	}
	c.SetMaster(0)
	if o := kvctl(t, c, "", "master", "show"); o.code != 1 {
		t.Errorf("nobody is master: exit %d, %q", o.code, o.out)
	}
}

func TestText(t *testing.T) {
	for in, want := range map[time.Duration]string{
		0: "0 ms", 812 * time.Millisecond: "812 ms", 3290 * time.Millisecond: "3.2 s",
		59999 * time.Millisecond: "59.9 s",
		5 * time.Minute:          "5 min", 7 * time.Hour: "7 h", 300 * time.Hour: "12 d",
	} {
		if got := output.Duration(in); got != want {
			t.Errorf("output.Duration(%v) = %s, want %s", in, got, want)
		}
	}
	for in, want := range map[int64]string{0: "0 B", 1023: "1023 B", 1024: "1.0 KiB", 12 << 10: "12 KiB",
		3 << 30: "3.0 GiB"} {
		if got := output.Bytes(in); got != want {
			t.Errorf("output.Bytes(%d) = %s, want %s", in, got, want)
		}
	}
}

// The command that a problem ends with stands on a line of its own.
func TestStatusPutsACommandApart(t *testing.T) {
	problem := "the members look for this node at peer a:1, and it was started with b:1: if it is reached where they look, " +
		"start it with --advertise-peer a:1; otherwise type: kvctl member update 3 --peer-address b:1"
	s := survey{{endpoint: "http://a", at: time.Now(), status: client.Status{Node: 3, Problem: problem}}}
	var b strings.Builder
	if err := s.write(&b, client.MemberList{}); err != nil {
		t.Fatal(err)
	}
	if !strings.HasSuffix(b.String(), "; otherwise type:\n  kvctl member update 3 --peer-address b:1\n") {
		t.Errorf("\n%s", b.String())
	}
}

func TestStatusShowsTheGuardians(t *testing.T) {
	at := time.Now()
	s := survey{
		{endpoint: "http://a", at: at, status: client.Status{Node: 1, Guardian: client.Guardian{PID: 4711}}},
		{endpoint: "http://b", at: at,
			status: client.Status{Node: 2, Guardian: client.Guardian{Problem: "switched off"}}},
		{endpoint: "http://c", at: at, status: client.Status{Node: 3}}, // too old to have one
		{endpoint: "http://d", err: errors.New("down"), at: at},
	}
	var b strings.Builder
	if err := s.write(&b, client.MemberList{}); err != nil {
		t.Fatal(err)
	}
	lines := strings.Split(b.String(), "\n")
	if !strings.Contains(lines[3], "pid 4711") || !strings.Contains(lines[4], "  none  ") ||
		!strings.Contains(b.String(), "http://b: no guardian: switched off\n") ||
		strings.Contains(b.String(), "http://c: no guardian") {
		t.Errorf("\n%s", b.String())
	}
}

// A node that speaks TLS and is asked without it is no riddle.
func TestStatusOfANodeThatSpeaksTLS(t *testing.T) {
	s := httptest.NewUnstartedServer(http.NotFoundHandler())
	s.Config.ErrorLog = log.New(io.Discard, "", 0)
	s.StartTLS()
	defer s.Close()
	for _, args := range []string{"status", "status --json"} {
		o := against(s.Listener.Addr().String(), "", strings.Fields(args)...)
		if o.code != 1 || !strings.Contains(o.out, "it speaks TLS only: write https:// for it, and give its authority") {
			t.Errorf("%s: %+v", args, o)
		}
	}
}

// A transfer that failed, after which the old master won again, is no transfer.
func TestAnotherEpochOfTheOldMasterIsNoTransfer(t *testing.T) {
	old := client.Status{Node: 2, Epoch: 7}
	for _, x := range []struct {
		node, epoch, want uint64
		done              bool
	}{
		{2, 7, 0, false}, {2, 8, 0, false}, {3, 7, 0, false}, {3, 8, 0, true}, {2, 8, 3, false}, {1, 8, 3, true},
		{2, 7, 2, true},
	} {
		if got := handedOver(old, client.Status{Node: x.node, Epoch: x.epoch}, x.want); got != x.done {
			t.Errorf("%+v: %v", x, got)
		}
	}
}
