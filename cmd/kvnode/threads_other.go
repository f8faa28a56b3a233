//go:build !linux

package main

import "errors"

// relaxMonitor is for Linux.
func relaxMonitor() error { return errors.ErrUnsupported }

// beBatch is for Linux.
func beBatch() error { return errors.ErrUnsupported }
