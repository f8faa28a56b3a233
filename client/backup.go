package client

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"time"

	"tenure/api"
)

// backupSilence is how long a node may send nothing of a backup. Before the first byte it waits for a checkpoint.
const backupSilence = 90 * time.Second

// Backup begins a backup of the whole store, with every write that was acknowledged before, and returns its bytes. The
// caller reads them to the end and closes. It takes the first node that gives one; a node that fails while the backup is
// read fails the backup. ctx bounds the reading too. Without a deadline a node is asked for as long as Config.Timeout
// allows, and then only one that is silent ends it. Whether a backup is whole is told by the backup itself, and by
// kvctl backup verify.
func (n *Nodes) Backup(ctx context.Context) (io.ReadCloser, error) {
	asking, cancel := n.s.bounded(ctx)
	defer cancel()
	n.s.findLive(asking)
	tries := n.s.tries()
	for {
		e, err := tries.next(asking)
		if err != nil {
			return nil, &Error{Op: "backup", Kind: ErrUnavailable, Err: err}
		}
		body, err := n.s.openBackup(ctx, asking, e)
		if err == nil {
			tries.succeeded(e)
			return body, nil
		}
		var status *StatusError
		if errors.As(err, &status) {
			if kind := kindOfRefusal(status.Code); kind != nil {
				return nil, &Error{Op: "backup", Kind: kind, Err: err}
			}
		}
		tries.failed(e, err)
	}
}

// openBackup asks one node for a backup, which ctx bounds. The node has as long as one try may take, within asking, to
// find out that it cannot give one.
func (s *sender) openBackup(ctx, asking context.Context, e *endpoint) (*backupBody, error) {
	b := &backupBody{node: e.String()}
	ctx, b.cancel = context.WithCancelCause(ctx)
	b.ctx = ctx
	b.silence = time.AfterFunc(backupSilence, func() {
		b.cancel(fmt.Errorf("silent for %v: %w", backupSilence, context.DeadlineExceeded))
	})
	r := request{method: http.MethodGet, path: api.PathBackup}
	resp, err := s.openStream(ctx, e, r, s.nodeTimeout(asking, r))
	if err != nil {
		err = b.broken(err)
		b.end()
		return nil, err
	}
	b.body = resp.Body
	if resp.StatusCode == http.StatusOK {
		s.answered.Store(true)
		return b, nil
	}
	defer b.Close()
	text, err := io.ReadAll(io.LimitReader(b, maxMessageBytes))
	if err != nil {
		return nil, err
	}
	return nil, answer{e.String(), resp.StatusCode, resp.Header, text}.failure()
}

// backupBody is a backup on its way.
type backupBody struct {
	node    string
	body    io.ReadCloser
	ctx     context.Context
	cancel  context.CancelCauseFunc
	silence *time.Timer
}

// Read reads from the backup.
func (b *backupBody) Read(p []byte) (int, error) {
	n, err := b.body.Read(p)
	b.silence.Reset(backupSilence)
	if err != nil && err != io.EOF {
		err = b.broken(err)
	}
	return n, err
}

func (b *backupBody) broken(err error) error {
	if cause := context.Cause(b.ctx); cause != nil {
		err = cause
	}
	return fmt.Errorf("%s: the backup broke off: %w", b.node, err)
}

func (b *backupBody) end() {
	b.silence.Stop()
	b.cancel(nil)
}

// Close ends the backup, whole or not.
func (b *backupBody) Close() error {
	b.end()
	return b.body.Close()
}
