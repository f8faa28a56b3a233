package nemesis

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"sync"
	"time"

	"github.com/google/uuid"

	"tenure/client"
	"tenure/jepsen/cluster"
)

const (
	memberSpares  = 2                // places for nodes that join beside the first ones
	leastVoters   = 3                // no node leaves below that
	changeLimit   = 45 * time.Second // in which a change must have taken effect, whatever else happens meanwhile
	removedEnds   = changeLimit      // in which a node that was removed must end by itself, whatever happens to the others
	memberPrefix  = "member-"        // of the faults' names
	memberRetries = 200 * ms
)

// IsChange reports whether a fault of that name is a change of the members.
func IsChange(fault string) bool { return strings.HasPrefix(fault, memberPrefix) }

// changer changes the members of a running cluster, one at a time, each as a person or a container would: by a request,
// or by starting a process with --join. Every change must take effect, and does its own checks.
type changer struct {
	*Bed
	api   *client.Client
	names int
	hands *sync.Mutex // held while processes are started and ended; killers of other nodes hold it too
}

// members changes the members again and again.
func members(ctx context.Context, b *Bed) error { return changeMembers(ctx, b, &sync.Mutex{}) }

// changeMembers is members beside somebody else who starts and ends processes.
func changeMembers(ctx context.Context, b *Bed, hands *sync.Mutex) error {
	api, err := client.New(client.Config{Endpoints: b.Cluster.Endpoints(), Timeout: changeLimit, AttemptTimeout: 2 * time.Second})
	if err != nil {
		return err
	}
	defer api.Close()
	c := &changer{Bed: b, api: api, hands: hands}
	for ctx.Err() == nil {
		if err := c.change(); err != nil {
			return err
		}
		cluster.Pause(ctx, b.between(100*ms, 500*ms))
	}
	return nil
}

// change makes one random change that the number of members allows. It goes on beyond the end of the run: half a change
// is no state to leave a cluster in.
func (c *changer) change() error {
	ctx, cancel := context.WithTimeout(context.Background(), changeLimit)
	defer cancel()
	nodes, free := c.Cluster.Nodes(), c.Cluster.Free()
	all := []func(context.Context, *cluster.Node) error{c.wipe}
	if len(free) > 0 {
		all = append(all, c.add, c.replace)
	}
	if len(nodes) > leastVoters {
		all = append(all, c.remove)
	}
	n := nodes[c.Random.IntN(len(nodes))]
	if c.Random.IntN(3) == 0 {
		if m := c.master(ctx); m != nil {
			n = m
		}
	}
	return all[c.Random.IntN(len(all))](ctx, n)
}

// add has a new node join.
func (c *changer) add(ctx context.Context, via *cluster.Node) error {
	n := c.Cluster.Free()[0]
	end := c.Log.begin(memberPrefix+"add", n.ID)
	if err := c.join(ctx, n, via, votes); err != nil {
		return fmt.Errorf("adding a node in place %d by node %d: %w", n.ID, via.ID, err)
	}
	end(fmt.Sprintf("%s votes as node %d", n.Name(), n.Member()))
	return nil
}

// wipe kills a node, deletes its data, and starts it with the command line of a container that is to take its own
// place.
func (c *changer) wipe(ctx context.Context, n *cluster.Node) error {
	via, was, name := c.other(n), n.Member(), n.Name()
	end := c.Log.begin(memberPrefix+"wipe", n.ID)
	err := c.withHands(func() error {
		if err := n.Kill(); err != nil && n.Running() {
			return err
		}
		return c.Cluster.Wipe(n)
	})
	if err != nil {
		return err
	}
	c.Cluster.Prepare(n, via, name, "--replace", name)
	if err := c.run(ctx, n, votes); err != nil {
		return fmt.Errorf("node %d lost its disk and takes its own place, %s, by node %d: %w", was, name, via.ID, err)
	}
	if n.Member() == was {
		return fmt.Errorf("node %d lost its disk and its votes, and has its number again", was)
	}
	end(fmt.Sprintf("%s, which was node %d, votes as node %d", name, was, n.Member()))
	return nil
}

// replace has a new node take the place of one that lives.
func (c *changer) replace(ctx context.Context, old *cluster.Node) error {
	n := c.Cluster.Free()[0]
	end := c.Log.begin(memberPrefix+"replace", old.ID, n.ID)
	if err := c.join(ctx, n, c.other(n), follows, "--non-voter"); err != nil {
		return fmt.Errorf("a non-voter joins in place %d: %w", n.ID, err)
	}
	id := uuid.NewString()
	err := c.ask(ctx, id, func() (client.MemberOperation, error) {
		return c.api.Members().Replace(ctx, client.MemberChange{Operation: id, Node: uint64(old.Member()), By: uint64(n.Member())})
	})
	if err != nil {
		return fmt.Errorf("node %d takes the place of node %d: %w", n.Member(), old.Member(), err)
	}
	if err := c.until(ctx, n, votes); err != nil {
		return fmt.Errorf("node %d took the place of node %d: %w", n.Member(), old.Member(), err)
	}
	if err := c.gone(old); err != nil {
		return err
	}
	end(fmt.Sprintf("node %d votes, and node %d has ended", n.Member(), old.Member()))
	return nil
}

// remove has a node leave, which may be the master.
func (c *changer) remove(ctx context.Context, n *cluster.Node) error {
	end := c.Log.begin(memberPrefix+"remove", n.ID)
	id := uuid.NewString()
	err := c.ask(ctx, id, func() (client.MemberOperation, error) {
		return c.api.Members().Remove(ctx, client.MemberChange{Operation: id, Node: uint64(n.Member())})
	})
	if err != nil {
		return fmt.Errorf("removing node %d: %w", n.Member(), err)
	}
	if err := c.gone(n); err != nil {
		return err
	}
	end(fmt.Sprintf("node %d has ended", n.Member()))
	return nil
}

// other returns a random member that runs, other than n.
func (c *changer) other(n *cluster.Node) *cluster.Node {
	nodes := c.Cluster.Nodes()
	for _, i := range c.Random.Perm(len(nodes)) {
		if nodes[i] != n && nodes[i].Running() {
			return nodes[i]
		}
	}
	return nodes[0]
}

func (c *changer) withHands(f func() error) error {
	c.hands.Lock()
	defer c.hands.Unlock()
	return f()
}

// join starts a node in a free place, with an empty directory and a name of its own.
func (c *changer) join(ctx context.Context, n, via *cluster.Node, as string, flags ...string) error {
	if err := c.Cluster.Wipe(n); err != nil { // of the node that was there before
		return err
	}
	c.names++
	c.Cluster.Prepare(n, via, fmt.Sprintf("place-%d-%d", n.ID, c.names), flags...)
	return c.run(ctx, n, as)
}

// What a node that has joined does.
const (
	votes   = "votes"
	follows = "follows the log without a vote"
)

// run starts a prepared node, and starts it again whenever it ends, as a supervisor does, until the node is what as
// says.
func (c *changer) run(ctx context.Context, n *cluster.Node, as string) error {
	for {
		if !n.Running() {
			if err := c.withHands(n.Start); err != nil && !n.Running() {
				return err
			}
		}
		err := c.until(ctx, n, as)
		if err == nil || ctx.Err() != nil {
			return err
		}
		cluster.Pause(ctx, memberRetries)
	}
}

var errEnded = errors.New("the node has ended")

// until waits until the cluster has given n a number and n votes, or follows.
func (c *changer) until(ctx context.Context, n *cluster.Node, as string) error {
	for {
		s, err := c.Cluster.Status(ctx, n)
		is := map[string]string{"master": votes, "follower": votes, "non-voter": follows}[s.Role]
		switch {
		case err == nil && s.Node != 0 && is == as:
			c.Cluster.Enter(n, int(s.Node))
			return nil
		case ctx.Err() != nil:
			return fmt.Errorf("after %v it is not so that it %s: role %q, %s %w; see %s", changeLimit, as, s.Role, s.Problem, err,
				n.Log)
		case !n.Running():
			return errEnded
		}
		cluster.Pause(ctx, 20*ms)
	}
}

// ask makes a request until it is taken, and waits until the operation is done. A refusal may be due to nodes that are
// down just now.
func (c *changer) ask(ctx context.Context, id string, request func() (client.MemberOperation, error)) error {
	for {
		_, err := request()
		if err == nil {
			break
		}
		if ctx.Err() != nil {
			return err
		}
		cluster.Pause(ctx, memberRetries)
	}
	_, err := c.api.Members().Wait(ctx, id, nil)
	return err
}

// gone waits until a node that was removed has ended by itself, and stays so.
func (c *changer) gone(n *cluster.Node) error {
	ended := waitUntil(removedEnds, func() bool {
		c.hands.Lock()
		defer c.hands.Unlock()
		return !n.Running()
	})
	if !ended {
		return fmt.Errorf("node %d was removed and still runs after %v; see %s", n.Member(), removedEnds, n.Log)
	}
	c.Cluster.Leave(n)
	return nil
}

// membersAnd changes members while something else happens to them too.
func membersAnd(trouble func(context.Context, *Bed, *sync.Mutex) error) func(context.Context, *Bed) error {
	return func(ctx context.Context, b *Bed) error {
		hands := &sync.Mutex{}
		other := *b
		other.Random = rand.New(rand.NewPCG(b.Random.Uint64(), 0))
		ctx, cancel := context.WithCancel(ctx)
		defer cancel()
		done := make(chan error, 1)
		go func() {
			err := trouble(ctx, &other, hands)
			if err != nil {
				cancel()
			}
			done <- err
		}()
		err := changeMembers(ctx, b, hands)
		cancel()
		return errors.Join(err, <-done)
	}
}

// killBeside kills a minority of the members at a time, and starts them again.
func killBeside(ctx context.Context, b *Bed, hands *sync.Mutex) error {
	for ctx.Err() == nil {
		if err := b.killBeside(ctx, hands); err != nil {
			return err
		}
		cluster.Pause(ctx, b.between(1000*ms, 3000*ms))
	}
	return nil
}

func (b *Bed) killBeside(ctx context.Context, hands *sync.Mutex) error {
	victims := b.pick(ctx, 1+b.Random.IntN(max(1, b.minority())))
	hands.Lock()
	defer hands.Unlock()
	var killed []*cluster.Node
	for _, n := range victims {
		if n.Kill() == nil { // it may have ended by itself
			killed = append(killed, n)
		}
	}
	if len(killed) == 0 {
		return nil
	}
	end := b.Log.begin("kill", ids(killed)...)
	cluster.Pause(ctx, b.between(100*ms, 1000*ms))
	end(gone(killed))
	for _, n := range killed {
		if err := n.Start(); err != nil {
			return err
		}
	}
	return nil
}

// cutBeside splits the places at random, members or not, so that a majority of the members is together.
func cutBeside(ctx context.Context, b *Bed, _ *sync.Mutex) error {
	for ctx.Err() == nil {
		nodes := b.Cluster.Nodes()
		few := map[int]bool{}
		for _, i := range b.Random.Perm(len(nodes))[:max(1, (len(nodes)-1)/2)] {
			few[nodes[i].ID] = true
		}
		for _, n := range b.Cluster.Free() {
			few[n.ID] = b.Random.IntN(4) == 0
		}
		wait := func() { cluster.Pause(ctx, b.between(500*ms, 2000*ms)) }
		if err := b.cutFor("partition", split(b, few), wait); err != nil {
			return err
		}
		cluster.Pause(ctx, b.between(1000*ms, 3000*ms))
	}
	return nil
}
