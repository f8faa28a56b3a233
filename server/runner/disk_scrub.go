package runner

import (
	"context"
	"errors"
	"time"
)

// scrubBytesPerSecond and scrubPause are the pace at which a running node reads state.db again, first its pages and
// then its records. 256 MiB take nine minutes, and a small file is read six times a minute at most.
const (
	scrubBytesPerSecond = 1 << 20
	scrubPause          = 10 * time.Second
)

// verifiedAtOpen is the size up to which storage reads the whole state database when it opens it, by its default.
const verifiedAtOpen = 256 << 20

// scrub reads every record of the state database once, in the background, if it was too large to be read at the start.
// Then, for as long as the node runs, it scrubs the pages and recomputes the digest of the records, so that damage in
// unread data ends the node too.
func (d *Disk) scrub(stop <-chan struct{}) error {
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	go func() {
		select {
		case <-stop:
			cancel()
		case <-ctx.Done():
		}
	}()
	if d.cfg.Store.Usage().StateFileBytes > verifiedAtOpen {
		if err := d.cfg.Store.Verify(ctx); err != nil {
			return unlessStopped(err)
		}
		d.cfg.Logger.Info().Msg("the state database on disk was read whole: no damage")
	}
	for {
		begin := time.Now()
		if err := d.cfg.Store.Scrub(ctx, scrubBytesPerSecond); err != nil {
			return unlessStopped(err)
		}
		if err := d.cfg.Store.Recount(ctx, scrubBytesPerSecond); err != nil {
			return unlessStopped(err)
		}
		d.scrubTook.Store(int64(time.Since(begin)))
		d.scrubbed.Store(time.Now().UnixNano())
		select {
		case <-stop:
			return nil
		case <-time.After(scrubPause):
		}
	}
}

// unlessStopped returns err, or nil if it only says that the scrub was told to end: damage that was met in the same
// moment counts.
func unlessStopped(err error) error {
	if errors.Is(err, context.Canceled) {
		return nil
	}
	return err
}
