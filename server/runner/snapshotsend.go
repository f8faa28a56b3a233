package runner

import (
	"errors"
	"time"

	"tenure/server/replica"
	"tenure/server/replica/snapshots"
	"tenure/storage"
)

// send sends snapshots to those who ask, until stop is closed.
func (s *Snapshots) send(stop <-chan struct{}) error {
	timer := time.NewTimer(0)
	defer timer.Stop()
	defer s.closeSnapshot()
	for {
		select {
		case <-stop:
			return nil
		case a := <-s.asks:
			s.asked(a)
			continue
		default:
		}
		step := s.sender.Next(s.cfg.Clock.Now(), s.senderView())
		s.pin(step.Pin)
		if step.Wait == 0 {
			if err := s.serve(&step); err != nil {
				return err
			}
			continue
		}
		timer.Reset(step.Wait)
		select {
		case <-stop:
			return nil
		case a := <-s.asks:
			s.asked(a)
		case <-timer.C:
		}
	}
}

func (s *Snapshots) asked(a snapshotAsk) {
	if a.message == nil {
		s.sender.Lost(a.lost)
		return
	}
	s.sender.Ask(s.cfg.Clock.Now(), a.message.From, a.message.Snapshot)
}

func (s *Snapshots) senderView() snapshots.SenderView {
	log := s.cfg.Log.View()
	return snapshots.SenderView{
		Checkpointed: uint64(s.cfg.Store.Checkpointed()), Applied: log.Applied,
		LogBytes: s.cfg.Store.Usage().LogBytes, Withheld: log.Withheld, Members: s.cfg.Store.Identity().Membership,
		Short: log.LeavesSnapshots(s.cfg.Disk.Space()),
	}
}

// serve carries out a step of the sender. An error is damage.
func (s *Snapshots) serve(step *snapshots.SenderStep) error {
	switch {
	case step.Close:
		s.closeSnapshot()
	case step.Refuse != nil:
		s.sendMessage(replica.KindSnapshotPiece, step.Refuse)
	case step.Open:
		return s.open()
	case step.Read != nil:
		return s.sendPiece(step.Read)
	}
	return nil
}

// open opens a snapshot of the state.
func (s *Snapshots) open() error {
	out, err := s.cfg.Store.Snapshot()
	if errors.Is(err, storage.ErrInterrupted) || errors.Is(err, storage.ErrRefused) {
		s.sender.Opened(0, 0, false)
		return nil
	}
	if err != nil {
		return err
	}
	info, err := storage.ParseSnapshot(out.Header())
	if err != nil {
		out.Close()
		return err
	}
	s.out = out
	s.metrics.opened.Inc()
	s.sender.Opened(info.ID, uint64(info.Slot), true)
	s.cfg.Logger.Info().Uint64("slot", uint64(info.Slot)).Int64("bytes", info.Bytes).
		Msg("a member is too far behind for the log: it gets the state as a snapshot")
	return nil
}

// sendPiece reads a piece and sends it.
func (s *Snapshots) sendPiece(r *snapshots.Read) error {
	begin := s.cfg.Clock.Now()
	piece, next, err := s.out.Piece(r.After, snapshots.PieceBytes)
	if errors.Is(err, storage.ErrBadPiece) {
		s.sender.Sent(s.cfg.Clock.Now(), nil, 0, 0, false)
		return nil
	}
	if err != nil {
		return err
	}
	p := &snapshots.Message{ID: r.ID, After: r.After, Next: next, Piece: piece}
	if r.First {
		p.Header = s.out.Header()
	}
	sent := 0
	if s.sendMessage(replica.KindSnapshotPiece, &snapshots.Outgoing{To: r.To, Message: p}) {
		sent = len(piece)
		s.metrics.sent.Add(float64(sent))
	}
	now := s.cfg.Clock.Now()
	s.sender.Sent(now, next, sent, now-begin, true)
	return nil
}

func (s *Snapshots) closeSnapshot() {
	if s.out != nil {
		s.out.Close()
		s.out = nil
	}
}

// pin has the log behind a snapshot kept.
func (s *Snapshots) pin(slot uint64) {
	if slot == s.pinned {
		return
	}
	if slot == 0 && s.senderView().LogBytes > snapshots.PinBytes {
		s.cfg.Logger.Warn().Msg("the log behind a snapshot that was sent has become too large and is not kept any more")
	}
	s.pinned = slot
	s.cfg.Log.Do(func(part *replica.Log) { part.Pin(replica.PinSnapshot, slot) })
}
