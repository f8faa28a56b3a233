//go:build tenure_older

package kv

// NewestLevel is that of a build which stands in for an older release, in tests of upgrades: it knows no command of
// this release's level.
const NewestLevel = 0
