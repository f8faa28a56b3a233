package backend

import (
	"errors"
	"strings"
	"testing"
	"time"

	"tenure/server/replica"
	"tenure/server/service"
)

// What a backup keeps on the disk is bounded in time and in bytes, and given up where space is short.
func TestABackupKeepsNoMoreThanItMay(t *testing.T) {
	for name, c := range map[string]struct {
		left         time.Duration
		space        replica.Space
		grown, bytes int64
		want         string
	}{
		"new":                            {time.Minute, replica.SpaceEnough, 0, 1 << 20, ""},
		"too slow":                       {-time.Second, replica.SpaceEnough, 0, 1 << 20, "too slowly"},
		"at the quota":                   {time.Minute, replica.SpaceLow, 0, 1 << 20, ""},
		"half of the reserve is gone":    {time.Minute, replica.SpaceTight, 0, 1 << 20, "short of space"},
		"nothing is left":                {time.Minute, replica.SpaceNone, 0, 1 << 20, "short of space"},
		"grown, a small one":             {time.Minute, replica.SpaceEnough, backupGrowth, 1 << 20, ""},
		"grown too much, a small one":    {time.Minute, replica.SpaceEnough, backupGrowth + 1, 1 << 20, "has grown"},
		"grown, a large one":             {time.Minute, replica.SpaceEnough, 8 * backupGrowth, 8 * backupGrowth, ""},
		"more than doubled, a large one": {time.Minute, replica.SpaceEnough, 8*backupGrowth + 1, 8 * backupGrowth, "has grown"},
		"it has become smaller":          {time.Minute, replica.SpaceEnough, -backupGrowth, 1 << 20, ""},
	} {
		err := mayKeep(c.left, c.space, c.grown, c.bytes)
		if (c.want == "") != (err == nil) || err != nil && (!errors.Is(err, service.ErrNotApplied) || !strings.Contains(err.Error(), c.want)) {
			t.Errorf("%s: %v, want %q", name, err, c.want)
		}
	}
}

// Slow readers take none of the places that the node has for its archive.
func TestTheArchiveHasAPlaceOfItsOwn(t *testing.T) {
	readers := NewBackups(BackupsConfig{})
	for range maxBackups {
		readers.slots <- struct{}{}
	}
	if _, err := readers.Backup(time.Second); !errors.Is(err, service.ErrOverloaded) {
		t.Errorf("one reader more: %v", err)
	}
	if cap(readers.own) != 1 || len(readers.own) != 0 {
		t.Error("the archive has no place")
	}
	own := NewBackups(BackupsConfig{})
	own.own <- struct{}{}
	if _, err := own.ForArchive(time.Second); !errors.Is(err, service.ErrOverloaded) { // whatever readers there are
		t.Errorf("a second one for the archive: %v", err)
	}
}
