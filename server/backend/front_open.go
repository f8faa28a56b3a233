package backend

import (
	"fmt"

	"tenure/server/web"
)

// open returns the Backend for a request. It returns nil before Serve, after Close, and while a founder should serve
// nobody.
func (f *Front) open() *Backend {
	if b := f.begun(); b != nil && b.FounderWaits() == "" {
		return b
	}
	return nil
}

// begun returns the Backend, which may be asked about itself; nil if there is none yet, or none any more.
func (f *Front) begun() *Backend {
	if f.closed.Load() {
		return nil
	}
	return f.backend.Load()
}

// stillOpen returns err, or the error of what was closed while it was read.
func (f *Front) stillOpen(err error) error {
	if err == nil && f.closed.Load() {
		return f.refuse()
	}
	return err
}

// refuse says why there is no Backend for a request.
func (f *Front) refuse() error {
	b := f.begun()
	switch {
	case b == nil:
	case b.Sought() != "":
		return fmt.Errorf("%w: %s", web.ErrOtherCluster, b.Sought())
	case b.FounderWaits() != "":
		return fmt.Errorf("%w: %s", web.ErrNotApplied, b.FounderWaits())
	}
	return fmt.Errorf("%w: %s", web.ErrNotApplied, f.starting.Load().Problem)
}
