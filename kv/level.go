package kv

import (
	"errors"
	"fmt"
)

// LevelOfACL is the feature level from which on there are tokens, policies and Command.Decided.
const LevelOfACL = 1

// levelOfIndexes is the feature level from which on OpDropFence may set a floor and OpPrune may have a condition.
const levelOfIndexes = 1

// ErrNewer is wrapped by errors that mean that the state has a feature level which this release does not know. The node
// must stop: it would apply later commands differently from the other nodes.
var ErrNewer = errors.New("feature level of a newer release")

// newer returns the error for a state that a node of the given release has raised to level.
func newer(level uint64, release string) error {
	return fmt.Errorf("%w: the cluster's feature level is %d, of release %.*q, and this one knows up to level %d: run "+
		"that release or a later one on this node; nothing is damaged", ErrNewer, level, MaxReleaseBytes, release,
		NewestLevel)
}

// MaxReleaseBytes bounds the name of a release in an OpLevel.
const MaxReleaseBytes = 64

// Level returns the cluster's feature level: 0 until an OpLevel has raised it. It never falls.
func (s *State) Level() uint64 { return s.exec.reg.level }

// Level returns the lowest feature level at which c is applied. Below it a node answers CodeLevel, or CodeMalformed if
// its release does not know c, and neither changes nor remembers anything, so that all states stay equal.
func (c *Command) Level() uint64 {
	level := c.ownLevel()
	if c.Decided != 0 {
		level = max(level, LevelOfACL)
	}
	for i := range c.Parts {
		level = max(level, c.Parts[i].ownLevel())
	}
	return level
}

// ownLevel is Level without regard to parts and Decided.
func (c *Command) ownLevel() uint64 {
	level := known(c.Op).level
	if c.HasIndex && (c.Op == OpDropFence || c.Op == OpPrune) {
		level = max(level, levelOfIndexes)
	}
	return level
}

// Level returns the lowest feature level at which a state has records of s.
func (s RecordKind) Level() uint64 {
	if s > KindMembers {
		return 1
	}
	return 0
}

// allows reports whether c may be applied at the state's feature level. It is checked before the idempotency key, since
// a release that does not know c does not remember its key either.
func (s *State) allows(c *Command) bool { return c.Level() <= s.Level() }

// raise carries out OpLevel. It changes nothing if the level is already reached.
func (r *registers) raise(c *Command, l *ledger) (Result, error) {
	level := uint64(c.Num)
	if level > NewestLevel {
		return Result{}, newer(level, string(c.Value))
	}
	if level > r.level {
		r.level, r.release = level, string(c.Value)
	}
	done := l.unchanged(CodeDone)
	done.Count = r.level
	return done, nil
}
