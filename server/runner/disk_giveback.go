package runner

import (
	"context"
	"errors"
	"time"

	"tenure/storage"
)

// givenBackPerSecond is the rate in bytes per second at which free pages of state.db are given back to the file system,
// and givenBackPause the time between two checks.
const (
	givenBackPerSecond = 64 << 20
	givenBackPause     = 10 * time.Second
)

// giveBack gives free pages of state.db back to the file system until stop is closed.
func (d *Disk) giveBack(stop <-chan struct{}) error {
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	go func() {
		select {
		case <-stop:
			cancel()
		case <-ctx.Done():
		}
	}()
	ticker := time.NewTicker(givenBackPause)
	defer ticker.Stop()
	for {
		given, err := d.cfg.Store.GiveBack(ctx, givenBackPerSecond)
		if given > 0 {
			d.cfg.Logger.Info().Int64("bytes", given).Msg("free pages of state.db were given back to the file system")
		}
		if errors.Is(err, storage.ErrNoHoles) {
			d.cfg.Logger.Warn().Err(err).Msg("free pages of state.db cannot be given back; they are used again")
			return nil
		}
		if err != nil {
			return unlessStopped(err)
		}
		select {
		case <-stop:
			return nil
		case <-ticker.C:
		}
	}
}
