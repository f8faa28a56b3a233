//go:build !linux

package web

import "syscall"

// keepUnsentShort does nothing where it is not known how.
func keepUnsentShort(string, string, syscall.RawConn) error { return nil }
