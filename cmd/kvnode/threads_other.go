//go:build !linux

package main

import (
	"errors"
	"time"
)

// relaxMonitor is for Linux.
func relaxMonitor(time.Duration) error { return errors.ErrUnsupported }

// beBatch is for Linux.
func beBatch() error { return errors.ErrUnsupported }

// beRealtime is for Linux.
func beRealtime() error { return errors.ErrUnsupported }
