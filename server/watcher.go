package server

import (
	"context"
	"errors"
	"time"

	"tenure/multipaxos"
	"tenure/server/replica"
	"tenure/storage"
)

// runWatcher measures the disk and lowers the quarantine of `master` once the silence has been served (A4's second
// write). That of named leases is the named loop's to lower (N4).
func (n *Node) runWatcher(stop <-chan struct{}) error {
	ticker := time.NewTicker(measureFor)
	defer ticker.Stop()
	written := n.quarantine.AtStart
	for {
		err := n.store.Refresh()
		if errors.Is(err, storage.ErrFailed) || errors.Is(err, storage.ErrDamaged) {
			return err // something in the background failed, and no commit may come that would tell
		}
		if err != nil {
			n.log.Warn().Err(err).Msg("cannot measure the disk")
		}
		n.takeUsage()
		if r := n.quarantine.Record(n.clock.Now() - n.quarantineBegan); r != written {
			if err := n.store.LowerQuarantine(r); err != nil {
				return err
			}
			written = r
		}
		select {
		case <-stop:
			return nil
		case <-ticker.C:
		}
	}
}

// scrubBytesPerSecond and scrubPause are the pace at which state.db is compared with its checksums while the node runs:
// 256 MiB take four minutes, and a small file is read six times a minute at most.
const (
	scrubBytesPerSecond = 1 << 20
	scrubPause          = 10 * time.Second
)

// runVerifier reads every record of the state database once, in the background, if it was too large to be read at the
// start. Then it scrubs its pages for as long as the node runs: damage in what nobody asks for ends the node too.
func (n *Node) runVerifier(stop <-chan struct{}) error {
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	go func() {
		select {
		case <-stop:
			cancel()
		case <-ctx.Done():
		}
	}()
	if n.store.Usage().StateFileBytes > verifiedAtOpen {
		err := n.store.Verify(ctx)
		if ctx.Err() != nil {
			return nil
		}
		if err != nil {
			return err
		}
		n.log.Info().Msg("the state database on disk was read whole: no damage")
	}
	for {
		err := n.store.Scrub(ctx, scrubBytesPerSecond)
		if ctx.Err() != nil {
			return nil
		}
		if err != nil {
			return err
		}
		select {
		case <-stop:
			return nil
		case <-time.After(scrubPause):
		}
	}
}

// verifiedAtOpen is the size up to which storage reads the whole state database when it opens it, by its default.
const verifiedAtOpen = 256 << 20

// checkpointedStateDB is the size of the state database that decides how much is checkpointed at once: none where the
// disk is short, since a checkpoint writes a copy of every page that it touches before the old ones are free.
func checkpointedStateDB(u storage.Usage) int64 {
	if u.FreeBytes < u.StateBytes+4*u.ReserveBytes {
		return 0
	}
	return u.StateBytes
}

// measureFor is the distance between two looks at the disk.
const measureFor = 250 * time.Millisecond

// takeUsage publishes what the last Refresh found.
func (n *Node) takeUsage() {
	u := n.store.Usage()
	n.space.Store(uint32(spaceOf(u)))
	n.stateDBBytes.Store(checkpointedStateDB(u))
	n.checkpointBytes.Store(u.CheckpointBytes)
}

// measureEvery is how many bytes are committed before the disk is measured again, whatever the time.
const measureEvery = 256 << 10

// committed measures the disk when much has been written since it last did: a fast client fills a small disk within
// the watcher's second. An error shows at the next commit.
func (n *Node) committed(ps []multipaxos.Persist) {
	for i := range ps {
		for j := range ps[i].Entries {
			n.unmeasured += len(ps[i].Entries[j].Value)
		}
	}
	if n.unmeasured < measureEvery {
		return
	}
	n.unmeasured = 0
	if n.store.Refresh() == nil {
		n.takeUsage()
	}
}

func spaceOf(u storage.Usage) replica.Space {
	switch {
	case u.Full:
		return replica.SpaceNone
	case u.Tight:
		return replica.SpaceTight
	case u.Low:
		return replica.SpaceLow
	}
	return replica.SpaceEnough
}
