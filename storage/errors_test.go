package storage

import (
	"path/filepath"
	"testing"

	"tenure/storage/internal/disk"
)

// An error of the disk names the file and says what to do, wherever it is noticed.
func TestErrorsOfTheDiskNameTheFile(t *testing.T) {
	for name, c := range map[string]struct {
		harm   func(s *Store) // makes the next call fail as if the disk had failed
		call   func(s *Store) error
		kind   error
		file   string
		advice string
	}{
		"start record": {
			func(s *Store) { s.log.File().Close() },
			func(s *Store) error { return s.Start(StartRecord{Restart: 9}) }, ErrFailed, disk.LogName, "mend the disk",
		},
		"size of log.db": {func(s *Store) { s.log.File().Close() }, (*Store).Refresh, ErrUnusable, disk.LogName, "check"},
	} {
		t.Run(name, func(t *testing.T) {
			s := open(t, t.TempDir(), small)
			path := filepath.Join(s.files.Dir, c.file)
			c.harm(s)
			wantError(t, c.call(s), c.kind, path, c.advice)
		})
	}
}
