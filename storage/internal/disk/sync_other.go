//go:build !linux

package disk

import "os"

// DataSync makes the content of f durable.
func DataSync(f *os.File) error { return f.Sync() }
