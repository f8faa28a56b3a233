package kv

import (
	"errors"
	"fmt"
	"unicode/utf8"

	"tenure/internal/codec"
)

// ErrCommand is wrapped by every error about a command, key or batch that no node would apply.
var ErrCommand = errors.New("invalid command")

// EncodeCommand is c as it travels and is stored. It does not check c: see Command.Validate.
func EncodeCommand(c *Command) []byte { return codec.Marshal(c) }

// DecodeCommand is the valid command that fills b. It copies: the result does not keep b alive. Errors wrap
// ErrCommand.
func DecodeCommand(b []byte) (Command, error) {
	var c Command
	if err := decodeCommand(b, &c); err != nil {
		return Command{}, err
	}
	return c, nil
}

func decodeCommand(b []byte, c *Command) error {
	*c = Command{} // a shorter array would leave old fields
	if len(b) > MaxCommandBytes {
		return fmt.Errorf("%w: %d bytes are too many, at most %d", ErrCommand, len(b), MaxCommandBytes)
	}
	if err := codec.Unmarshal(b, c); err != nil {
		return fmt.Errorf("%w: %w", ErrCommand, err)
	}
	return c.Validate()
}

// Validate reports the first thing about c that would make every node answer CodeMalformed. A field that c's Op does
// not use must be zero, so that nobody relies on what is ignored.
func (c *Command) Validate() error {
	switch c.Op {
	case OpSet, OpDelete:
		if err := ValidateKey(c.Key); err != nil {
			return err
		}
	case OpPrune:
		if err := ValidatePrefix(c.Key); err != nil {
			return err
		}
		if c.HasIndex {
			return fmt.Errorf("%w: a prune takes no index", ErrCommand)
		}
	default:
		return fmt.Errorf("%w: operation %d is not known to this version", ErrCommand, c.Op)
	}
	switch {
	case c.Op != OpSet && (len(c.Value) > 0 || c.Flags != 0):
		return fmt.Errorf("%w: only a set takes a value and flags", ErrCommand)
	case !c.HasIndex && c.Index != 0:
		return fmt.Errorf("%w: index %d without a condition", ErrCommand, c.Index)
	case len(c.Value) > MaxValueBytes:
		return fmt.Errorf("%w: the value has %d bytes, at most %d are allowed", ErrCommand, len(c.Value), MaxValueBytes)
	case len(c.IdemKey) > MaxIdemKeyBytes:
		return fmt.Errorf("%w: the idempotency key has %d bytes, at most %d are allowed", ErrCommand, len(c.IdemKey), MaxIdemKeyBytes)
	}
	return nil
}

// ValidateKey reports why key cannot name an entry: 1 to MaxKeyBytes bytes of UTF-8 can. Errors wrap ErrCommand.
func ValidateKey(key string) error {
	if key == "" {
		return fmt.Errorf("%w: the key is empty", ErrCommand)
	}
	return ValidatePrefix(key)
}

// ValidatePrefix is ValidateKey, but lets the empty prefix pass, which every key has.
func ValidatePrefix(prefix string) error {
	if len(prefix) > MaxKeyBytes {
		return fmt.Errorf("%w: the key has %d bytes, at most %d are allowed", ErrCommand, len(prefix), MaxKeyBytes)
	}
	if !utf8.ValidString(prefix) {
		return fmt.Errorf("%w: the key is not UTF-8", ErrCommand)
	}
	return nil
}
