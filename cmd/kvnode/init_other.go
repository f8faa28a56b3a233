//go:build !linux

package main

import (
	"tenure/server/guardian"
)

const lingers = guardian.SpeaksFor

// runInit refuses: only Linux has containers of this kind, and guardians.
func runInit([]string, []string) (int, error) { return 0, guardian.ErrUnsupported }
