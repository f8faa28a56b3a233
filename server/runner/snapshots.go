package runner

import (
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/rs/zerolog"

	"tenure/internal/ballot"
	"tenure/internal/clock"
	"tenure/kv"
	"tenure/server/metrics"
	"tenure/server/replica"
	"tenure/server/replica/snapshots"
	"tenure/server/wire"
	"tenure/storage"
)

// SnapshotsConfig is what a Snapshots is made of. All fields are required.
type SnapshotsConfig struct {
	Store     *storage.Store
	Log       *Log
	Disk      *Disk
	Clock     *clock.Clock
	Send      Sender
	Lifecycle *Lifecycle
	Registry  prometheus.Registerer
	Logger    zerolog.Logger
}

// Snapshots carries out the decisions of snapshots.Receiver and snapshots.Sender. One goroutine sends the
// state to nodes that are too far behind. Another one receives it when this node is too far behind. Neither holds up
// anything else.
type Snapshots struct {
	cfg    SnapshotsConfig
	pieces chan *replica.Message // for the receiver; what does not fit is asked for again
	asks   chan snapshotAsk      // for the sender

	received chan struct{} // closed when a snapshot is whole and waits for the next run
	finish   sync.Once
	status   atomic.Pointer[SnapshotStatus]
	problem  atomic.Pointer[string]
	metrics  snapshotMetrics

	// Of the receiver's goroutine:
	receiver snapshots.Receiver
	in       *storage.Receiver
	info     storage.SnapshotInfo
	began    time.Duration

	// Of the sender's:
	sender snapshots.Sender
	out    *storage.Snapshot
	pinned uint64
}

// snapshotAsk is an ask, or a node that is not connected any more.
type snapshotAsk struct {
	message *replica.Message
	lost    ballot.NodeID
}

// SnapshotStatus is a transfer to this node.
type SnapshotStatus struct {
	From              ballot.NodeID
	Slot              uint64
	Bytes, TotalBytes int64 // received, and about how many there are
	Whole             bool  // the next run begins with it
}

type snapshotMetrics struct {
	sent, received prometheus.Counter // bytes
	opened         prometheus.Counter
	given          prometheus.Counter // receptions that were given up
}

// NewSnapshots returns a Snapshots before its first round. It registers its figures.
func NewSnapshots(c SnapshotsConfig) *Snapshots {
	s := &Snapshots{
		cfg: c, pieces: make(chan *replica.Message, snapshots.MaxPieces), asks: make(chan snapshotAsk, 32),
		received: make(chan struct{}),
		metrics: snapshotMetrics{
			sent:     metrics.Counter(c.Registry, "snapshot_sent_bytes_total", "Bytes of snapshots sent to other members."),
			received: metrics.Counter(c.Registry, "snapshot_received_bytes_total", "Bytes of snapshots received."),
			opened:   metrics.Counter(c.Registry, "snapshots_opened_total", "Snapshots made of the state, to be sent."),
			given:    metrics.Counter(c.Registry, "snapshots_given_up_total", "Snapshots of which not all could be received."),
		},
	}
	metrics.Gauge(c.Registry, "snapshot_receiving_bytes", "Bytes received of the snapshot that is on its way; 0: none is.",
		nil, func() float64 {
			if v := s.Status(); v != nil {
				return float64(v.Bytes)
			}
			return 0
		})
	return s
}

// Loops returns the goroutines.
func (s *Snapshots) Loops() []Loop { return []Loop{s.receive, s.send} }

// Received is closed when a snapshot has been received whole: this run is to end, and the next one begins with it.
func (s *Snapshots) Received() <-chan struct{} { return s.received }

// Status returns the transfer to this node, nil if there is none.
func (s *Snapshots) Status() *SnapshotStatus { return s.status.Load() }

// Problem says why this node, which is too far behind, does not receive a snapshot, or is "".
func (s *Snapshots) Problem() string {
	if p := s.problem.Load(); p != nil {
		return *p
	}
	return ""
}

// handle handles a message of a peer. It never waits.
func (s *Snapshots) handle(m *replica.Message) {
	if m.Kind == replica.KindSnapshotPiece {
		select {
		case s.pieces <- m:
		default: // it is asked for again
		}
		return
	}
	s.ask(snapshotAsk{message: m})
}

// disconnected is told that a peer is not connected any more.
func (s *Snapshots) disconnected(peer ballot.NodeID) { s.ask(snapshotAsk{lost: peer}) }

func (s *Snapshots) ask(a snapshotAsk) {
	select {
	case s.asks <- a:
	default: // a node that gets no answer asks again; the sender gives up a node that is gone
	}
}

// receive gets snapshots for this node until one is whole.
func (s *Snapshots) receive(stop <-chan struct{}) error {
	ticker := time.NewTicker(snapshots.TickEvery)
	defer ticker.Stop()
	defer s.abort()
	for {
		var step snapshots.Step
		select {
		case <-stop:
			return nil
		case <-ticker.C:
			step = s.receiver.Tick(s.cfg.Clock.Now(), s.view())
		case m := <-s.pieces:
			step = s.receiver.Take(s.cfg.Clock.Now(), m.From, m.Snapshot)
		}
		if s.carryOut(step) {
			s.finish.Do(func() { close(s.received) })
			return nil
		}
		s.publish()
	}
}

// view is what the receiver goes by.
func (s *Snapshots) view() snapshots.View { return s.cfg.Log.View().SnapshotView() }

// carryOut does what there is to do, and reports whether a snapshot is whole.
func (s *Snapshots) carryOut(step snapshots.Step) (whole bool) {
	for {
		if step.Problem != "" {
			s.cfg.Logger.Warn().Msg(step.Problem)
		}
		if step.Abort {
			s.metrics.given.Inc()
			s.abort()
		}
		if step.Send != nil {
			s.sendMessage(replica.KindSnapshotAsk, step.Send)
		}
		if step.Add == nil {
			return false
		}
		result := s.add(&step)
		if result == snapshots.Done && step.Finish {
			return true
		}
		step = s.receiver.Did(s.cfg.Clock.Now(), result)
	}
}

// add writes what has come.
func (s *Snapshots) add(step *snapshots.Step) snapshots.Result {
	err := s.begin(step.Begin)
	if err == nil {
		err = s.in.Add(step.Add)
	}
	if err == nil && step.Finish {
		in := s.in
		s.in = nil // whatever Finish returns
		err = in.Finish()
	}
	switch {
	case err == nil:
		s.metrics.received.Add(float64(len(step.Add)))
		if step.Finish {
			s.whole()
		}
		return snapshots.Done
	case errors.Is(err, storage.ErrBadPiece) && step.Begin == nil:
		s.cfg.Logger.Debug().Err(err).Msg("a piece of a snapshot is asked for again")
		return snapshots.Bad
	}
	s.cfg.Logger.Error().Err(err).Msg("the snapshot cannot be received")
	problem := fmt.Sprintf("this node lacks what the others have truncated, and cannot receive their state: %v", err)
	s.problem.Store(&problem)
	if errors.Is(err, storage.ErrNoSpace) {
		return snapshots.NoSpace
	}
	return snapshots.Failed
}

// begin begins to receive the snapshot of header, unless that is nil.
func (s *Snapshots) begin(header []byte) (err error) {
	if header == nil {
		if s.in == nil {
			return fmt.Errorf("%w: nothing was begun", storage.ErrBadPiece)
		}
		return nil
	}
	if s.info, err = storage.ParseSnapshot(header); err != nil {
		return err
	}
	if err := kv.CheckMeta(uint64(s.info.Slot), s.info.Meta); err != nil { // before the old state gives way to it
		return fmt.Errorf("%w: this version cannot open the state of slot %d", storage.ErrBadPiece, s.info.Slot)
	}
	s.abort()
	if s.in, err = s.cfg.Store.Receive(header); err != nil {
		s.in = nil
		return err
	}
	s.began = s.cfg.Clock.Now()
	s.cfg.Logger.Info().Uint64("from", uint64(s.receiver.From())).Uint64("slot", uint64(s.info.Slot)).
		Int64("bytes", s.info.Bytes).Msg("receiving a snapshot: the others' logs do not reach back to this node's state")
	return nil
}

// whole notes that the snapshot waits for the next run.
func (s *Snapshots) whole() {
	s.status.Store(&SnapshotStatus{From: s.receiver.From(), Slot: uint64(s.info.Slot), Bytes: s.info.Bytes,
		TotalBytes: s.info.Bytes, Whole: true})
	s.cfg.Logger.Info().Uint64("slot", uint64(s.info.Slot)).Dur("took", s.cfg.Clock.Now()-s.began).
		Msg("the snapshot is whole: this node begins anew with it")
}

// abort drops what was received.
func (s *Snapshots) abort() {
	if s.in != nil {
		if err := s.in.Abort(); err != nil {
			s.cfg.Logger.Warn().Err(err).Msg("what was received of a snapshot is still there")
		}
		s.in = nil
	}
}

// publish shows the transfer.
func (s *Snapshots) publish() {
	if !s.cfg.Log.View().Behind {
		s.problem.Store(nil)
	}
	if s.in == nil {
		s.status.Store(nil)
		return
	}
	s.problem.Store(nil)
	s.status.Store(&SnapshotStatus{From: s.receiver.From(), Slot: uint64(s.info.Slot), Bytes: int64(s.in.Offset()),
		TotalBytes: s.info.Bytes})
}

func (s *Snapshots) sendMessage(kind replica.MessageKind, out *snapshots.Outgoing) bool {
	return s.cfg.Send.SendLog(out.To, wire.EncodeReplica(&replica.Message{Kind: kind, To: out.To, Snapshot: out.Message}))
}
