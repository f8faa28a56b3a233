package backend

import (
	"errors"
	"fmt"
	"io"
	"sync"
	"time"

	"github.com/rs/zerolog"

	"tenure/server/backup"
	"tenure/server/replica"
	"tenure/server/runner"
	"tenure/server/service"
	"tenure/storage"
)

const (
	// maxBackups are read from a node at a time, besides the one for the archive.
	maxBackups = 2
	// checkpointFor is how long a backup waits for the checkpoint that it needs.
	checkpointFor = time.Minute
	// While a backup is read the pages of its checkpoint are kept, and state.db grows by what checkpoints replace. So it
	// must be over in backupFor and a second for each backupRate bytes, and before state.db has grown by backupGrowth or
	// by as much as the state takes, whichever is more.
	backupFor    = 5 * time.Minute
	backupRate   = 1 << 20
	backupGrowth = 256 << 20
)

// BackupsConfig is what a Backups is made of. All fields are required.
type BackupsConfig struct {
	KV        *KV
	State     *runner.State
	Log       *runner.Log
	Store     *storage.Store
	Disk      *runner.Disk
	Lifecycle *runner.Lifecycle
	Logger    zerolog.Logger
}

// Backups makes backups of the whole state.
type Backups struct {
	cfg   BackupsConfig
	slots chan struct{} // one for each that is being read
	own   chan struct{} // likewise, of this node itself: no reader, however slow, takes it

	restoring sync.Mutex // held while an upload is on its way through this node
}

// NewBackups returns a Backups.
func NewBackups(c BackupsConfig) *Backups {
	return &Backups{cfg: c, slots: make(chan struct{}, maxBackups), own: make(chan struct{}, 1)}
}

// Backup begins a backup with every write acknowledged before. This node may be behind, so Backup first waits for a
// read point, like a default read. The state database lags the memory, so it then waits for a checkpoint of the applied
// entries. Then it takes a snapshot.
func (b *Backups) Backup(timeout time.Duration) (service.Backup, error) {
	return b.in(b.slots, timeout, fmt.Sprintf("%d backups are being read from this node: try again later, or another node",
		maxBackups))
}

// ForArchive is Backup for the archive of this node, which reads one at a time.
func (b *Backups) ForArchive(timeout time.Duration) (service.Backup, error) {
	return b.in(b.own, timeout, "a copy for the archive is being read already")
}

// in is Backup in one of the places; if there is none left, full says so.
func (b *Backups) in(places chan struct{}, timeout time.Duration, full string) (service.Backup, error) {
	select {
	case places <- struct{}{}:
	default:
		return nil, fmt.Errorf("%w: %s", service.ErrOverloaded, full)
	}
	var out *outgoing
	held := false
	defer func() { // also if something panics
		if out == nil && !held {
			<-places
		}
	}()
	var err error
	if out, held, err = b.open(places, timeout); err != nil {
		return nil, err
	}
	return out, nil
}

// open waits for a read point and a checkpoint, and begins a backup of that checkpoint. After an error held reports
// whether the place stays taken until snapshot frees it.
func (b *Backups) open(places chan struct{}, timeout time.Duration) (out *outgoing, held bool, err error) {
	take := func() (uint64, error) { return b.cfg.State.Revision(), nil }
	if _, err := b.cfg.KV.read(timeout, service.Default, take); err != nil {
		return nil, false, err
	}
	if err := b.mustAgree(); err != nil {
		return nil, false, err
	}
	if err := b.mustHaveSpace(); err != nil { // else the checkpoint waits for it
		return nil, false, err
	}
	begin := time.Now()
	if err := b.cfg.Log.Checkpoint(checkpointFor); err != nil {
		return nil, false, errCheckpoint
	}
	snapshot, held, err := b.snapshot(places, checkpointFor-time.Since(begin))
	if errors.Is(err, storage.ErrInterrupted) || errors.Is(err, storage.ErrRefused) {
		return nil, held, fmt.Errorf("%w: this node has no whole checkpoint: try again, or another node",
			service.ErrNotApplied)
	}
	if errors.Is(err, errCheckpoint) {
		return nil, held, err
	}
	if err != nil {
		return nil, held, b.cfg.KV.damage(err)
	}
	out, err = b.begin(snapshot, places, time.Now())
	return out, false, err
}

// begin begins the backup of snapshot, or closes it: a view that stays open keeps the store from being closed.
func (b *Backups) begin(snapshot *storage.Snapshot, place chan struct{}, now time.Time) (out *outgoing, err error) {
	defer func() { // also if something panics
		if out == nil {
			snapshot.Close()
		}
	}()
	info, err := storage.ParseSnapshot(snapshot.Header())
	if err != nil {
		return nil, b.cfg.KV.damage(err)
	}
	maker, err := backup.NewMaker(snapshot, now)
	if err != nil {
		return nil, err
	}
	return &outgoing{
		backups: b, place: place, snapshot: snapshot, maker: maker, info: info, began: now,
		until:     now.Add(backupFor + time.Duration(info.Bytes/backupRate)*time.Second),
		fileBytes: b.cfg.Store.Usage().StateFileBytes,
	}, nil
}

// mustAgree returns an error during a dispute between voters: a backup of a wrong state would be found only when it is
// needed.
func (b *Backups) mustAgree() error {
	if d := b.cfg.Log.View().Dispute; d.Slot != 0 {
		return fmt.Errorf("%w: %v", service.ErrNotApplied, d)
	}
	return nil
}

// mustHaveSpace returns an error while the disk is short of space; the quota is no reason.
func (b *Backups) mustHaveSpace() error {
	if space := b.cfg.Disk.Space(); space == replica.SpaceTight || space == replica.SpaceNone {
		return fmt.Errorf("%w: the disk of this node is short of space: ask another node", service.ErrNotApplied)
	}
	return nil
}

var errCheckpoint = fmt.Errorf("%w: the checkpoint that a backup needs has not ended within %v: try again, or another node",
	service.ErrNotApplied, checkpointFor)

// snapshot opens a snapshot. It waits for a running checkpoint, and the checkpoint may wait for space on the disk.
// After the time wait, snapshot returns an error, and held reports that the place stays taken until the snapshot has
// been opened and closed. So only few goroutines wait.
func (b *Backups) snapshot(place chan struct{}, wait time.Duration) (out *storage.Snapshot, held bool, err error) {
	type opened struct {
		snapshot *storage.Snapshot
		err      error
	}
	done := make(chan opened, 1)
	go func() {
		s, err := b.cfg.Store.Snapshot()
		done <- opened{s, err}
	}()
	timer := time.NewTimer(wait)
	defer timer.Stop()
	select {
	case o := <-done:
		return o.snapshot, false, o.err
	case <-timer.C:
	}
	go func() {
		if o := <-done; o.err == nil {
			o.snapshot.Close()
		}
		<-place
	}()
	return nil, true, errCheckpoint
}

// outgoing is a backup that is being read.
type outgoing struct {
	backups   *Backups
	place     chan struct{} // that it has
	snapshot  *storage.Snapshot
	maker     *backup.Maker
	info      storage.SnapshotInfo
	began     time.Time
	until     time.Time
	fileBytes int64 // of state.db when it began
	bytes     int64
	whole     bool
}

// Info implements web.Backup.
func (o *outgoing) Info() service.BackupInfo {
	i := o.maker.Info()
	return service.BackupInfo{Cluster: i.Cluster.String(), Slot: i.Slot, Revision: i.Revision, Era: i.Era, Made: i.Made}
}

// Rewind implements web.Backup.
func (o *outgoing) Rewind() {
	o.maker = o.maker.Anew()
	o.bytes, o.whole = 0, false
}

// Next implements web.Backup.
func (o *outgoing) Next() ([]byte, error) {
	if err := o.mayGoOn(); err != nil {
		return nil, err
	}
	piece, err := o.maker.Next()
	switch {
	case err == io.EOF:
		o.whole = true
		return nil, err
	case err != nil:
		return nil, o.backups.cfg.KV.damage(err)
	}
	o.bytes += int64(len(piece))
	return piece, nil
}

// mayGoOn returns an error if the pages of the backup are not to be kept any longer.
func (o *outgoing) mayGoOn() error {
	c := &o.backups.cfg
	if c.Lifecycle.Stopping() {
		return fmt.Errorf("%w: this node is stopping", service.ErrNotApplied)
	}
	if err := o.backups.mustAgree(); err != nil {
		return err
	}
	return mayKeep(time.Until(o.until), c.Disk.Space(), c.Store.Usage().StateFileBytes-o.fileBytes, o.info.Bytes)
}

// mayKeep returns an error if the pages of a backup of so many bytes must not be kept any longer. left is the time
// until the backup must end. grown is the growth of state.db since the backup began.
func mayKeep(left time.Duration, space replica.Space, grown, bytes int64) error {
	switch {
	case left < 0:
		return fmt.Errorf("%w: the backup is read too slowly", service.ErrNotApplied)
	case space == replica.SpaceTight || space == replica.SpaceNone: // the quota is no reason
		return fmt.Errorf("%w: the disk is short of space", service.ErrNotApplied)
	case grown > max(backupGrowth, bytes):
		return fmt.Errorf("%w: state.db has grown by %d bytes since the backup began", service.ErrNotApplied, grown)
	}
	return nil
}

// Close implements web.Backup.
func (o *outgoing) Close(err error) {
	o.snapshot.Close()
	<-o.place
	log := &o.backups.cfg.Logger
	switch {
	case err != nil:
		log.Warn().Uint64("slot", uint64(o.info.Slot)).Int64("bytes", o.bytes).AnErr("why", err).
			Msg("a backup was not read to its end")
	case o.whole:
		log.Info().Uint64("slot", uint64(o.info.Slot)).Int64("bytes", o.bytes).Dur("took", time.Since(o.began)).
			Msg("a backup was read")
	}
}
