package kv

import (
	"fmt"
	"strings"
)

// validateParts checks the parts of a transaction or sequence, alone and together.
func (c *Command) validateParts() error {
	if len(c.Parts) > c.Op.maxParts() {
		return c.Op.tooManyParts()
	}
	total, checking, overhead := 0, c.Op == OpSequence, partOverhead
	if c.Op == OpSequence {
		overhead = StepOverhead
	}
	for i := range c.Parts {
		p := &c.Parts[i]
		if err := p.validatePart(c.Op, &checking); err != nil {
			return fmt.Errorf("part %d of the %s: %w", i, c.Op, err)
		}
		total += overhead + len(p.Key) + len(p.NewKey) + len(p.Value) + len(p.Test) + len(p.Session.ID)
	}
	if total > MaxPartsBytes {
		return fmt.Errorf("%w: the parts of the %s have about %d bytes, at most %d are allowed", ErrCommand, c.Op, total,
			MaxPartsBytes)
	}
	return c.validateRanges()
}

// maxOverlap bounds how many parts of a command read or delete all keys below prefixes of which one begins with the
// other. Such a part visits every key there, and what was deleted a moment ago, so without the bound one command could
// keep the log busy for seconds.
const maxOverlap = 4

// validateRanges refuses parts that would go through the same keys again and again.
func (c *Command) validateRanges() error {
	var ranges []string // their prefixes
	for i := range c.Parts {
		if r := known(c.Parts[i].Op); r.writes == keysBelow || r.tells == keysBelow {
			ranges = append(ranges, c.Parts[i].Key)
		}
	}
	if len(ranges) > MaxParts {
		return fmt.Errorf("%w: the %s reads or deletes whole prefixes %d times, at most %d are allowed", ErrCommand, c.Op,
			len(ranges), MaxParts)
	}
	for _, prefix := range ranges {
		over := 0
		for _, other := range ranges {
			if strings.HasPrefix(prefix, other) {
				over++
			}
		}
		if over > maxOverlap {
			return fmt.Errorf("%w: the %s reads or deletes all that begins with %.80q %d times, at most %d are allowed: use "+
				"several", ErrCommand, c.Op, prefix, over, maxOverlap)
		}
	}
	return nil
}

// validatePart checks a part of a transaction or sequence. checking is whether it may be a check at the beginning of a
// sequence, and becomes whether it is one.
func (p *Part) validatePart(of Op, checking *bool) error {
	r, has := known(p.Op), p.present()
	*checking = *checking && r.check
	belongs, none := r.part, fenced|hasParts|hasMode|hasTest
	if of == OpSequence {
		belongs, none = r.step || *checking, fenced|hasParts|hasLock|hasSessionID
	}
	if !belongs || has&none != 0 {
		return fmt.Errorf("%w: operation %d, or a field of it, does not belong there", ErrCommand, p.Op)
	}
	if err := p.validate(has); err != nil {
		return err
	}
	return p.validatePartSession()
}

// maxParts returns how many parts a command of op may have.
func (op Op) maxParts() int {
	if op == OpSequence {
		return MaxSteps
	}
	return MaxParts
}

func (op Op) tooManyParts() error {
	return fmt.Errorf("%w: the %s has more than %d parts", ErrCommand, op, op.maxParts())
}

const (
	// StepOverhead bounds what a step takes beside its keys and values once it is encoded.
	StepOverhead = 96
	// partOverhead bounds what a part of a transaction takes beside its keys, its value and its session.
	partOverhead = 192
)
