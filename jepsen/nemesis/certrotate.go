package nemesis

import (
	"context"
	"fmt"
	"time"

	"tenure/jepsen/cluster"
)

// rotateCerts renews everything that proves who somebody is, again and again: the authority in its three steps, and the
// certificates of all nodes and of the clients. It may end between any two files: clusters are always all right.
func rotateCerts(ctx context.Context, b *Bed) error {
	c := b.Cluster.Certificates()
	for ctx.Err() == nil {
		for _, step := range [...]struct {
			name    string
			begin   func() error // in the directory of the authority
			give    func(place int) error
			renewal bool // of the certificate of the place, one at a time
		}{
			{"both authorities", func() error {
				_, err := c.Authority.RenewAuthority(time.Hour, time.Now())
				return err
			}, c.GiveBundle, false},
			{"a new certificate", nil, c.GivePair, true},
			{"the new authority only", func() error {
				_, err := c.Authority.Retire(time.Now())
				return err
			}, c.GiveBundle, false},
		} {
			if step.begin != nil {
				if err := step.begin(); err != nil {
					return err
				}
			}
			if err := b.handOut(ctx, step.name, step.renewal, step.give); err != nil || ctx.Err() != nil {
				return err
			}
		}
	}
	return nil
}

// handOut gives files to all nodes in turn, in a random order, and to the clients.
func (b *Bed) handOut(ctx context.Context, what string, renew bool, give func(place int) error) error {
	places := []int{0}
	for _, n := range b.Cluster.Nodes() {
		places = append(places, n.ID)
	}
	b.Random.Shuffle(len(places), func(i, j int) { places[i], places[j] = places[j], places[i] })
	for _, place := range places {
		if ctx.Err() != nil {
			return nil
		}
		if renew {
			if err := b.Cluster.Certificates().Renew(place); err != nil {
				return err
			}
		}
		if place == 0 { // clients read their files for each connection
			if err := give(0); err != nil {
				return err
			}
			continue
		}
		end := b.Log.begin("rotate", place)
		inUse, err := b.give(b.Cluster.Node(place), give)
		if err != nil {
			return err
		}
		if !inUse {
			return fmt.Errorf("node %d finds %s of no use", place, what)
		}
		end(what + " in use")
		cluster.Pause(ctx, b.between(0, 200*ms))
	}
	return nil
}

// give gives files to a running node and tells it. It returns whether they are in use then, even beyond the end of the
// run.
func (b *Bed) give(n *cluster.Node, give func(place int) error) (inUse bool, err error) {
	ctx, cancel := context.WithTimeout(context.Background(), recovery)
	defer cancel()
	before, err := b.Cluster.Readings(ctx, n)
	if err != nil {
		return false, err
	}
	if err := give(n.ID); err != nil {
		return false, err
	}
	if err := n.Hangup(); err != nil {
		return false, err
	}
	return b.Cluster.Reread(ctx, n, before)
}
