package web

import (
	"errors"
	"io"
	"net/http"
	"sync/atomic"
	"time"

	"tenure/kv"
	"tenure/server/acl"
)

// Backups makes backups.
type Backups interface {
	// Backup begins a backup that has every write which was acknowledged before the call. The wait for a master is
	// bounded by timeout.
	Backup(timeout time.Duration) (Backup, error)
	// Restore replaces the state of the cluster by the snapshot that body has, once all of it was verified. install has
	// the idempotency key, if there is one. Besides those of a Backend its errors are ErrSnapshot and
	// ErrSnapshotTooLarge; after these, and any result but kv.CodeDone, nothing was changed.
	Restore(timeout time.Duration, body io.Reader, install kv.Command) (kv.Result, error)
}

var (
	// ErrSnapshot: what was uploaded is not a whole snapshot.
	ErrSnapshot = errors.New("not a whole snapshot of Tenure")
	// ErrSnapshotTooLarge: what was uploaded is more than a running cluster takes.
	ErrSnapshotTooLarge = errors.New("the snapshot is larger than a running cluster takes")
)

// Backup is a backup that is being read by one goroutine.
type Backup interface {
	// Info returns what the backup is of.
	Info() BackupInfo
	// Next returns the next bytes, valid until the next call, or io.EOF behind the last ones.
	Next() ([]byte, error)
	// Rewind makes Next begin again, with the same bytes.
	Rewind()
	// Close ends it, whole or not; err says why not.
	Close(err error)
}

// backupHandler answers those who want a backup.
type backupHandler struct {
	backups Backups
	writes  *writes
	piece   time.Duration // for a client to take what Next returns
	sent    *atomic.Int64 // when a client had a whole backup last, in nanoseconds since 1970
}

// backupNeeds are the permissions for the contents of a backup: keys with fences, sessions, and tokens with the hashes
// of their secrets.
var backupNeeds = []acl.Permission{acl.OperatorRead(), acl.ACLRead(), acl.KeyReadPrefix(""),
	{Kind: acl.Session, Access: acl.Read, Prefix: true}, {Kind: acl.Lease, Access: acl.Read, Prefix: true}}

// begin begins a backup if x may have it.
func (h *backupHandler) begin(x *exchange) (Backup, error) {
	for _, p := range backupNeeds {
		if err := x.permit.need(p); err != nil {
			return nil, err
		}
	}
	out, err := h.backups.Backup(x.timeout())
	if err != nil {
		return nil, err
	}
	if err := x.permit.again(); err != nil {
		out.Close(err)
		return nil, err
	}
	return out, nil
}

// stream sends a backup as it is read. If it cannot be completed the connection is cut; the backup itself would tell
// too, since it ends with a record of its own.
func (h *backupHandler) stream(x *exchange) error {
	if _, err := parseQuery(x.r.URL.RawQuery, &plainRules); err != nil {
		return err
	}
	out, err := h.begin(x)
	if err != nil {
		return err
	}
	defer func() { out.Close(err) }()
	header := x.w.Header()
	header["Content-Type"] = bytesType
	header["Cache-Control"] = noStore
	header["X-Content-Type-Options"] = noSniff
	rc := http.NewResponseController(x.w)
	for x.r.Method != http.MethodHead {
		var b []byte
		if b, err = out.Next(); err == io.EOF {
			err = nil
			h.sent.Store(time.Now().UnixNano())
			return nil
		}
		if err != nil {
			return err
		}
		if x.status == 0 {
			x.head(http.StatusOK, "")
		}
		_ = rc.SetWriteDeadline(time.Now().Add(h.piece)) // an error: a test's answer that has no deadlines
		if _, err = x.w.Write(b); err != nil {
			return err
		}
	}
	x.head(http.StatusOK, "")
	return nil
}
