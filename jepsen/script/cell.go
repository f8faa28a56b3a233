package script

import (
	"errors"
	"fmt"
	"time"

	"tenure/internal/ballot"
	"tenure/internal/quorum"
	"tenure/lease"
)

// cell is a PaxosLease cell in virtual time. Node 1 runs proposer 1 and acceptor A, node 2 runs 2 and B, and so on; a
// message from a node to itself is on its way like any other. Nothing happens by itself: attempts, renewals and
// resends are the script's.
type cell struct {
	now      time.Duration
	timing   lease.Timing
	duration time.Duration // D_P
	nodes    []*cellNode
	delay    [][]time.Duration // between a proposer and an acceptor, either way
	cut      [][]bool
	network  network[[]byte] // bodies, as package wire makes them
	tell     teller
	broken   error // a rule that the stage watches did not hold
}

// cellNode is a process: its parts, its clock, and the start record on its disk.
type cellNode struct {
	id       ballot.NodeID
	up       bool
	restart  uint64
	offset   time.Duration // its clock reads that much more than the script's time
	started  time.Duration // reading of its clock
	plan     lease.Quarantine
	proposer *lease.Proposer
	acceptor *lease.Acceptor
	// As last told, to notice what time alone has ended.
	owned, live, silent bool
}

// maxCellNodes is as many as there are voters and letters to name acceptors.
const maxCellNodes = quorum.MaxVoters

func openCell(c *Command) (Stage, error) {
	n := int(c.Number("nodes", 3))
	w := &cell{duration: c.Time("lease", 5*time.Second)}
	longest := c.Time("longest", w.duration)
	w.timing = lease.Timing{MaxMaster: longest, MaxUser: longest, DriftPPM: c.Number("drift", 0),
		Margin: c.Time("margin", 0)}
	message := c.Time("message", 500*time.Millisecond)
	own := c.Time("own", message)
	if n < 1 || n > maxCellNodes {
		return nil, fmt.Errorf("%w: a cell of %d nodes", ErrUsage, n)
	}
	w.delay, w.cut = links(n, message, own)
	for i := range n {
		nd := &cellNode{id: ballot.NodeID(i + 1), offset: time.Duration(i+1) * time.Hour}
		w.nodes = append(w.nodes, nd)
	}
	for _, nd := range w.nodes {
		if err := w.boot(nd, 0, true); err != nil {
			return nil, err
		}
	}
	return w, nil
}

// links are n by n delays, those of nodes to themselves apart, and as many places for cuts.
func links(n int, message, own time.Duration) ([][]time.Duration, [][]bool) {
	delay, cut := make([][]time.Duration, n), make([][]bool, n)
	for i := range n {
		delay[i], cut[i] = make([]time.Duration, n), make([]bool, n)
		for j := range n {
			delay[i][j] = message
		}
		delay[i][i] = own
	}
	return delay, cut
}

// boot starts a run of nd's process over what the start record holds (A4).
func (w *cell) boot(nd *cellNode, stored time.Duration, bootstrap bool) error {
	nd.restart++
	nd.up = true
	nd.started = w.read(nd)
	var voters quorum.Set
	for _, o := range w.nodes {
		voters.Add(o.id)
	}
	self := ballot.Incarnation{Node: nd.id, Restart: nd.restart, Nonce: uint64(nd.id)<<32 | nd.restart}
	var planned, made, accepts error
	nd.plan, planned = lease.PlanQuarantine(stored, w.timing, bootstrap)
	nd.proposer, made = lease.NewProposer(lease.ProposerConfig{Self: self,
		Duration: w.duration, Voters: voters, Timing: w.timing})
	nd.acceptor, accepts = lease.NewAcceptor(lease.AcceptorConfig{Self: nd.id, Timing: w.timing,
		SilentUntil: nd.plan.Deadline(nd.started)})
	if err := errors.Join(planned, made, accepts); err != nil {
		return err
	}
	w.look(nd)
	return nil
}

// read is nd's clock now.
func (w *cell) read(nd *cellNode) time.Duration { return w.now + nd.offset }

func (w *cell) node(id ballot.NodeID) *cellNode { return w.nodes[id-1] }

// look takes note of what nd is, and tells nothing.
func (w *cell) look(nd *cellNode) {
	nd.owned, nd.live, nd.silent = false, false, false
	if !nd.up {
		return
	}
	_, nd.owned = nd.proposer.Held(w.read(nd))
	_, nd.live = nd.acceptor.Live(w.read(nd))
	nd.silent = nd.acceptor.QuarantineLeft(w.read(nd)) > 0
}

// owner is who owns at this moment, nil if nobody does. Two are a broken rule.
func (w *cell) owner() *cellNode {
	var found *cellNode
	for _, nd := range w.nodes {
		if !nd.up {
			continue
		}
		if _, held := nd.proposer.Held(w.read(nd)); !held {
			continue
		}
		if found != nil && w.broken == nil {
			w.broken = fmt.Errorf("at %s both %d and %d own the lease", stamp(w.now), found.id, nd.id)
		}
		found = nd
	}
	return found
}
