package resp

import (
	"fmt"
	"strings"
	"testing"

	"tenure/server/service"
	"tenure/server/watch"
)

// makeMaster makes another node the one that the fake knows as master.
func (f *fake) makeMaster(id uint64) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.status.Master = id
}

func TestSentinel(t *testing.T) {
	f := newFake(t)
	s := dial(t, start(t, f, Config{Advertised: "a:1"}))
	s.want("sentinel get-master-addr-by-name any", "[a 1]")
	f.makeMaster(3)
	s.want("sentinel get-master-addr-by-name any", "[c 3]")
	s.want("role", "[slave c 3 connected 7]")
	s.send("sentinel myid", "sentinel masters", "sentinel master other", "sentinel replicas any", "sentinel sentinels any")
	id := s.reply()
	if len(id) != 40 {
		t.Error(id)
	}
	for _, parts := range [][]string{
		{"name mymaster ip c port 3", "name any ip c", "flags master num-slaves 2 num-other-sentinels 2 quorum 2"},
		{"[name other ip c port 3"},
		{"name a:1 ip a port 1 runid " + id + " flags slave", "name b:2 ip b port 2", "master-host c master-port 3"},
		{"name b:2 ip b port 2", "flags sentinel", "name c:3 ip c port 3"},
	} {
		got := s.reply()
		for _, p := range parts {
			if !strings.Contains(got, p) {
				t.Errorf("%q is not in %s", p, got)
			}
		}
	}
	f.makeMaster(0)
	s.want("sentinel get-master-addr-by-name any", "nil")
	s.want("sentinel masters", "[]")
	s.want("sentinel master any", "-ERR no master is known at this moment: ask again")
	s.want("role", "[slave  0 connect 7]")
	for _, bad := range []string{"sentinel reset any", "sentinel master", "sentinel master " + strings.Repeat("x", 129)} {
		s.send(bad)
		if got := s.reply(); !strings.HasPrefix(got, "-ERR ") {
			t.Errorf("%s: %s", bad, got)
		}
	}
}

func TestASubscriberIsToldOfAnotherMaster(t *testing.T) {
	f, hub := newFake(t), watch.New(testHub)
	hub.Begin(f.state.Revision())
	server := start(t, f, Config{Config: service.Config{Hub: hub}, Advertised: "a:1"})
	s, all := dial(t, server), dial(t, server)
	s.want("sentinel get-master-addr-by-name any", "[a 1]")
	f.fail = service.ErrNotApplied // what is not about keys is told without a master too
	s.want("subscribe +switch-master", "[subscribe +switch-master 1]")
	f.fail = nil
	all.want("psubscribe +switch*", "[psubscribe +switch* 1]")
	f.makeMaster(0)
	f.makeMaster(2)
	for _, name := range []string{"mymaster", "any"} {
		text := fmt.Sprintf("+switch-master %s a 1 b 2]", name)
		if got := s.reply(); got != "[message "+text {
			t.Error(got)
		}
		if got := all.reply(); got != "[pmessage +switch* "+text {
			t.Error(got)
		}
	}
}

// Of a write whose outcome is unknown nobody is known to have it.
func TestWaitBehindAnUnknownOutcome(t *testing.T) {
	f := newFake(t)
	s := dial(t, start(t, f, Config{}))
	f.fail = service.ErrUnknown
	s.send("set a 1")
	s.reply()
	s.want("wait 1 0", "0")
	f.fail = service.ErrNotApplied
	s.send("set a 1")
	s.reply()
	s.want("wait 1 0", "0")
	f.fail = nil
	s.want("set a 1", "OK")
	s.want("wait 1 0", "1")
}
