package storage

import (
	"time"

	bolt "go.etcd.io/bbolt"

	"tenure/internal/oslimit"
)

// logBolt: the free list is not written with each commit, it is found by a scan when the file is opened.
// stateBolt: no scan, the file may be large. The list must find space for itself, in one run of pages, with each
// checkpoint. The array is used up from the file's beginning and leaves such runs; the map breaks them up until the
// list goes to the file's end each time (TestStateDBFileStopsGrowing; 100,000 keys: 178 MiB of 223 free after 40
// minutes of writes, and growing).
var (
	logBolt = bolt.Options{NoFreelistSync: true, FreelistType: bolt.FreelistMapType, Timeout: time.Second,
		OpenFile: oslimit.OpenFile}
	stateBolt = bolt.Options{FreelistType: bolt.FreelistArrayType, Timeout: time.Second, OpenFile: oslimit.OpenFile}
)
