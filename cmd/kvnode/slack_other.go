//go:build !linux

package main

import "errors"

// relaxMonitor is for Linux.
func relaxMonitor() error { return errors.ErrUnsupported }
