package server

import (
	"context"
	"errors"
	"fmt"
	"os"
	"time"

	"tenure/server/audit"
	"tenure/server/transport"
	"tenure/server/wire"
)

// auditFlush bounds how long a node that stops waits for the last lines of the audit log to be written.
const auditFlush = time.Second

// openAudit opens the audit log, nil if there is none. It outlives the runs of a node.
func (c *Config) openAudit() (*audit.Log, error) {
	if c.Audit.Path == "" {
		return nil, nil
	}
	log := c.Logger.With().Uint64("node", uint64(c.Node)).Logger()
	l, err := audit.Open(c.Audit, uint64(c.Node), os.Stdout, log)
	if err != nil {
		return nil, fmt.Errorf("%w: --audit: %w", ErrConfig, err)
	}
	return l, nil
}

// tryAudit returns an error if the audit log cannot be opened.
func (c *Config) tryAudit() error {
	l, err := c.openAudit()
	if err != nil {
		return err
	}
	c.closeAudit(l)
	return nil
}

// closeAudit has the last lines written.
func (c *Config) closeAudit(l *audit.Log) {
	ctx, cancel := context.WithTimeout(context.Background(), auditFlush)
	defer cancel()
	if err := l.Close(ctx); err != nil {
		c.Logger.Error().Err(err).Msg("the end of the audit log is lost")
	}
}

// joinRecord returns the line about a node that wants to join. It comes over the port for peers, where a certificate,
// and not a token, says who it is.
func joinRecord(came time.Time, m *wire.JoinMsg, err error) audit.Record {
	r := audit.Record{Time: came, From: m.PeerAddr, Act: "members.join", Keys: []string{m.Name, m.Operation},
		Outcome: audit.Done}
	if m.Replace != "" {
		r.Keys = append(r.Keys, m.Replace)
	}
	var refused *transport.Refusal
	switch {
	case errors.As(err, &refused):
		r.Outcome = audit.NotApplied
	case err != nil:
		r.Outcome = audit.Unknown
	}
	return r
}
