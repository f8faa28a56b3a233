package kv

import (
	"encoding/binary"
	"errors"
	"fmt"
	"unicode/utf8"

	"tenure/internal/codec"
)

// ErrCommand is wrapped by every error about a command, key or batch that no node would apply.
var ErrCommand = errors.New("invalid command")

// commandHeader is what is encoded of a Command before its value. The order of the fields is the encoding: new ones go
// to the end.
type commandHeader struct {
	Op       Op
	Key      string
	Flags    uint64
	HasIndex bool
	Index    uint64
	IdemKey  string
	Base     uint64
}

// EncodeCommand is c as it travels and is stored: the length of the header as a uvarint, the header in msgpack, and the
// value, which is the rest. The value stays out of the msgpack because it is the one large thing: it is copied once,
// and its cost is in proportion to its length. EncodeCommand does not check c: see Command.Validate.
func EncodeCommand(c *Command) []byte {
	header := codec.Marshal(&commandHeader{
		Op: c.Op, Key: c.Key, Flags: c.Flags, HasIndex: c.HasIndex, Index: c.Index, IdemKey: c.IdemKey, Base: c.Base,
	})
	b := make([]byte, 0, binary.MaxVarintLen16+len(header)+len(c.Value))
	b = binary.AppendUvarint(b, uint64(len(header)))
	b = append(b, header...)
	return append(b, c.Value...)
}

// DecodeCommand is the valid command that fills b. It copies: the result does not keep b alive. An empty value comes out
// nil. Errors wrap ErrCommand.
func DecodeCommand(b []byte) (Command, error) {
	var h commandHeader
	return decodeCommand(b, &h)
}

// decodeCommand is DecodeCommand with a header to decode into, whatever was in it.
func decodeCommand(b []byte, h *commandHeader) (Command, error) {
	if len(b) > MaxCommandBytes {
		return Command{}, fmt.Errorf("%w: it has %d bytes, at most %d are allowed", ErrCommand, len(b), MaxCommandBytes)
	}
	header, value, ok := cutPiece(b)
	if !ok {
		return Command{}, fmt.Errorf("%w: %d bytes end within the header", ErrCommand, len(b))
	}
	*h = commandHeader{} // a shorter array would leave old fields
	if err := codec.Unmarshal(header, h); err != nil {
		return Command{}, fmt.Errorf("%w: %w", ErrCommand, err)
	}
	c := Command{
		Op: h.Op, Key: h.Key, Value: value, Flags: h.Flags, HasIndex: h.HasIndex, Index: h.Index,
		IdemKey: h.IdemKey, Base: h.Base,
	}
	if err := c.Validate(); err != nil {
		return Command{}, err
	}
	c.Value = append([]byte(nil), value...)
	return c, nil
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
		return fmt.Errorf("%w: the idempotency key has %d bytes, at most %d are allowed",
			ErrCommand, len(c.IdemKey), MaxIdemKeyBytes)
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
