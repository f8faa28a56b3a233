package server

import (
	"context"
	"encoding/hex"
	"encoding/json"
	"errors"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/rs/zerolog"

	"tenure/api"
	"tenure/internal/ballot"
	"tenure/internal/certs/certstest"
	"tenure/internal/ident"
	"tenure/kv"
	"tenure/server/members"
	"tenure/server/runner"
	"tenure/server/transport"
	"tenure/server/wire"
	"tenure/storage"
)

// outsider is somebody with the certificate of a node that was removed.
type outsider struct {
	*requests
	ca   *certstest.CA
	home *host // is asked
}

// list returns the members as home knows them.
func (o *outsider) list(t *testing.T) (l api.MemberList) {
	t.Helper()
	_, text, err := o.do(http.MethodGet, o.home.cfg.ClientAddr, api.PathMembers, "")
	if err = errors.Join(err, json.Unmarshal([]byte(text), &l)); err != nil {
		t.Fatalf("members %q: %v", text, err)
	}
	return l
}

// change changes the members, and waits until that is done.
func (o *outsider) change(t *testing.T, path, id, body string) {
	t.Helper()
	o.home.until(t, id+" begun", func() bool {
		code, _, err := o.do(http.MethodPost, o.home.cfg.ClientAddr, path, body)
		return err == nil && code == http.StatusOK
	})
	o.home.until(t, id+" done", func() bool {
		return slices.ContainsFunc(o.list(t).Operations, func(x api.MemberOperation) bool {
			return x.ID == id && x.State == api.OperationDone
		})
	})
}

// knocks connects to home as the node of that id, with a certificate of that name, and claims a membership that no node
// has. It returns why it is refused, "" if it is taken as a peer.
func (o *outsider) knocks(t *testing.T, id ballot.NodeID, name string) string {
	t.Helper()
	l := o.list(t)
	var cluster ident.ClusterID
	var store ident.StoreID
	i := slices.IndexFunc(l.Members, func(x api.Member) bool { return x.Node == l.Node })
	_, err := hex.Decode(cluster[:], []byte(l.Cluster))
	_, err2 := hex.Decode(store[:], []byte(l.Members[i].Store))
	if err = errors.Join(err, err2); err != nil {
		t.Fatal(err)
	}
	self := wire.Hello{Cluster: cluster, Node: id, Store: ident.StoreID{byte(id)}, Constants: o.home.cfg.constants(),
		Level: kv.NewestLevel, Speaks: wire.Version, Incarnation: ballot.Incarnation{Restart: 1 << 40, Node: id}}
	s, err := transport.Listen(transport.Config{Self: id, TLS: certstest.Load(t, o.ca.Node(t, name)), Log: zerolog.Nop(),
		Hello: func() wire.Hello { return self }, DialBack: time.Millisecond})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	s.Serve(&city{}, ident.Membership{Number: 1 << 60, Members: []ident.Member{{Node: o.home.cfg.Node, Store: store,
		Name: l.Members[i].Name, PeerAddr: o.home.cfg.PeerAddr}, {Node: id, Store: self.Store}}}, nil)
	var p transport.PeerState
	o.home.until(t, "an answer", func() bool {
		p = s.Peers()[0]
		return p.Log.Connected || p.Problem != "" && !strings.Contains(p.Problem, "EOF")
	})
	if p.Log.Connected {
		return ""
	}
	return p.Problem
}

// joins asks home to let a node in, with the certificate of that name.
func (o *outsider) joins(t *testing.T, name, replace string) error {
	t.Helper()
	_, err := transport.Join(t.Context(), o.home.cfg.PeerAddr, wire.JoinMsg{Operation: "join-" + name + replace,
		Name: name, Store: ident.StoreID{9, 9}, PeerAddr: "127.0.0.1:1", ClientAddr: "127.0.0.1:2", Constants: o.home.cfg.constants(),
		Level: kv.NewestLevel, Replace: replace, NonVoter: true}, certstest.Load(t, o.ca.Node(t, name)))
	return err
}

// A removed node still has its certificate. It is no peer under any id or claimed membership, also after restarts of
// the others. It joins only after an operator has readmitted it.
func TestARemovedMemberStaysOut(t *testing.T) {
	t.Parallel()
	ca, configure, _ := overTLS(t)
	r := &requests{files: ca.Client(t, "c")}
	hosts := startTLS(t, r, 3, configure)
	o := &outsider{requests: r, ca: ca, home: hosts[0]}
	o.home.until(t, "the newest feature level", func() bool {
		_, text, _ := r.do(http.MethodGet, o.home.cfg.ClientAddr, api.PathStatus, "")
		var s api.Status
		return json.Unmarshal([]byte(text), &s) == nil && s.FeatureLevel == kv.NewestLevel
	})
	o.change(t, api.PathMembersRemove, "away", `{"node":3,"operation":"away"}`)
	if err := <-hosts[2].done; !errors.Is(err, runner.ErrRemoved) {
		t.Errorf("node 3 ended with: %v", err)
	}
	hosts[2].done = nil
	refused := func() {
		t.Helper()
		o.home.until(t, "aware of the removal", func() bool { return slices.Equal(o.list(t).Removed, []string{"n3"}) })
		for id, why := range map[ballot.NodeID]string{3: "no member of cluster", 77: "kvctl member readmit n3"} {
			if text := o.knocks(t, id, "n3"); !strings.Contains(text, why) {
				t.Errorf("node %d: %q", id, text)
			}
		}
		for _, replace := range []string{"", "n2", "n3"} {
			var r *transport.Refusal
			if err := o.joins(t, "n3", replace); !errors.As(err, &r) || r.Reason != wire.ReasonJoin ||
				!strings.Contains(r.Text, "kvctl member readmit n3") {
				t.Errorf("in place of %q: %v", replace, err)
			}
		}
	}
	refused()
	for _, h := range hosts[:2] {
		h.stop(t)
		h.start(t)
	}
	o.home.until(t, "ready", func() bool {
		code, _, _ := r.do(http.MethodGet, o.home.cfg.ClientAddr, "/health/ready", "")
		return code == http.StatusOK
	})
	refused()
	o.change(t, api.PathMembersReadmit, "back", `{"name":"n3","operation":"back"}`)
	o.home.until(t, "without removed names", func() bool { return len(o.list(t).Removed) == 0 })
	if err := o.joins(t, "n3", ""); err != nil {
		t.Errorf("it was readmitted: %v", err)
	}
	if text := o.knocks(t, 3, "n3"); !strings.Contains(text, "no member of cluster") {
		t.Errorf("the id is used again: %q", text)
	}
}

// A place that an operation keeps for a node goes to the certificate of its name. With any other one a node is refused
// when it joins, by whatever way it comes, and the members stay as they were.
func TestACertificateOfAnotherNameTakesNoPlace(t *testing.T) {
	t.Parallel()
	ca, configure, _ := overTLS(t)
	r := &requests{files: ca.Client(t, "c")}
	hosts := startTLS(t, r, 3, configure)
	o := &outsider{requests: r, ca: ca, home: hosts[0]}
	hosts[2].stop(t)
	o.home.until(t, "the replacement", func() bool {
		code, _, err := r.do(http.MethodPost, o.home.cfg.ClientAddr, api.PathMembersReplace, `{"node":3,"operation":"move"}`)
		return err == nil && code == http.StatusOK
	})
	join := func(name string, change func(*Config)) (Config, error) {
		cfg := joinConfig(t)
		cfg.LeaseTime, cfg.MaxLeaseTime, cfg.LeaseMargin = o.home.cfg.LeaseTime, o.home.cfg.MaxLeaseTime, o.home.cfg.LeaseMargin
		cfg.Join, cfg.TLS = o.home.cfg.PeerAddr, TLS{Peers: ca.Node(t, name)}
		change(&cfg)
		ctx, cancel := context.WithTimeout(t.Context(), 3*time.Second)
		defer cancel()
		return cfg, Run(ctx, cfg)
	}
	before := o.list(t).Members
	for what, c := range map[string]struct {
		change func(*Config)
		words  string // of the refusal; "": it asks for as long as the operation runs
	}{
		"replace":                 {func(c *Config) { c.Replace = "n3" }, "kvctl ca node n3 --hosts HOST --out DIR"},
		"replace, under its name": {func(c *Config) { c.Replace, c.NodeName = "n3", "n3" }, "leave out --node-name"},
		"join, under its name":    {func(c *Config) { c.NodeName = "n3" }, "leave out --node-name"},
		"join":                    {func(*Config) {}, ""},
		"spare":                   {func(c *Config) { c.Spare = true }, ""},
	} {
		cfg, err := join("n9", c.change)
		if c.words == "" && err != nil || c.words != "" && (!errors.Is(err, ErrConfig) || !strings.Contains(err.Error(), c.words)) {
			t.Errorf("%s: %v", what, err)
		}
		if id, _, err := storage.ReadIdentity(cfg.Data); err != nil || id.Formed {
			t.Errorf("%s: it is a member: %+v, %v", what, id, err)
		}
	}
	if now := o.list(t).Members; len(now) != len(before) {
		t.Errorf("the members were %+v, and are %+v", before, now)
	}
	if _, err := join("n3", func(c *Config) { c.Replace = "n3" }); err != nil {
		t.Errorf("with its own certificate: %v", err)
	}
	if l := o.list(t).Members; l[len(l)-1].Node != 4 || l[len(l)-1].Name != "n3" {
		t.Errorf("with its own certificate it is no member: %+v", l)
	}
}

// The transport starts with the roster on disk, each part of which may be older than the others.
func TestTheRosterAtTheStart(t *testing.T) {
	three := ident.Membership{Number: 1, Members: []ident.Member{{Node: 1}, {Node: 2}, {Node: 3}}}
	two := ident.Membership{Number: 2, Change: 1, Members: three.Members[:2]}
	record := members.First(three)
	record.NextNode, record.Removed = 6, []string{"n5"}
	for what, c := range map[string]struct {
		record  *members.Record
		id      storage.Identity
		next    ballot.NodeID
		removed []string
	}{
		"after the bootstrap":         {id: storage.Identity{Membership: three, Bootstrap: three}, next: 4},
		"the state is behind":         {id: storage.Identity{Membership: two, Bootstrap: three}, next: 4},
		"a record":                    {&record, storage.Identity{Membership: two}, 6, []string{"n5"}},
		"a node that has just joined": {id: storage.Identity{Membership: two}, next: 3},
	} {
		state, err := kv.Open(kv.NewMemStateDB(), kv.DefaultLimits)
		if err == nil && c.record != nil {
			err = state.SetMembers(1, c.record.Encode(), 0)
		}
		if err != nil {
			t.Fatal(err)
		}
		r, err := rosterOf(state, c.id)
		if err != nil || r.NextNode != c.next || !slices.Equal(r.Removed, c.removed) {
			t.Errorf("%s: %+v, %v", what, r, err)
		}
	}
}
