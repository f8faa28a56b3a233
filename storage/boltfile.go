package storage

import "io"

// WalkBolt reads a bbolt file of another program. It calls visit with each record of each bucket, in the order of
// bucket and key; key and record are valid until visit returns. Nothing may write to the file meanwhile. It uses plain
// bounded reads, holds one page for each level of the tree in memory, and returns an error for a file that is damaged
// or not of bbolt. It cannot tell whether keys and records are as they were written: the file has no checksums of them.
func WalkBolt(r io.ReaderAt, size int64, visit func(bucket string, key, record []byte) error) error {
	m, err := newestMeta(r, size)
	if err != nil {
		return err
	}
	w := walker{r: r, meta: m, visit: visit}
	return w.walk()
}
