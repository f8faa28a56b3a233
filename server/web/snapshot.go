package web

import (
	"fmt"
	"io"
	"net/http"
	"strconv"
	"time"

	"tenure/api"
	"tenure/server/backup/tarred"
	"tenure/server/service"
)

// snapshot sends a backup inside the archive of Consul's endpoint. A tar says the size of a file before its content: so
// the backup is read twice, from the same checkpoint, which gives the same bytes, and needs no space anywhere.
func (h *backupHandler) snapshot(x *exchange) error {
	if _, err := parseQuery(x.r.URL.RawQuery, &snapshotRules); err != nil {
		return err
	}
	out, err := x.req.Backup()
	if err != nil {
		return err
	}
	defer func() { out.Close(err) }()
	m := metaOf(out.Info())
	if x.r.Method != http.MethodHead {
		if m.Size, err = copyBackup(io.Discard, out); err != nil {
			return err
		}
		out.Rewind()
	}
	header := x.w.Header()
	header["Content-Type"] = []string{"application/gzip"}
	header["Cache-Control"] = noStore
	header["X-Content-Type-Options"] = noSniff
	header[api.HeaderIndex] = []string{strconv.FormatUint(m.Index, 10)}
	header[api.HeaderLastContact], header[api.HeaderKnownLeader] = []string{"0"}, []string{"true"}
	x.head(http.StatusOK, "")
	if x.r.Method == http.MethodHead {
		return nil
	}
	err = tarred.Write(&pacedWriter{x.w, h.piece}, m, func(w io.Writer) error {
		_, err := copyBackup(w, out)
		return err
	})
	if err == nil {
		h.sent.Store(time.Now().UnixNano())
	}
	return err
}

func metaOf(i service.BackupInfo) tarred.Meta {
	return tarred.Meta{Version: 1, ID: fmt.Sprintf("tenure-%d-%d", i.Era, i.Revision), Index: i.Revision, Term: i.Era,
		Cluster: i.Cluster, Made: i.Made.UTC()}
}

// copyBackup writes a backup to w and returns its size.
func copyBackup(w io.Writer, b service.Backup) (size int64, err error) {
	for {
		piece, err := b.Next()
		if err == io.EOF {
			return size, nil
		}
		if err == nil {
			_, err = w.Write(piece)
		}
		if err != nil {
			return size, err
		}
		size += int64(len(piece))
	}
}

// pacedWriter gives the client some time for each write.
type pacedWriter struct {
	w    http.ResponseWriter
	each time.Duration
}

// Write implements io.Writer.
func (p *pacedWriter) Write(b []byte) (int, error) {
	rc := http.NewResponseController(p.w)
	_ = rc.SetWriteDeadline(time.Now().Add(p.each)) // an error: a test's answer that has no deadlines
	return p.w.Write(b)
}
