//go:build !tenure_older

package kv

// NewestLevel is the feature level of this release, the highest that its State can have.
const NewestLevel = 1
