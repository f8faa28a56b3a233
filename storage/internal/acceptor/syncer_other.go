//go:build !linux || (!amd64 && !arm64)

package acceptor

import (
	"os"

	"tenure/storage/internal/disk"
)

// syncer makes a file's data durable. Not safe for concurrent use.
type syncer struct{ file *os.File }

func newSyncer(f *os.File) *syncer { return &syncer{file: f} }

// Sync returns when all that was written to the file before is durable. After an error nobody knows what is.
func (s *syncer) Sync() error { return disk.DataSync(s.file) }

// Close has nothing to give back.
func (s *syncer) Close() {}
