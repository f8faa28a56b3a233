package workload

import (
	"context"
	"errors"
	"fmt"
	"time"

	"tenure/client"
	"tenure/jepsen/history"
)

// recorder records the operations of one client.
type recorder struct {
	id      int
	timeout time.Duration
	rec     *history.Recorder
}

// do runs and records one operation. Its context does not depend on that of the run, so the end of the run cuts no
// operation off.
func (r *recorder) do(op history.Op, f func(context.Context, *history.Op) error) history.Op {
	ctx, cancel := context.WithTimeout(context.Background(), r.timeout)
	defer cancel()
	op.Client, op.Call = r.id, r.rec.Now()
	err := f(ctx, &op)
	op.Return, op.Outcome = r.rec.Now(), outcome(err)
	if err != nil {
		op.Error = errorText(err)
		op.Denied = errors.Is(err, client.ErrDenied) || errors.Is(err, client.ErrUnknownToken)
	}
	r.rec.Add(op)
	if op.Outcome == history.Fail {
		time.Sleep(time.Millisecond)
	}
	return op
}

// outcome returns what a client may conclude from err.
func outcome(err error) history.Outcome {
	switch {
	case err == nil:
		return history.OK
	case errors.Is(err, client.ErrUnknown), errors.Is(err, client.ErrDropped):
		return history.Info
	}
	return history.Fail
}

// errorText returns the text of err as it is recorded.
func errorText(err error) string { return fmt.Sprintf("%.200s", err) }

// conn is the connection of one client to the cluster. It is used for one operation at a time.
type conn struct {
	*recorder
	client *client.Client
	raw    *raw
}

// typed reports whether the client uses package client, which retries, resumes and fails over. The others send HTTP
// requests themselves, so that package client cannot hide what the cluster does.
func (c *conn) typed() bool { return c.id%2 == 1 }

// newConn connects client number id. Each client begins at another endpoint.
func newConn(cfg Config, rec *history.Recorder, id int) (*conn, error) {
	c, err := newClient(cfg, id)
	if err != nil {
		return nil, err
	}
	r := newRaw(rotate(cfg.Endpoints, id))
	r.tokenFile = cfg.TokenFile
	if err := r.secure(cfg.TLS); err != nil {
		c.Close()
		return nil, err
	}
	return &conn{&recorder{id, cfg.Timeout, rec}, c, r}, nil
}

// newClient returns a client that begins at the endpoint of that number.
func newClient(cfg Config, first int) (*client.Client, error) {
	known := cfg.Endpoints
	if cfg.Learn > 0 {
		known = known[:cfg.Learn]
	}
	return client.New(client.Config{
		Endpoints: rotate(known, first), Timeout: cfg.Timeout, AttemptTimeout: cfg.Timeout / 2, NoLearning: cfg.Learn == 0,
		TLS: cfg.TLS, TokenFile: cfg.TokenFile,
	})
}

func (c *conn) close() {
	c.client.Close()
	c.raw.close()
}

// rotate returns list, beginning with the element of that number.
func rotate(list []string, first int) []string {
	first %= len(list)
	return append(append([]string(nil), list[first:]...), list[:first]...)
}
