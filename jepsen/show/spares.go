package show

import (
	"context"
	"fmt"
	"time"

	"tenure/client"
	"tenure/jepsen/cluster"
)

const (
	replaceAfter = 3 * time.Second
	watchShrink  = 4 * replaceAfter // for how long two dead voters of three must change nothing
)

// spares kills a voter for good under load, and then two of three at once.
func spares(ctx context.Context, s *stage) error {
	c, all, done, err := started(ctx, cluster.Config{Binaries: s.bin, Dir: s.dir, Nodes: 3, Spares: 2,
		Flags: []string{shortLeases}})
	if err != nil {
		return err
	}
	defer done()
	for _, n := range c.Free() {
		c.Prepare(n, c.Node(1), fmt.Sprintf("spare-%d", n.ID), "--spare", "--replace-after", replaceAfter.String())
		if err := n.Start(); err != nil {
			return err
		}
	}
	if err := awaitMembers(ctx, all, "two spares", func(l client.MemberList) bool {
		return count(l, func(m client.Member) bool { return m.Spare && m.Lag == 0 }) == 2
	}); err != nil {
		return err
	}
	l := writeLedger(ctx, c)
	defer l.stop()
	cluster.Pause(ctx, time.Second)
	if err := oneForGood(ctx, s, c, all); err != nil {
		return err
	}
	if err := l.check(ctx, s, all); err != nil {
		return err
	}
	return twoAtOnce(ctx, s, c, all)
}

// oneForGood kills the master and never starts it again.
func oneForGood(ctx context.Context, s *stage, c *cluster.Cluster, all *client.Client) error {
	m, _, err := c.Master(ctx)
	if err != nil {
		return err
	}
	begin, was := time.Now(), uint64(m.Member())
	if err := m.Kill(); err != nil {
		return err
	}
	if err := awaitMembers(ctx, all, "a spare in the place of the dead voter", func(l client.MemberList) bool {
		return count(l, func(m client.Member) bool { return m.Voter }) == 3 &&
			count(l, func(m client.Member) bool { return m.Node == was || m.Voter && m.Spare }) == 0
	}); err != nil {
		return err
	}
	s.say("node %d was killed for good: a spare had its place %.1f s later, without a person", was,
		time.Since(begin).Seconds())
	c.Leave(m)
	return nil
}

// twoAtOnce kills two of the three voters: what is left is no majority, and so the spare takes nobody's place.
func twoAtOnce(ctx context.Context, s *stage, c *cluster.Cluster, all *client.Client) error {
	before, err := all.Members().List(ctx)
	if err != nil {
		return err
	}
	var dead []*cluster.Node
	for _, n := range c.Places() {
		st, err := c.Status(ctx, n)
		if err == nil && len(dead) < 2 && votesIn(before, st.Node) {
			dead = append(dead, n)
		}
	}
	if len(dead) != 2 {
		return fmt.Errorf("%d voters answer", len(dead))
	}
	for _, n := range dead {
		if err := n.Kill(); err != nil {
			return err
		}
	}
	cluster.Pause(ctx, watchShrink)
	for _, n := range dead {
		if err := n.Start(); err != nil {
			return err
		}
	}
	if _, err := all.Set(ctx, "after", []byte("both are back"), client.WriteOptions{}); err != nil {
		return err
	}
	after, err := all.Members().List(ctx)
	if err != nil {
		return err
	}
	if after.Change != before.Change || after.Number != before.Number {
		return fmt.Errorf("the members have changed while a majority was dead: %+v, and before %+v", after, before)
	}
	s.say("two of the three voters were dead for %v: nobody was removed, and with them back writes go on", watchShrink)
	return nil
}

func votesIn(l client.MemberList, node uint64) bool {
	return count(l, func(m client.Member) bool { return m.Voter && m.Node == node }) == 1
}

func count(l client.MemberList, is func(client.Member) bool) (n int) {
	for _, m := range l.Members {
		if is(m) {
			n++
		}
	}
	return n
}

// awaitMembers waits until the list of the members is as is says.
func awaitMembers(ctx context.Context, c *client.Client, what string, is func(client.MemberList) bool) error {
	var l client.MemberList
	var err error
	end := time.Now().Add(comesBack)
	for ; time.Now().Before(end) && ctx.Err() == nil; cluster.Pause(ctx, 100*time.Millisecond) {
		if l, err = c.Members().List(ctx); err == nil && is(l) {
			return nil
		}
	}
	return fmt.Errorf("after %v there is not %s: %+v %v", comesBack, what, l.Members, err)
}
