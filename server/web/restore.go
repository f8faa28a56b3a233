package web

import (
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"strconv"
	"time"

	"tenure/api"
	"tenure/kv"
	"tenure/server/service"
)

const (
	// restoreTimeout bounds a PUT of a snapshot, from its headers to its answer.
	restoreTimeout = 10 * time.Minute
	// maxRestoreBytes bounds its body: what takes more has more than a running cluster takes.
	maxRestoreBytes = 256 << 20
)

// restore replaces the state of the cluster by the snapshot in the body, at one slot.
func (h *backupHandler) restore(x *exchange) error {
	c, err := h.writes.command(x, &consulWriteRules, kv.OpInstall)
	if err != nil {
		return err
	}
	if err := x.req.MayWrite(&c); err != nil {
		return err
	}
	if x.r.ContentLength > maxRestoreBytes {
		return tooLargeToRestore(service.ErrSnapshotTooLarge)
	}
	rc := http.NewResponseController(x.w)
	_ = rc.SetWriteDeadline(x.began.Add(restoreTimeout + x.timeouts.response)) // an error: a test's answer without deadlines
	paced := &pacedReader{r: x.r.Body, deadline: rc.SetReadDeadline, each: h.piece, end: x.began.Add(restoreTimeout)}
	body := &sawEnd{r: io.LimitReader(paced, maxRestoreBytes)}
	r, err := x.req.Restore(body, c)
	x.bodyRead = body.end
	switch {
	case errors.Is(err, service.ErrSnapshotTooLarge):
		return tooLargeToRestore(err)
	case errors.Is(err, os.ErrDeadlineExceeded) && !body.end:
		return service.Invalid("the snapshot came too slowly: %d KiB must arrive within %v: nothing was changed",
			paceBytes>>10, h.piece)
	case errors.Is(err, service.ErrSnapshot):
		return service.Invalid("%s: nothing was changed", err)
	case err != nil:
		return service.InDoubt(err)
	}
	if err := notRestored(&c, &r); err != nil {
		return err
	}
	header := x.w.Header()
	header[api.HeaderRevision] = []string{strconv.FormatUint(r.Revision, 10)}
	header[api.HeaderCount] = []string{strconv.FormatUint(r.Count, 10)}
	x.json(bodyTrue)
	return nil
}

// notRestored returns the answer to an upload that was refused, or nil.
func notRestored(c *kv.Command, res *kv.Result) error {
	switch res.Code {
	case kv.CodeDone:
		return nil
	case kv.CodeTooMany, kv.CodeTooLarge:
		return tooLargeToRestore(fmt.Errorf("the snapshot or what it is to replace has more than %d keys, sessions and "+
			"fences, or the snapshot more than %d MiB, or a revision is near the last one", kv.MaxInstallKeys,
			kv.MaxUploadBytes>>20))
	case kv.CodeExists:
		return service.Refuse(api.CodeOverloaded, "another snapshot is being uploaded: nothing "+
			"was changed: try again when it has ended, or in two minutes if it was given up")
	case kv.CodeMissing, kv.CodeCondition:
		return service.Refuse(api.CodeNotApplied, "the upload was interrupted: nothing was "+
			"changed: send it again")
	case kv.CodeMalformed:
		return service.Invalid("a record of the snapshot is not one that this release knows: nothing was changed")
	}
	return service.NotDone(c, res)
}

func tooLargeToRestore(err error) error {
	return service.Refuse(api.CodeTooLarge, err.Error()+": nothing was changed: stop the "+
		"cluster and make a new one of it with kvnode restore (of what GET /v1/snapshot gave, take the backup out first: "+
		"tar -xzOf FILE state.bin > BACKUP)")
}

// paceBytes must come within each time that a client is given. One node at a time takes a snapshot: nobody may keep it
// from doing so with an upload that does not come.
const paceBytes = 64 << 10

// pacedReader gives a client some time for each paceBytes, and no more than until end.
type pacedReader struct {
	r        io.Reader
	deadline func(time.Time) error
	each     time.Duration
	end      time.Time
	left     int // bytes that are still to come until the deadline is moved
}

// Read implements io.Reader.
func (p *pacedReader) Read(b []byte) (int, error) {
	if p.left <= 0 {
		at := time.Now().Add(p.each)
		if at.After(p.end) {
			at = p.end
		}
		_ = p.deadline(at) // an error: a test's answer that has no deadlines
		p.left = paceBytes
	}
	n, err := p.r.Read(b)
	p.left -= n
	return n, err
}

// sawEnd notes whether the end of what it reads was seen.
type sawEnd struct {
	r   io.Reader
	end bool
}

// Read implements io.Reader.
func (s *sawEnd) Read(p []byte) (int, error) {
	n, err := s.r.Read(p)
	s.end = s.end || err == io.EOF
	return n, err
}
