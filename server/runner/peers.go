package runner

import (
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/rs/zerolog"

	"tenure/internal/ballot"
	"tenure/internal/clock"
	"tenure/server/metrics"
	"tenure/server/replica"
	"tenure/server/replica/elector"
	"tenure/server/replica/leases"
	"tenure/server/wire"
)

// Questions takes the questions of other nodes, and their answers. Its methods must not wait.
type Questions interface {
	// Asked takes a question that another node has put to this one.
	Asked(from ballot.NodeID, q wire.Question)
	// Answered takes the answer to a question that this node has put to another one.
	Answered(from ballot.NodeID, a wire.Answer)
}

// Archive takes what the node that archives says. Its method must not wait.
type Archive interface {
	Told(from ballot.NodeID, a wire.Archived)
}

// PeersConfig is what a Peers is made of. All fields but Archive are required.
type PeersConfig struct {
	Self      ballot.NodeID
	LeaseTime time.Duration
	Clock     *clock.Clock
	Elector   *Elector
	Log       *Log
	Leases    *Leases
	Health    *Health
	Questions Questions
	Clocks    *Clocks
	Snapshots *Snapshots
	Archive   Archive // nil: this node has no archive
	Registry  prometheus.Registerer
	Logger    zerolog.Logger
}

// Peers decodes what peers say and brings it to the runners. It implements transport.Handler.
type Peers struct {
	cfg       PeersConfig
	malformed prometheus.Counter
}

// NewPeers returns a Peers. It registers its figures.
func NewPeers(c PeersConfig) *Peers {
	return &Peers{cfg: c,
		malformed: metrics.Counter(c.Registry, "peer_frames_malformed_total", "Frames that could not be decoded.")}
}

// Connected and Disconnected follow the connections. Only that of the log matters to anybody.
func (p *Peers) Connected(peer ballot.NodeID, kind wire.Kind) {
	switch kind {
	case wire.KindLog:
		p.cfg.Log.inbox.put(logEvent{Event: replica.Event{Up: peer}})
	case wire.KindLease:
		p.cfg.Clocks.connected(peer)
	}
}

// Disconnected is the end of a connection to a peer.
func (p *Peers) Disconnected(peer ballot.NodeID, kind wire.Kind) {
	if kind == wire.KindLog {
		p.cfg.Log.inbox.put(logEvent{Event: replica.Event{Down: peer}})
		p.cfg.Snapshots.disconnected(peer)
	}
}

// LogFrame takes a frame from the log connection of a peer.
func (p *Peers) LogFrame(from ballot.NodeID, _ ballot.Incarnation, body []byte, more bool) {
	b, err := wire.DecodeLog(body, from, p.cfg.Self)
	if !p.decoded(from, err) {
		return
	}
	switch { // the log part and the snapshots decide themselves what they take from outsiders
	case b.Log != nil:
		p.cfg.Log.inbox.putPeer(logEvent{Event: replica.Event{Log: b.Log}}, more)
	case b.Replica != nil && b.Replica.Snapshot != nil:
		p.cfg.Snapshots.handle(b.Replica)
	case b.Replica != nil:
		p.cfg.Log.inbox.putPeer(logEvent{Event: replica.Event{Peer: b.Replica}}, more)
	case p.outsider(from):
	case b.Question != nil:
		p.cfg.Questions.Asked(from, *b.Question)
	case b.Answer != nil:
		p.cfg.Questions.Answered(from, *b.Answer)
	case b.Archived != nil && p.cfg.Archive != nil:
		p.cfg.Archive.Told(from, *b.Archived)
	}
}

// LeaseFrame takes a frame from the lease connection of a peer.
func (p *Peers) LeaseFrame(from ballot.NodeID, _ ballot.Incarnation, body []byte) {
	b, err := wire.DecodeLease(body)
	if !p.decoded(from, err) {
		return
	}
	switch { // the elector decides itself what it takes from outsiders
	case b.Message != nil:
		if b.Message.From == from && b.Message.To == p.cfg.Self {
			p.cfg.Elector.put(elector.Event{Message: b.Message})
		}
	case p.outsider(from):
	case b.Clock != nil:
		p.cfg.Clocks.Hear(from, *b.Clock)
	case b.Nudge != nil && ballot.NodeID(b.Nudge.Node) == p.cfg.Self:
		p.cfg.Elector.put(elector.Event{Nudged: true})
	case b.Nudge != nil:
		p.cfg.Elector.put(elector.Event{StandBack: replica.NudgeStandBack(p.cfg.LeaseTime)})
	default:
		p.cfg.Health.Hear(p.cfg.Clock.Now(), from, *b.Health)
	}
}

// NamedFrame takes a frame of named leases from a peer.
func (p *Peers) NamedFrame(from ballot.NodeID, inc ballot.Incarnation, body []byte, more bool) {
	b, err := wire.DecodeNamed(body)
	if p.decoded(from, err) && !p.outsider(from) {
		p.cfg.Leases.inbox.putPeer(leasesEvent{Event: leases.Event{Batch: b, From: inc}}, more)
	}
}

// CrashReleased takes what a peer's guardian says of its dead process.
func (p *Peers) CrashReleased(owner ballot.Incarnation, counters []uint64) {
	p.cfg.Elector.put(elector.Event{Crash: &elector.Crash{Owner: owner, Counters: counters}})
}

// outsider reports whether the newest membership known here does not list a peer (replica/outsiders.go).
func (p *Peers) outsider(from ballot.NodeID) bool { return !p.cfg.Log.View().Lists(from) }

// decoded reports whether a frame could be decoded, and counts it if not. The peer's handshake was right and its type
// is known (transport ignores others): a malformed frame is a fault of one of the two programs, never of a user.
func (p *Peers) decoded(from ballot.NodeID, err error) bool {
	if err == nil {
		return true
	}
	p.malformed.Inc()
	p.cfg.Logger.Debug().Err(err).Uint64("from", uint64(from)).Msg("dropped a frame that cannot be decoded")
	return false
}
