package web

import (
	"io"
	"net/http"
	"sync/atomic"
	"time"
)

// backupHandler answers those who want a backup.
type backupHandler struct {
	writes *writes
	piece  time.Duration // for a client to take what Next returns
	sent   *atomic.Int64 // when a client had a whole backup last, in nanoseconds since 1970
}

// stream sends a backup as it is read. If it cannot be completed the connection is cut; the backup itself would tell
// too, since it ends with a record of its own.
func (h *backupHandler) stream(x *exchange) error {
	if _, err := parseQuery(x.r.URL.RawQuery, &plainRules); err != nil {
		return err
	}
	out, err := x.req.Backup()
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
