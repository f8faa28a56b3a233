package explore

import (
	"encoding/binary"
	"fmt"
	"maps"
	"slices"

	"tenure/internal/ballot"
	"tenure/multipaxos"
)

// logDisk is what a node has made durable. Entries are never changed in place.
type logDisk struct {
	promised ballot.Ballot
	chosen   multipaxos.Slot
	last     multipaxos.Slot
	entries  map[multipaxos.Slot]multipaxos.Entry
}

// with returns the disk after p.
func (d *logDisk) with(p multipaxos.Persist) *logDisk {
	n := *d
	n.entries = maps.Clone(d.entries)
	n.promised = d.promised.Max(p.Promised)
	for _, e := range p.Entries {
		n.entries[e.Slot] = e
		n.last = max(n.last, e.Slot)
	}
	n.chosen = max(n.chosen, p.Chosen)
	return &n
}

// Entries implements multipaxos.Reader.
func (d *logDisk) Entries(from, through multipaxos.Slot, maxBytes int) ([]multipaxos.Entry, error) {
	var out []multipaxos.Entry
	size := 0
	for s := from; s <= through && s <= d.last && size < maxBytes; s++ {
		if e, ok := d.entries[s]; ok {
			out = append(out, e)
			size += len(e.Value)
		}
	}
	return out, nil
}

// nodePart is a node in one local state: its core, its disk, and what is on the way to the disk.
type nodePart struct {
	core     *multipaxos.Core
	disk     *logDisk
	pending  []multipaxos.Persist
	who      uint8
	runs     uint8 // crashes
	leads    uint8 // attempts to lead in all runs
	proposed uint8 // values in this run
	// recent are the messages that arrived since the disk last had no pending writes. They do not arrive again before
	// it has none: otherwise replies that wait for the disk would pile up without end.
	recent []uint32
	chosen []byte
	broken string
}

func appendBallot(b []byte, x ballot.Ballot) []byte {
	b = binary.AppendUvarint(b, x.Counter)
	b = binary.AppendUvarint(b, x.Restart)
	return binary.AppendUvarint(b, uint64(x.Node))
}

func appendEntry(b []byte, e multipaxos.Entry) []byte {
	b = appendBallot(binary.AppendUvarint(b, uint64(e.Slot)), e.Ballot)
	b = binary.AppendUvarint(b, uint64(len(e.Value)))
	return append(b, e.Value...)
}

// node returns the number of a node.
func (l *logModel) node(x nodePart) uint32 {
	key := append(l.nodes.buffer(), 'n', x.who, x.runs, x.leads, x.proposed)
	if x.broken != "" {
		key = append(key, x.broken...)
	} else {
		key = x.core.AppendState(key)
		key = appendBallot(append(key, 'd'), x.disk.promised)
		key = binary.AppendUvarint(key, uint64(x.disk.chosen))
		for _, s := range slices.Sorted(maps.Keys(x.disk.entries)) {
			key = appendEntry(key, x.disk.entries[s])
		}
		var recent digest
		for _, id := range x.recent {
			recent = recent.plus(l.messages.sum(id))
		}
		key = binary.LittleEndian.AppendUint64(append(key, 'r'), recent.lo)
		for _, p := range x.pending {
			key = binary.AppendUvarint(appendBallot(append(key, 'p'), p.Promised), uint64(p.Chosen))
			for _, e := range p.Entries {
				key = appendEntry(key, e)
			}
		}
	}
	return l.nodes.number(key, x)
}

// boot starts a run of x over its disk.
func (l *logModel) boot(x nodePart) uint32 {
	var err error
	x.core, err = multipaxos.New(multipaxos.Config{
		Self:      ballot.Incarnation{Restart: uint64(x.runs) + 1, Node: ballot.NodeID(x.who) + 1, Nonce: 1},
		PageBytes: 1 << 16, WindowEntries: 16, WindowBytes: 1 << 16, CacheBytes: 1 << 20, MembershipOf: l.membershipOf,
	}, l.c.base(ballot.NodeID(x.who)+1), multipaxos.Durable{Promised: x.disk.promised, Chosen: x.disk.chosen, Last: x.disk.last}, x.disk)
	x.pending, x.recent, x.proposed = nil, nil, 0
	if err != nil {
		x.broken = err.Error()
		return l.node(x)
	}
	id, _ := l.settle(x)
	return id
}

// settle takes the output of a step: writes wait for the disk, and chosen entries are applied at once.
func (l *logModel) settle(x nodePart) (id, out uint32) {
	x.core.Applied(x.core.Chosen())
	o := x.core.Take()
	x.pending = append(slices.Clone(x.pending), o.Persists...)
	if len(x.pending) == 0 {
		x.recent = nil
	}
	x.chosen = nil
	entries, err := x.core.ChosenEntries(1, 1<<20)
	if err != nil {
		x.broken = err.Error()
	}
	for _, e := range entries {
		x.chosen = append(append(x.chosen, e.Value...), ';')
	}
	var sent []uint32
	for _, m := range o.Messages {
		sent = append(sent, l.message(m))
	}
	if len(sent) > 0 {
		out = l.sets.of(sent)
	}
	return l.node(x), out
}

func (l *logModel) message(m multipaxos.Message) uint32 {
	return l.messages.number(m.AppendState(append(l.messages.buffer(), 'm')), m)
}

func (l *logModel) value(x *nodePart) []byte {
	return fmt.Appendf(nil, "%d.%d.%d", x.who+1, x.runs, x.proposed)
}
