package service

import (
	"cmp"
	"errors"
	"fmt"
	"time"

	"github.com/rs/zerolog"

	"tenure/api"
	"tenure/server/access"
	"tenure/server/admission"
	"tenure/server/audit"
	"tenure/server/slow"
	"tenure/server/watch"
)

// Config is what the listeners of all protocols have in common. A zero in any field after Hub means the default written
// beside it.
type Config struct {
	// Logger gets panics, and what connections complain about.
	Logger zerolog.Logger
	// Access decides what requests may do. Nil: there are no tokens, and everybody may do everything.
	Access *access.Decider
	// Audit records each write and administrative act. Nil: no record.
	Audit *audit.Log
	// Slow is told how long requests took. Nil: nobody is.
	Slow *slow.Log
	// Hub is where the node's changes go, for those who wait for them. Nil: one that never hears of any.
	Hub *watch.Hub
	// Admission bounds what clients can take. Listeners that share it share its limits. Nil: one of Limits.
	Admission *admission.Control
	// Limits are those of an Admission of the listener's own. They allow more connections than the Hub allows waiters,
	// so that some are always left for other requests.
	Limits admission.Limits
	// MaxValueBytes bounds a value. 512 KiB; at most api.MaxValueBytes.
	MaxValueBytes int
	// MaxLeaseTime is the longest TTL of a named lease. 30 s.
	MaxLeaseTime time.Duration
	// ClientTimeout bounds how long a request waits for the node. 10 s.
	ClientTimeout time.Duration
}

// WithDefaults returns c with its zero fields filled, but for Admission.
func (c Config) WithDefaults() Config {
	if c.Hub == nil {
		c.Hub = watch.New(watch.DefaultLimits)
	}
	c.Limits = c.Limits.WithDefaults()
	c.MaxValueBytes = cmp.Or(c.MaxValueBytes, api.DefaultMaxValueBytes)
	c.MaxLeaseTime = cmp.Or(c.MaxLeaseTime, 30*time.Second)
	c.ClientTimeout = cmp.Or(c.ClientTimeout, 10*time.Second)
	return c
}

// Validate returns an error that says in one line what is wrong with c and how to mend it.
func (c Config) Validate() error {
	c = c.WithDefaults()
	switch {
	case c.MaxValueBytes < 1 || c.MaxValueBytes > api.MaxValueBytes:
		return fmt.Errorf("largest value of %d bytes: must be from 1 to %d", c.MaxValueBytes, api.MaxValueBytes)
	case c.ClientTimeout < 0:
		return fmt.Errorf("client timeout of %v: must be more than 0", c.ClientTimeout)
	case c.MaxLeaseTime < 0:
		return fmt.Errorf("longest TTL of a lease of %v: must be more than 0", c.MaxLeaseTime)
	}
	return c.Limits.Validate()
}

// Service is a node as the clients of one listener reach it. All methods are safe for concurrent use.
type Service struct {
	Cluster
	Health
	cfg   Config
	front *Front
}

// New returns the service of the node behind f. A listener whose Config has no Admission gets one of its own, which
// counts in m.
func New(cfg Config, f *Front, m *admission.Metrics) (*Service, error) {
	if f == nil {
		return nil, errors.New("no node to serve")
	}
	cfg = cfg.WithDefaults()
	if cfg.Admission == nil {
		cfg.Admission = admission.NewControl(cfg.Limits, cfg.Logger, m)
	}
	return &Service{Cluster: f, Health: f, cfg: cfg, front: f}, nil
}

// Admission returns the bounds on the clients.
func (s *Service) Admission() *admission.Control { return s.cfg.Admission }

// Revision returns that of the store as this node has applied it.
func (s *Service) Revision() uint64 { return s.Status().Revision }

// CatchUp waits until this node has applied every command that was acknowledged before the call, and returns the
// store's revision then.
func (s *Service) CatchUp(timeout time.Duration) (revision uint64, err error) {
	return s.front.CatchUp(timeout)
}

// HasTokens reports whether there are tokens, so that not everything is allowed.
func (s *Service) HasTokens() bool { return s.cfg.Access != nil }
