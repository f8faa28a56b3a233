package server

import (
	"fmt"
	"time"

	"tenure/server/admission"
	"tenure/server/runner"
)

// Limits bound what clients can take of a node. A zero means the default: those of admission.Limits stand there.
type Limits struct {
	admission.Limits
	MaxWaiting                 int // queries and watches that wait for a change; 0: 12,288
	MaxHeaderBytes             int
	HeaderTimeout, BodyTimeout time.Duration
}

// MostRequests is the most that any of the Limits may be: so many requests of clients, and no more, have a place in the
// inbox of the log. While fewer than that are in flight, those that are kept for operators find one.
const MostRequests = runner.MaxClientRequests

const (
	// filesForOthers is how many files a node with a high limit reserves for other uses than clients: its own files,
	// peers, and programs that are about to connect.
	filesForOthers = 512

	// filesOfItsOwn is how many a node of three has open, and opens for a checkpoint, a snapshot and an archive. 30 of
	// them are open all the time.
	filesOfItsOwn = 48
)

// mostHealthConns is how many connections a port for health checks takes: a few load balancers and Prometheus need one
// each.
const mostHealthConns = 128

// healthRate is how many requests one address may send there in a second. Metrics cost milliseconds of a processor.
const healthRate = 50

// healthLimits returns the bounds of a port for health checks of a process that may open so many files, and how many
// files are left for all else. 0 files: no bound is known.
func (l Limits) healthLimits(files uint64) (own admission.Limits, left uint64) {
	conns := uint64(mostHealthConns)
	if files > 0 {
		conns = max(2, min(conns, files/8))
		left = files - min(files-1, conns)
	}
	most := int(conns)
	return admission.Limits{Conns: most, ConnsPerSource: max(1, most/4), Requests: most, RequestsPerSource: max(1, most/4),
		Loopback: l.Loopback, Rate: admission.Rate{Mode: admission.Enforcing, PerSecond: healthRate}}, left
}

func (l Limits) validate() error {
	if err := l.Limits.Validate(); err != nil {
		return fmt.Errorf("%w: %w", ErrConfig, err)
	}
	if l.Requests > MostRequests {
		return fmt.Errorf("%w: %d requests in flight: must be at most %d", ErrConfig, l.Requests, MostRequests)
	}
	return nil
}

// within returns l with no more connections than a process that may open so many files can have: without a file to
// spare a node could not write a snapshot, or accept a peer. It reports whether that changed anything. 0 files: no
// bound is known.
func (l Limits) within(files uint64) (Limits, bool) {
	l.Limits = l.WithDefaults()
	most := max(files-min(files, filesForOthers), min(files/2, files-min(files, filesOfItsOwn)), 2)
	if files == 0 || uint64(l.Conns) <= most {
		return l, false
	}
	l.Conns = int(most)
	l.Reserved = min(l.Reserved, l.Conns/8)
	return l, true
}
