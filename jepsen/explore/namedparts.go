package explore

import (
	"encoding/binary"
	"math"
	"time"

	"tenure/internal/leasehold"
	"tenure/lease/named"
)

// namedClient is a client in one local state: one acquisition at a time, with what it was granted of it.
type namedClient struct {
	hold     leasehold.Hold
	now      time.Duration
	who      uint8
	begun    uint8 // acquisitions so far; the last one goes on, or is over
	asked    uint8 // asks so far, of all acquisitions
	released bool
	asks     []namedAsk // of the acquisition
	held     bool
}

type namedAsk struct {
	at      time.Duration
	ttl     time.Duration
	renewal bool
}

// namedNode is a node that clients ask, in one local state: an attempt for each client.
type namedNode struct {
	attempts [2]askAttempt
	now      time.Duration
	who      uint8
	run      uint8
	counter  uint64 // the highest drawn in this run
	over     uint8  // the membership in force, counted from 0
	lived
}

// askAttempt is an attempt for an ask. Once it is over it stays only while it may be withdrawn.
type askAttempt struct {
	attempt    named.Attempt
	on         bool
	begun, ask uint8
}

// namedTable is an acceptor in one local state, with the entries of the log that give eras to runs of its node.
type namedTable struct {
	table  *named.Table
	now    time.Duration
	run    uint8
	eras   []eraEntry
	sweeps time.Duration // since the last tick: each goes a little further, so that what is over by now is dropped
	// The durable bucket, and the one that is being written (N4).
	disk, writing named.Bucket
	// The membership in force, durable before it is, and its era; 0: there is one only.
	member, memberEra uint32
}

type eraEntry struct {
	run uint8
	era uint32
}

// namedMail is a message: a request to all acceptors, a reply, a grant to a client, or what a client asks of a node, at
// once.
type namedMail struct {
	kind    mailKind
	request named.Request
	reply   named.Reply
	acc     uint8 // reply: the acceptor
	node    uint8 // request, reply: whose
	run     uint8 // request, reply: the node's run
	who     uint8 // ask, grant: the client
	begun   uint8 // ask, grant: its acquisition
	ask     uint8 // ask, grant
	renewal bool
	token   named.Token // grant
}

type mailKind uint8

const (
	mailRequest mailKind = iota + 1
	mailReply
	mailGrant
	mailAsk
)

// namedPast is what has been: of each name the last holder with its largest token, and the largest of all before it.
type namedPast struct {
	names  [2]pastHolder
	broken string
}

type pastHolder struct {
	who, begun    uint8
	last, earlier named.Token
}

// client returns the number of a client. What its token was matters to the history only once it is over.
func (l *namedModel) client(x namedClient) uint32 {
	x.held = x.hold.Held(x.now)
	key := append(l.clients.buffer(), 'c', x.who, x.begun, x.asked, flags(x.released, x.hold.Token() != 0))
	key = binary.AppendUvarint(key, uint64(max(0, x.hold.Deadline()-x.now)))
	if x.held {
		key = binary.AppendUvarint(key, x.hold.Token())
	}
	for _, a := range x.asks {
		key = append(key, flags(a.renewal, false), byte(l.left(x, a)/ms))
	}
	return l.clients.number(key, x)
}

func (l *namedModel) left(x namedClient, a namedAsk) time.Duration {
	return max(0, a.at+a.ttl-x.now)
}

func flags(a, b bool) (f byte) {
	if a {
		f = 1
	}
	if b {
		f |= 2
	}
	return f
}

// node returns the number of a node. Attempts whose time is over are given up at once: they could win nothing.
func (l *namedModel) node(x namedNode) uint32 {
	key := append(l.nodes.buffer(), 'n', x.who, x.run, byte(x.counter), x.over)
	for i := range x.attempts {
		f := &x.attempts[i]
		f.attempt.Requests(x.now)
		_, undo := f.attempt.Withdrawal()
		switch {
		case !f.on || (f.attempt.Phase() == named.Over && !(undo && l.c.Withdraw)):
			*f = askAttempt{}
			key = append(key, 0)
		case f.attempt.Phase() == named.Over:
			q, _ := f.attempt.Withdrawal()
			key = append(binary.AppendUvarint(append(key, 1), q.Counter), f.begun)
		default:
			key = append(f.attempt.AppendState(append(key, 2), x.now), f.begun, f.ask)
		}
	}
	return l.nodes.number(key, x)
}

// acceptor returns the number of an acceptor.
func (l *namedModel) acceptor(x namedTable) uint32 {
	key := append(l.tables.buffer(), 't', x.run, byte(x.member), byte(x.memberEra), byte(len(x.eras)))
	for _, e := range x.eras {
		key = binary.AppendUvarint(append(key, e.run), uint64(e.era))
	}
	for _, b := range [...]named.Bucket{x.disk, x.writing} {
		key = binary.AppendUvarint(binary.AppendUvarint(key, uint64(b.Length)), uint64(b.Quarantine))
	}
	return l.tables.number(x.table.AppendState(key, x.now), x)
}

// bootstrap returns an acceptor that is older than all that is explored.
func (l *namedModel) bootstrap(i uint8) uint32 {
	era := uint32(1)
	if l.c.OwnEras {
		era += uint32(i)
	}
	x := namedTable{disk: l.plan(named.Bucket{}, true).AtStart, eras: []eraEntry{{0, era}}}
	x.table = l.table(0, x)
	x.table.Open(era)
	if l.c.UsedUp {
		q := named.Request{Kind: named.Accept, Name: leaseName(7), Counter: 1, Acquisition: named.Acquisition{7},
			Duration: ms,
			Token:    named.FirstToken(era) + math.MaxUint32 - 1}
		x.table.Handle(0, incarnation(0, 0), q)
		x.now = time.Second
		x.table.Sweep(x.now, sweepAll)
	}
	return l.acceptor(x)
}

func (l *namedModel) restarted(x namedTable) uint32 {
	p := l.plan(x.disk, false)
	next := namedTable{run: x.run + 1, eras: x.eras, disk: p.AtStart, member: x.member, memberEra: x.memberEra}
	next.table = l.table(p.Silence, next)
	next.table.CountOlder(sweepAll)
	return l.acceptor(next)
}

// plan is what a run's start makes of what is durable. Without buckets that is M's quarantine, and nothing is durable
// but that.
func (l *namedModel) plan(disk named.Bucket, bootstrap bool) named.BucketPlan {
	p, err := named.PlanBucket(disk, l.c.timing(), bootstrap)
	if err != nil {
		panic(err)
	}
	if l.c.LongLease == 0 {
		p.AtStart = named.Bucket{}
	}
	return p
}

const sweepAll = 1 << 10

// table begins at the reading 0. Its Width is so small that a sweep a moment after a reading finds all that is over by
// then.
func (l *namedModel) table(silentUntil time.Duration, x namedTable) *named.Table {
	t, err := named.NewTable(named.Config{Timing: l.c.timing(), SilentUntil: silentUntil, Bucket: x.disk, MaxRecords: 16,
		Width: 1, Membership: uint64(x.member), Era: x.memberEra}, 0)
	if err != nil {
		panic(err)
	}
	return t
}

// mail returns the number of a message. How much of a lease is left is a hint.
func (l *namedModel) mail(m namedMail) uint32 {
	m.reply.LiveLeft = 0
	key := append(l.mails.buffer(), 'm', byte(m.kind), m.acc, m.node, m.run, m.who, m.begun, m.ask, flags(m.renewal,
		m.reply.Live))
	for _, n := range []uint64{uint64(m.token), m.request.Counter, uint64(m.request.Token), uint64(m.request.Duration),
		m.reply.Counter, m.reply.Promised,
		uint64(m.reply.Report), uint64(m.reply.LiveToken), m.request.Membership, m.reply.Membership} {
		key = binary.AppendUvarint(key, n)
	}
	key = append(key, byte(m.request.Kind), m.request.Name[0], byte(m.reply.Kind), m.reply.Name[0])
	key = append(append(key, m.request.Acquisition[:2]...), m.reply.LiveAcquisition[:2]...)
	return l.mails.number(key, m)
}

func (l *namedModel) past(x namedPast) uint32 {
	key := append(l.pasts.buffer(), 'p')
	for _, h := range x.names {
		key = binary.AppendUvarint(append(key, h.who, h.begun), uint64(h.last))
		key = binary.AppendUvarint(key, uint64(h.earlier))
	}
	return l.pasts.number(append(key, x.broken...), x)
}
