package cluster

import (
	"bufio"
	"net"
	"os"
	"testing"
	"time"
)

// TestProxiedCutsAndDelays plays two nodes in this process. A cut holds back what 1 says to 2 until it ends, and leaves
// the other way open. A delay takes as long as it says.
func TestProxiedCutsAndDelays(t *testing.T) {
	p, err := NewProxied(2)
	if err != nil {
		t.Fatal(err)
	}
	defer p.Close()
	p.serve(func(id int) int { return map[int]int{1: os.Getpid()}[id] })
	_, peer, listed := p.Addresses(2)
	l, err := net.Listen("tcp", peer)
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	one, err := net.Dial("tcp", listed)
	if err != nil {
		t.Fatal(err)
	}
	defer one.Close()
	two, err := l.Accept()
	if err != nil {
		t.Fatal(err)
	}
	defer two.Close()
	heard := func(c net.Conn, within time.Duration) string {
		_ = c.SetReadDeadline(time.Now().Add(within))
		line, _ := bufio.NewReader(c).ReadString('\n')
		return line
	}
	say := func(c net.Conn, line string) {
		if _, err := c.Write([]byte(line)); err != nil {
			t.Fatal(err)
		}
	}
	say(one, "a\n")
	if got := heard(two, time.Second); got != "a\n" {
		t.Fatalf("heard %q", got)
	}
	if err := p.Cut(Way{From: 1, To: 2}); err != nil {
		t.Fatal(err)
	}
	say(one, "b\n")
	say(two, "c\n")
	if got := heard(one, time.Second); got != "c\n" {
		t.Errorf("the way that was not cut brought %q", got)
	}
	if got := heard(two, 50*time.Millisecond); got != "" {
		t.Errorf("the cut way brought %q", got)
	}
	if n, _ := p.Stopped(); n != 1 {
		t.Errorf("%d pieces were stopped", n)
	}
	if err := p.Heal(); err != nil {
		t.Fatal(err)
	}
	if got := heard(two, time.Second); got != "b\n" {
		t.Errorf("after the cut came %q", got)
	}
	p.Delay(60 * time.Millisecond)
	begin := time.Now()
	say(one, "d\n")
	if got, took := heard(two, time.Second), time.Since(begin); got != "d\n" || took < 60*time.Millisecond {
		t.Errorf("%q came after %v", got, took)
	}
	if n := p.Delayed(); n != 1 {
		t.Errorf("%d pieces were delayed", n)
	}
}

func TestNamespacesComeAndGo(t *testing.T) {
	if err := NamespacesAvailable(); err != nil {
		t.Skip(err)
	}
	n, err := NewNamespaces(3)
	if err != nil {
		t.Fatal(err)
	}
	if err := n.Cut(Way{From: 1, To: 2}, Way{From: 3, To: 2}); err != nil {
		t.Error(err)
	}
	if err := n.Lose(30); err != nil {
		t.Error(err)
	}
	if _, err := n.Stopped(); err != nil {
		t.Error(err)
	}
	bridge := n.bridge()
	if err := n.Close(); err != nil {
		t.Fatal(err)
	}
	if _, err := net.InterfaceByName(bridge); err == nil {
		t.Errorf("%s is still there", bridge)
	}
	for id := 1; id <= 3; id++ {
		if _, err := os.Stat("/run/netns/" + n.namespace(id)); err == nil {
			t.Errorf("%s is still there", n.namespace(id))
		}
	}
}
