package script

import (
	"errors"
	"fmt"
	"strings"
	"time"

	"tenure/kv"
	"tenure/server/replica"
)

// Do implements Stage.
//
//	write N LABEL KEY VALUE [wait=D]           a client asks node N, and waits so long
//	read N LABEL KEY [consistent=yes] [wait=D] the same
//	pause N [POINT]                            the process stops there, with its clock running on: between-rounds,
//	                                           before-propose or before-answer (see pausePoint)
//	resume N                                   it goes on where it was; what came meanwhile comes now
//	watch accepts=yes|no                       tell every Accept of the log that is sent
//	run to=T                                   time passes, up to T
//	get KEY                                    what each node has applied
//	want master=N|none                         fails if it is not so, as do the others
//	want of=LABEL answer=A                     A is done, refused, unknown, none yet, or the value read
//	want key=KEY value=VALUE                   every node has applied it
//	want settled=yes                           the nodes have applied the same slots to the same state
func (w *cluster) Do(c *Command) ([]string, error) {
	do, ok := clusterCommands[c.Name]
	if !ok {
		return nil, fmt.Errorf("%w: %s", ErrUsage, c.Name)
	}
	err := errors.Join(do(w, c), c.End())
	if !errors.Is(err, w.broken) {
		err = errors.Join(err, w.broken)
	}
	w.broken = nil
	return w.tell.take(), err
}

var clusterCommands = map[string]func(*cluster, *Command) error{
	"write": (*cluster).write, "read": (*cluster).readKey, "get": (*cluster).getAll,
	"pause": (*cluster).pause, "resume": (*cluster).resume,
	"run": (*cluster).run, "watch": (*cluster).watchAccepts, "want": (*cluster).want,
}

func (w *cluster) node(c *Command) *replicaNode { return w.nodes[c.Node(len(w.nodes))-1] }

// defaultWait is how long clients wait: longer than any story's pause.
const defaultWait = time.Minute

// label files a request under its label and draws its id.
func (nd *replicaNode) label(label string) (id uint64) {
	nd.nextID++
	nd.labels[nd.nextID] = label
	return nd.nextID
}

// answered tells of an answer, and keeps it for a want.
func (w *cluster) answered(nd *replicaNode, label, answer, more string) {
	w.answers[label] = answer
	w.tell.say(w.now, "%d answers %s: %s", nd.id, label, answer+more)
}

func (w *cluster) write(c *Command) error {
	nd, label := w.node(c), c.Word("a label")
	cmd := kv.Command{Op: kv.OpSet, Key: c.Word("a key"), Value: []byte(c.Word("a value"))}
	until := w.read(nd) + c.Time("wait", defaultWait)
	nd.input(&replica.Event{Write: &replica.Write{ID: nd.label(label), Command: kv.EncodeCommand(&cmd),
		Until: until}})
	return nil
}

func (w *cluster) readKey(c *Command) error {
	nd, label, key := w.node(c), c.Word("a label"), c.Word("a key")
	id := nd.label(label)
	nd.reads[id] = key
	nd.input(&replica.Event{Read: &replica.ReadRequest{ID: id, Consistent: c.Text("consistent", "no") == "yes",
		Until: w.read(nd) + c.Time("wait", defaultWait)}})
	return nil
}

func (w *cluster) pause(c *Command) error {
	nd := w.node(c)
	nd.at = betweenRounds
	if c.More() {
		nd.at = pausePoint(c.Word("a point"))
	}
	if nd.paused || nd.at != betweenRounds && nd.at != beforePropose && nd.at != beforeAnswer {
		return fmt.Errorf("%w: node %d cannot be paused at %s", ErrUsage, nd.id, nd.at)
	}
	nd.paused = true
	w.tell.say(w.now, "%d is paused", nd.id)
	if nd.at == betweenRounds {
		return nil
	}
	for _, m := range w.network.takeIf(w.now, func(m envelope) bool { return m.to == nd.id }) {
		if err := w.receive(nd, m); err != nil {
			return err
		}
	}
	w.begin(nd)
	return w.goOn(nd, nd.at)
}

func (w *cluster) resume(c *Command) (err error) {
	nd := w.node(c)
	if !nd.paused {
		return fmt.Errorf("%w: node %d is not paused", ErrUsage, nd.id)
	}
	nd.paused = false
	w.tell.say(w.now, "%d goes on", nd.id)
	if nd.within {
		err = w.goOn(nd, betweenRounds)
	}
	for _, m := range nd.held {
		w.network.post(w.now, m)
	}
	nd.held = nil
	return err
}

func (w *cluster) run(c *Command) error {
	to := c.Time("to", w.now)
	if to < w.now || to%step != 0 {
		return fmt.Errorf("%w: from %s to %s in steps of %v", ErrUsage, stamp(w.now), stamp(to), step)
	}
	for w.now < to {
		if err := w.oneStep(); err != nil {
			return err
		}
	}
	return nil
}

func (w *cluster) watchAccepts(c *Command) error {
	w.watch = c.Text("accepts", "no") == "yes"
	return nil
}

func (w *cluster) getAll(c *Command) error {
	key := c.Word("a key")
	var all []string
	for _, nd := range w.nodes {
		all = append(all, fmt.Sprintf("%d: %s", nd.id, w.get(nd, key)))
	}
	w.tell.say(w.now, "%s at %s", key, strings.Join(all, ", "))
	return nil
}

// serving is who holds the lease and is ready, by the clock and not by what a paused node may think.
func (w *cluster) serving() (name string, epoch uint64) {
	name = none
	for _, nd := range w.nodes {
		t, ready := nd.pub.Begin()
		if !ready || !nd.pub.End(t, w.read(nd)) {
			continue
		}
		if name != none {
			w.fail("both %s and %d are master", name, nd.id)
		}
		name, epoch = fmt.Sprint(nd.id), nd.pub.Epoch
	}
	return name, epoch
}

// notice tells of a change of master.
func (w *cluster) notice() {
	name, epoch := w.serving()
	if name == w.master {
		return
	}
	w.master = name
	if name == none {
		w.tell.say(w.now, "nobody is master")
	} else {
		w.tell.say(w.now, "%s is master, epoch %d", name, epoch)
	}
}

func (w *cluster) want(c *Command) error {
	if want := c.Text("master", ""); want != "" {
		if got, _ := w.serving(); got != want {
			return fmt.Errorf("at %s the master is %s, not %s", stamp(w.now), got, want)
		}
	}
	if label := c.Text("of", ""); label != "" {
		if got, want := w.answers[label], c.Text("answer", ""); got != want {
			return fmt.Errorf("at %s the answer of %s is %s, not %s", stamp(w.now), label, got, want)
		}
	}
	if key := c.Text("key", ""); key != "" {
		want := c.Text("value", "")
		for _, nd := range w.nodes {
			if got := w.get(nd, key); got != want {
				return fmt.Errorf("at %s node %d has applied %s = %s, not %s", stamp(w.now), nd.id, key, got, want)
			}
		}
	}
	if c.Text("settled", "no") == "yes" {
		return w.settled()
	}
	return nil
}

func (w *cluster) settled() error {
	first := w.nodes[0]
	want, err := first.state.Digest()
	if err != nil {
		return err
	}
	for _, nd := range w.nodes {
		got, err := nd.state.Digest()
		if err != nil {
			return err
		}
		if nd.state.Applied() != first.state.Applied() || got != want {
			return fmt.Errorf("nodes 1 and %d differ: %d and %d slots are applied", nd.id, first.state.Applied(),
				nd.state.Applied())
		}
	}
	return nil
}
