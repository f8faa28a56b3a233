package backend

import (
	"bufio"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/google/uuid"

	"tenure/kv"
	"tenure/server/backup"
	"tenure/server/backup/tarred"
	"tenure/server/service"
)

const (
	// stageFor is how long a piece of an upload may take, through changes of the master; it is sent again meanwhile.
	stageFor = 30 * time.Second
	// stageAgain is the pause before a piece is sent again.
	stageAgain = 200 * time.Millisecond
)

// uploadSpace is the name space of uploadID.
var uploadSpace = uuid.MustParse("0b7f4d0e-6a52-4c43-9d0f-5a3d0b8f2e61")

// uploadID returns the ID of the upload of pieces under an idempotency key, so that a copy of the request goes on with
// its pieces. Another snapshot under the same key has another ID: its pieces never mix with those of the first one, and
// its install is another command.
func uploadID(key string, pieces [][]byte) string {
	h := sha256.New()
	for _, p := range pieces {
		sum := sha256.Sum256(p)
		h.Write(sum[:])
	}
	return uuid.NewSHA1(uploadSpace, append(h.Sum(nil), key...)).String()
}

// Restore replaces the state of the cluster by the backup that body has, plain or in the archive of GET /v1/snapshot.
// It verifies the whole backup before it sends a piece, and holds its records in memory, bounded by kv. The command
// install has the idempotency key, or none. timeout is for the install, whose slot replaces the whole state. A result
// without an error is that of the install, or of a refused piece.
func (b *Backups) Restore(timeout time.Duration, body io.Reader, install kv.Command) (kv.Result, error) {
	if !b.restoring.TryLock() {
		return kv.Result{}, fmt.Errorf("%w: this node is uploading another snapshot: try again later",
			service.ErrOverloaded)
	}
	defer b.restoring.Unlock()
	pieces, err := readPieces(body)
	if err != nil {
		return kv.Result{}, err
	}
	id := uuid.NewString()
	if install.IdemKey != "" {
		id = uploadID(install.IdemKey, pieces)
	}
	upload := kv.Session{ID: id}
	began := time.Now()
	for n, piece := range pieces {
		r, err := b.stage(timeout, kv.Command{Op: kv.OpStage, Session: upload, Num: int64(n), Value: piece})
		if err != nil || r.Code != kv.CodeDone {
			if r.Code != kv.CodeExists { // it is somebody else's
				b.dropUpload(timeout, upload)
			}
			return r, err
		}
	}
	install.Op, install.Session, install.Num = kv.OpInstall, upload, int64(len(pieces))
	r, err := b.install(timeout, install)
	if err != nil || r.Code != kv.CodeDone || install.IdemKey != "" {
		// After a copy of the request that was carried out before, nothing took the pieces. It is not sent while the
		// outcome is unknown: then the pieces end by themselves.
		if !errors.Is(err, service.ErrUnknown) {
			b.dropUpload(timeout, upload)
		}
	}
	if err == nil && r.Code == kv.CodeDone {
		b.cfg.Logger.Warn().Uint64("revision", r.Revision).Uint64("keys", r.Count).Int("pieces", len(pieces)).
			Dur("took", time.Since(began)).Msg("the state of the cluster was replaced by an uploaded snapshot")
	}
	return r, err
}

// install has the pieces put in place. Without a key of its client's the command gets one of this node's, so that it
// may be sent on again when the master changes.
func (b *Backups) install(timeout time.Duration, c kv.Command) (kv.Result, error) {
	if c.IdemKey != "" {
		return b.cfg.KV.Write(timeout, c, nil)
	}
	c.IdemKey, c.Base = uuid.NewString(), b.cfg.State.Revision()
	return b.cfg.KV.WriteDrawn(timeout, c, nil)
}

// stage sends a piece until its outcome is known. A copy that comes twice changes nothing.
func (b *Backups) stage(timeout time.Duration, c kv.Command) (r kv.Result, err error) {
	for end := time.Now().Add(stageFor); ; time.Sleep(stageAgain) {
		r, err = b.cfg.KV.Write(timeout, c, nil)
		if err == nil || errors.Is(err, service.ErrNoSpace) {
			return r, err
		}
		if time.Now().After(end) || b.cfg.Lifecycle.Stopping() {
			return r, service.NotApplied(fmt.Sprintf("piece %d of the snapshot was not taken: nothing was replaced",
				c.Num),
				errors.New(err.Error())) // whether that piece was taken does not matter any more
		}
	}
}

// dropUpload ends an upload, if that can be done now; else it ends by itself.
func (b *Backups) dropUpload(timeout time.Duration, upload kv.Session) {
	_, _ = b.cfg.KV.Write(timeout, kv.Command{Op: kv.OpDropStaged, Session: upload}, nil)
}

// readPieces reads a backup to its end, and returns it in the pieces of an upload.
func readPieces(body io.Reader) ([][]byte, error) {
	in := bufio.NewReaderSize(body, 64<<10)
	begin, err := in.Peek(2)
	if err == io.EOF {
		return nil, fmt.Errorf("%w: it ends after %d bytes", service.ErrSnapshot, len(begin))
	} else if err != nil {
		return nil, fmt.Errorf("%w: %w", service.ErrSnapshot, err)
	}
	var pieces *kv.Pieces
	read := func(r io.Reader) (err error) {
		pieces, err = readBackup(r)
		return err
	}
	if tarred.Is(begin) {
		_, err = tarred.Read(in, read)
	} else {
		err = read(in)
	}
	switch {
	case errors.Is(err, kv.ErrUploadTooLarge):
		return nil, fmt.Errorf("%w: %w", service.ErrSnapshotTooLarge, err)
	case err != nil:
		return nil, fmt.Errorf("%w: %w", service.ErrSnapshot, err)
	}
	return pieces.List(), nil
}

func readBackup(r io.Reader) (*kv.Pieces, error) {
	b, err := backup.Open(r)
	if err != nil {
		return nil, err
	}
	pieces, err := kv.NewPieces(b.Info().Slot, b.Info().Meta)
	if err != nil {
		return nil, err
	}
	return pieces, b.Records(pieces.Add)
}
