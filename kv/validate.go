package kv

import (
	"crypto/sha256"
	"fmt"
)

// Validate reports the first thing about c that would make every node answer CodeMalformed. A field that c's Op does
// not use must be zero, so that no client relies on an ignored field. Without an idempotency key Base means nothing.
func (c *Command) Validate() error {
	if known(c.Op).inside {
		return fmt.Errorf("%w: operation %d is for transactions and sequences only", ErrCommand, c.Op)
	}
	if err := c.validate(c.present()); err != nil {
		return err
	}
	if err := c.validateSession(); err != nil {
		return err
	}
	return c.validateParts()
}

// validate makes the checks that commands and parts have in common, except those of sessions. has is what c has.
func (c *Command) validate(has fields) error {
	r := known(c.Op)
	if r.named == 0 {
		return fmt.Errorf("%w: operation %d is not known to this version", ErrCommand, c.Op)
	}
	if err := c.validateNames(r.named, has); err != nil {
		return err
	}
	if extra := has &^ (r.takes | hasMode); extra != 0 {
		return fmt.Errorf("%w: operation %d takes no %s", ErrCommand, c.Op, extra)
	}
	switch {
	case !c.HasIndex && c.Index != 0 && c.Op != OpCheckIndex:
		return fmt.Errorf("%w: index %d without a condition", ErrCommand, c.Index)
	case len(c.Test)+len(c.Value) > MaxValueBytes:
		return fmt.Errorf("%w: the value has %d bytes, at most %d are allowed",
			ErrCommand, len(c.Test)+len(c.Value), MaxValueBytes)
	case len(c.IdemKey) > MaxIdemKeyBytes:
		return fmt.Errorf("%w: the idempotency key has %d bytes, at most %d are allowed",
			ErrCommand, len(c.IdemKey), MaxIdemKeyBytes)
	case has&(moreFields|hasMode|hasSaid) != 0:
		if err := c.validateMore(); err != nil {
			return err
		}
	}
	if r.rule != 0 {
		return c.validateRule(r.rule)
	}
	return nil
}

// validateNames checks the keys of c.
func (c *Command) validateNames(n named, has fields) error {
	if n == byNone {
		if c.Key != "" {
			return fmt.Errorf("%w: operation %d takes no key", ErrCommand, c.Op)
		}
		return nil
	}
	if n == byKey && c.Key == "" {
		return errNoKey
	}
	if err := ValidatePrefix(c.Key); err != nil {
		return err
	}
	if c.Op == OpRename || has&hasNewKey != 0 {
		return ValidateKey(c.NewKey)
	}
	return nil
}

// validateMore checks the fields that few commands have.
func (c *Command) validateMore() error {
	switch {
	case c.TTL < 0 || c.TTL > MaxTTL:
		return fmt.Errorf("%w: a TTL of %v: must be from 0 to %v", ErrCommand, c.TTL, MaxTTL)
	case !c.validMode():
		return fmt.Errorf("%w: mode %d of operation %d is not known to this version, or excludes what else it has",
			ErrCommand, c.Mode, c.Op)
	case c.Lock > LockRelease:
		return fmt.Errorf("%w: lock %d is not known to this version", ErrCommand, c.Lock)
	case c.Lock != LockNone && c.HasIndex:
		return fmt.Errorf("%w: a lock and an index exclude each other", ErrCommand)
	case c.Said != "" && (len(c.Said) != sha256.Size || c.IdemKey == ""):
		return fmt.Errorf("%w: a hash of %d bytes of what was sent: must be %d bytes, of a command with an idempotency key",
			ErrCommand, len(c.Said), sha256.Size)
	case c.Fence == "" && c.Token != 0:
		return fmt.Errorf("%w: token %d without a fence", ErrCommand, c.Token)
	}
	if c.Fence != "" {
		return ValidateFence(c.Fence)
	}
	return nil
}

// validateRule checks what the rule of c's operation says.
func (c *Command) validateRule(r rule) error {
	switch {
	case r == isQuota:
		return c.validateQuota()
	case r == isACL:
		return c.validateACL()
	case r == arePairs:
		return c.validatePairs()
	case r == namesRun && c.IdemKey == "":
		return fmt.Errorf("%w: a new era without the key of the run that asks for it", ErrCommand)
	case r == namesFence && c.Fence == "":
		return fmt.Errorf("%w: no fence is named", ErrCommand)
	case r == isLevel && (c.Num < 1 || len(c.Value) > MaxReleaseBytes):
		return fmt.Errorf("%w: feature level %d of a release whose name has %d bytes: must be at least 1, and at "+
			"most %d", ErrCommand, c.Num, len(c.Value), MaxReleaseBytes)
	case r == isPiece && c.Num < 0:
		return fmt.Errorf("%w: piece %d of an upload: must be from 0 up", ErrCommand, c.Num)
	}
	return nil
}

// validateQuota checks what an OpQuota asks for.
func (c *Command) validateQuota() error {
	if len(c.Key) > MaxQuotaPrefixBytes {
		return fmt.Errorf("%w: the prefix of a quota has %d bytes, at most %d are allowed", ErrCommand, len(c.Key),
			MaxQuotaPrefixBytes)
	}
	if c.Arm != 0 && len(c.Value) > 0 {
		return fmt.Errorf("%w: a quota is counted or set, not both", ErrCommand)
	}
	if len(c.Value) == 0 {
		return nil
	}
	if _, _, ok := ParseQuotaLimits(c.Value); !ok {
		return fmt.Errorf("%w: a quota must have a limit of bytes or of keys, of at most %d", ErrCommand,
			uint64(MaxQuota))
	}
	return nil
}

var errNoKey = fmt.Errorf("%w: the key is empty", ErrCommand)
