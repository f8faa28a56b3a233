package storage

import (
	"io"
)

// WalkBolt reads a bbolt file of another program: it calls visit with each record of each bucket, in the order of bucket
// and key; key and record are valid until visit returns. Nothing writes to the file meanwhile. It reads with plain reads
// and a bound on everything, holds a page for each level of the tree in memory, and is safe with anything: what is no
// bbolt file, or a damaged one, is an error. That keys and records are as they were written is not told by the file.
func WalkBolt(r io.ReaderAt, size int64, visit func(bucket string, key, record []byte) error) error {
	m, err := newestMeta(r, size)
	if err != nil {
		return err
	}
	w := walker{r: r, meta: m, visit: visit}
	return w.walk()
}
