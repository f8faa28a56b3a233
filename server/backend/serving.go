package backend

import (
	"fmt"
	"sync/atomic"

	"tenure/api"
	"tenure/server/service"
)

// serving is what answers requests: nobody yet, a Backend, or nobody any more. It is safe for concurrent use.
type serving struct {
	backend  atomic.Pointer[Backend]
	starting atomic.Pointer[api.Status] // before backend serves, and what the node waits for
	closed   atomic.Bool
}

// open returns the Backend for a request. It returns nil before Serve, after Close, and while a founder should serve
// nobody.
func (s *serving) open() *Backend {
	if b := s.begun(); b != nil && b.FounderWaits() == "" {
		return b
	}
	return nil
}

// begun returns the Backend, which may be asked about itself; nil if there is none yet, or none any more.
func (s *serving) begun() *Backend {
	if s.closed.Load() {
		return nil
	}
	return s.backend.Load()
}

// stillOpen returns err, or the error of what was closed while it was read.
func (s *serving) stillOpen(err error) error {
	if err == nil && s.closed.Load() {
		return s.refuse()
	}
	return err
}

// refuse says why there is no Backend for a request.
func (s *serving) refuse() error {
	b := s.begun()
	switch {
	case b == nil:
	case b.Sought() != "":
		return fmt.Errorf("%w: %s", service.ErrOtherCluster, b.Sought())
	case b.FounderWaits() != "":
		return fmt.Errorf("%w: %s", service.ErrNotApplied, b.FounderWaits())
	}
	return fmt.Errorf("%w: %s", service.ErrNotApplied, s.starting.Load().Problem)
}
