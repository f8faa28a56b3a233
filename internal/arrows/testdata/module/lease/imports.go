package lease

import (
	"context"        // want "does not import context"
	cr "crypto/rand" // want "does not import crypto/rand"
	"net/http"       // want "does not import net/http"
	"os"             // want "does not import os"
	"sync"           // want "does not import sync"
	"sync/atomic"    // want "does not import sync/atomic"

	"go.etcd.io/bbolt" // want "only storage, storage/internal/disk, storage/internal/sealed, storage/internal/space, storage/internal/acceptor, storage/internal/state, storage/internal/pages, storage/etcdsnap may"

	"tenure/internal/clock" // want "not for pure packages"
	"tenure/internal/quorum"
	"tenure/multipaxos" // want "never, in tests neither"
)

var (
	_ sync.Mutex
	_ atomic.Int64
	_ = cr.Reader
	_ = os.Args
	_ http.Header
	_ bbolt.DB
	_ = quorum.N
	_ = clock.N
	_ multipaxos.Fine
	_ context.Context
)
