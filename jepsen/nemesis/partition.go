package nemesis

import (
	"context"
	"fmt"

	"tenure/jepsen/cluster"
)

// partition cuts links in a shape, heals them, and cuts again.
func partition(name string, shape func(context.Context, *Bed) []cluster.Way) func(context.Context, *Bed) error {
	return func(ctx context.Context, b *Bed) error {
		for ctx.Err() == nil {
			if err := b.cutFor(name, shape(ctx, b), func() { cluster.Pause(ctx, b.between(1000*ms, 3000*ms)) }); err != nil {
				return err
			}
			cluster.Pause(ctx, b.between(500*ms, 1500*ms))
		}
		return nil
	}
}

// cutFor makes the cuts, does something, and heals. The fault counts as seen if the cuts stopped anything.
func (b *Bed) cutFor(name string, cuts []cluster.Way, during func()) error {
	before, err := b.Links.Stopped()
	if err != nil {
		return err
	}
	end := b.Log.begin(name, heads(cuts)...)
	if err := b.Links.Cut(cuts...); err != nil {
		return err
	}
	during()
	if err := b.Links.Heal(); err != nil {
		return err
	}
	after, err := b.Links.Stopped()
	if err != nil {
		return err
	}
	seen := ""
	if after > before {
		seen = fmt.Sprintf("%d packets or pieces stopped on %v", after-before, cuts)
	}
	end(seen)
	return nil
}

// heads returns the nodes at which the cuts begin.
func heads(cuts []cluster.Way) (out []int) {
	seen := map[int]bool{}
	for _, c := range cuts {
		if !seen[c.From] {
			out, seen[c.From] = append(out, c.From), true
		}
	}
	return out
}

// masterAlone cuts the master from all others.
func masterAlone(ctx context.Context, b *Bed) []cluster.Way {
	m := b.master(ctx)
	if m == nil {
		m = b.Cluster.Node(1)
	}
	return split(b, map[int]bool{m.ID: true})
}

// halves splits the nodes at random; the larger part is a majority.
func halves(_ context.Context, b *Bed) []cluster.Way {
	few := map[int]bool{}
	for _, i := range b.Random.Perm(len(b.Cluster.Nodes()))[:b.minority()] {
		few[i+1] = true
	}
	return split(b, few)
}

func split(b *Bed, few map[int]bool) (out []cluster.Way) {
	for _, x := range b.Cluster.Places() {
		for _, y := range b.Cluster.Places() {
			if few[x.ID] && !few[y.ID] {
				out = append(out, cluster.Way{From: x.ID, To: y.ID}, cluster.Way{From: y.ID, To: x.ID})
			}
		}
	}
	return out
}

// ring leaves each node only its two neighbours in a random order of five or more, so that every node sees a majority
// and no two the same one. Of three nodes everyone is everyone's neighbour: there the link of the master with one
// other is cut, and the third sees both.
func ring(ctx context.Context, b *Bed) (out []cluster.Way) {
	n := len(b.Cluster.Nodes())
	order := b.Random.Perm(n)
	if n == 3 {
		m := b.master(ctx)
		if m == nil {
			m = b.Cluster.Node(1)
		}
		other := (m.ID-1+1+b.Random.IntN(2))%3 + 1
		return []cluster.Way{{From: m.ID, To: other}, {From: other, To: m.ID}}
	}
	for i := range order {
		for j := range order {
			if d := (i - j + n) % n; d > 1 && d < n-1 {
				out = append(out, cluster.Way{From: order[i] + 1, To: order[j] + 1})
			}
		}
	}
	return out
}

// oneWay makes one node mute or deaf towards all others, every other time the master.
func oneWay(ctx context.Context, b *Bed) (out []cluster.Way) {
	victim := b.pick(ctx, 1)[0]
	mute := b.Random.IntN(2) == 0
	for _, n := range b.Cluster.Nodes() {
		if n == victim {
			continue
		}
		if mute {
			out = append(out, cluster.Way{From: victim.ID, To: n.ID})
		} else {
			out = append(out, cluster.Way{From: n.ID, To: victim.ID})
		}
	}
	return out
}

const lossPercent = 30

// loss drops packets between nodes at random.
func loss(ctx context.Context, b *Bed) error {
	for ctx.Err() == nil {
		before, err := b.Namespaces.Stopped()
		if err != nil {
			return err
		}
		end := b.Log.begin("loss", ids(b.Cluster.Nodes())...)
		if err := b.Namespaces.Lose(lossPercent); err != nil {
			return err
		}
		cluster.Pause(ctx, b.between(2000*ms, 4000*ms))
		if err := b.Namespaces.Heal(); err != nil {
			return err
		}
		after, err := b.Namespaces.Stopped()
		if err != nil {
			return err
		}
		seen := ""
		if after > before {
			seen = fmt.Sprintf("%d packets lost", after-before)
		}
		end(seen)
		cluster.Pause(ctx, b.between(500*ms, 1500*ms))
	}
	return nil
}

// slow delays everything between nodes; a round trip stays below the lease time, at times barely.
func slow(ctx context.Context, b *Bed) error {
	for ctx.Err() == nil {
		before := b.Proxied.Delayed()
		delay := b.between(20*ms, 110*ms)
		end := b.Log.begin("slow", ids(b.Cluster.Nodes())...)
		b.Proxied.Delay(delay)
		cluster.Pause(ctx, b.between(1500*ms, 3500*ms))
		if err := b.Proxied.Heal(); err != nil {
			return err
		}
		seen := ""
		if d := b.Proxied.Delayed() - before; d > 0 {
			seen = fmt.Sprintf("%d pieces were %v late", d, delay)
		}
		end(seen)
		cluster.Pause(ctx, b.between(500*ms, 1500*ms))
	}
	return nil
}
