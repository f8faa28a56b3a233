package kv

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"time"

	"tenure/internal/codec"
)

// ErrCommand is wrapped by every error about a command, key or batch that no node would apply.
var ErrCommand = errors.New("invalid command")

// The header of a command, field by field, is what codec.Marshal would make of
//
//	struct { Op Op; Key string; Mode Mode; Flags uint64; HasIndex bool; Index uint64; IdemKey string; Base uint64; More []byte }
//
// and, from feature level 1 on, Decided uint64 and Said []byte, but without the fields behind the last that is used
// (headerFields): a plain set has two. More is a commandMore. The order of the fields is the encoding. Reflection over
// the header took half the time of Apply; command_test.go holds it against the library.

// commandMore is the fields that most commands leave zero.
type commandMore struct {
	Lock      Lock
	TTL       time.Duration
	Num       int64
	NewKey    string
	TestBytes uint64 // of the payload, which are Test; the rest is Value
	Session   moreSession
	Arm       uint64
	Fence     string
	Token     uint64
}

// moreSession is what a command says of a session.
type moreSession struct {
	ID        string
	Name      string
	Node      string
	LockDelay time.Duration
	Behavior  Behavior
	TTL       time.Duration
}

// more returns what c needs beyond a plain header.
func (c *Command) more() commandMore {
	return commandMore{
		Lock: c.Lock, TTL: c.TTL, Num: c.Num, NewKey: c.NewKey, TestBytes: uint64(len(c.Test)), Arm: c.Arm,
		Fence: c.Fence, Token: c.Token,
		Session: moreSession{ID: c.Session.ID, Name: c.Session.Name, Node: c.Session.Node,
			LockDelay: c.Session.LockDelay, Behavior: c.Session.Behavior, TTL: c.Session.TTL},
	}
}

// EncodeCommand returns c as it is sent and stored: the length of the header as a uvarint, the header in msgpack, and
// the payload. The payload is the value; Test and the value; or the parts as a batch. It stays out of the msgpack
// because it is the one large thing: it is copied once, and its cost is in proportion to its length. EncodeCommand does
// not check c: see Command.Validate.
func EncodeCommand(c *Command) []byte {
	var scratch [headerSpace]byte
	header := appendHeader(scratch[:0], c)
	size := binary.MaxVarintLen16 + len(header) + len(c.Test) + len(c.Value)
	for i := range c.Parts {
		p := &c.Parts[i]
		size += partSpace + len(p.Key) + len(p.NewKey) + len(p.Session.ID) + len(p.Test) + len(p.Value)
	}
	b := appendPayload(make([]byte, 0, size), header, c)
	for i := range c.Parts {
		p := &c.Parts[i]
		header := appendHeader(scratch[:0], p)
		b = binary.AppendUvarint(b, uint64(payloadBytes(header, p)))
		b = appendPayload(b, header, p)
	}
	return b
}

// appendPayload writes a command whose header is encoded, without its parts: payloadBytes is how many bytes that takes.
func appendPayload(b, header []byte, c *Command) []byte {
	b = binary.AppendUvarint(b, uint64(len(header)))
	b = append(b, header...)
	b = append(b, c.Test...)
	return append(b, c.Value...)
}

func payloadBytes(header []byte, c *Command) int {
	n := 1
	for rest := len(header) >> 7; rest > 0; rest >>= 7 {
		n++
	}
	return n + len(header) + len(c.Test) + len(c.Value)
}

const (
	// headerSpace is enough for the header of a plain command with a short key.
	headerSpace = 192
	// partSpace is what most parts take beside their keys and values. A guess too low costs a copy.
	partSpace = 32
)

func appendHeader(b []byte, c *Command) []byte {
	more := c.present()&moreFields != 0
	n := headerFields(c, more)
	b = codec.AppendArray(b, n)
	b = codec.AppendUint(b, uint64(c.Op))
	b = codec.AppendString(b, c.Key)
	if n > 2 {
		b = codec.AppendUint(b, uint64(c.Mode))
	}
	if n > 3 {
		b = codec.AppendUint(b, c.Flags)
	}
	if n > 4 {
		b = codec.AppendUint(codec.AppendBool(b, c.HasIndex), c.Index)
	}
	if n > 6 {
		b = codec.AppendUint(codec.AppendString(b, c.IdemKey), c.Base)
	}
	switch {
	case more:
		m := c.more()
		b = codec.AppendBytes(b, codec.Marshal(&m))
	case n > 8:
		b = codec.AppendNil(b)
	}
	if n > 9 {
		b = codec.AppendUint(b, c.Decided)
	}
	if n > 10 {
		b = codec.AppendBytes(b, []byte(c.Said))
	}
	return b
}

// headerFields returns how many fields the header of c has: those up to the last that is not zero. HasIndex and Index
// come together, and so do IdemKey and Base.
func headerFields(c *Command, more bool) int {
	switch {
	case c.Said != "":
		return 11
	case c.Decided != 0:
		return 10
	case more:
		return 9
	case c.IdemKey != "" || c.Base != 0:
		return 8
	case c.HasIndex || c.Index != 0:
		return 6
	case c.Flags != 0:
		return 4
	case c.Mode != 0:
		return 3
	}
	return 2
}

// DecodeCommand returns the valid command that fills b. It copies: the result does not keep b alive. An empty value
// comes out nil. Errors wrap ErrCommand.
func DecodeCommand(b []byte) (Command, error) {
	var c Command
	if err := decodeCommand(b, &c); err != nil {
		return Command{}, err
	}
	return c, nil
}

// decodeCommand is DecodeCommand into a zero c, except that c.Parts may have space. After an error c is of no use.
func decodeCommand(b []byte, c *Command) error {
	payload, err := decodeHeader(b, c)
	if err != nil {
		return err
	}
	if c.Op.hasParts() {
		if err := decodeParts(payload, c); err != nil {
			return err
		}
		return c.Validate()
	}
	c.Value = payload
	if err := c.Validate(); err != nil {
		return err
	}
	c.Test, c.Value = owned(c.Test), owned(c.Value)
	return nil
}

// owned returns a copy of b, nil if b is empty. It takes half the time of an append to nil.
func owned(b []byte) []byte {
	if len(b) == 0 {
		return nil
	}
	c := make([]byte, len(b))
	copy(c, b)
	return c
}

// decodeHeader reads everything before the payload, and cuts Test off that, uncopied.
func decodeHeader(b []byte, c *Command) (payload []byte, err error) {
	if len(b) > MaxCommandBytes {
		return nil, fmt.Errorf("%w: it has %d bytes, at most %d are allowed", ErrCommand, len(b), MaxCommandBytes)
	}
	header, payload, ok := cutPiece(b)
	if !ok {
		return nil, fmt.Errorf("%w: %d bytes end within the header", ErrCommand, len(b))
	}
	r := codec.NewReader(header)
	f := r.Struct()
	c.Op, c.Key = Op(f.Small(math.MaxUint8)), string(f.Bytes())
	var more []byte
	if f.More() {
		c.Mode, c.Flags, c.HasIndex, c.Index, c.IdemKey, c.Base = Mode(f.Small(math.MaxUint8)), f.Uint(), f.Bool(), f.Uint(),
			string(f.Bytes()), f.Uint()
		more, c.Decided, c.Said = f.Bytes(), f.Uint(), string(f.Bytes())
		f.End()
	}
	if err := r.End(); err != nil {
		return nil, fmt.Errorf("%w: %w", ErrCommand, err)
	}
	if len(more) == 0 {
		return payload, nil
	}
	test, err := decodeMore(more, c)
	if err != nil {
		return nil, err
	}
	if test > uint64(len(payload)) {
		return nil, fmt.Errorf("%w: the value to compare has %d bytes, %d are there", ErrCommand, test, len(payload))
	}
	c.Test = payload[:test]
	return payload[test:], nil
}

// decodeMore reads what is beyond a plain header, and returns the length of Test.
func decodeMore(b []byte, c *Command) (test uint64, err error) {
	var m commandMore
	if err := codec.Unmarshal(b, &m); err != nil {
		return 0, fmt.Errorf("%w: %w", ErrCommand, err)
	}
	c.Lock, c.TTL, c.Num, c.NewKey, c.Arm, c.Fence, c.Token = m.Lock, m.TTL, m.Num, m.NewKey, m.Arm, m.Fence, m.Token
	c.Session = Session{ID: m.Session.ID, Name: m.Session.Name, Node: m.Session.Node,
		LockDelay: m.Session.LockDelay, Behavior: m.Session.Behavior, TTL: m.Session.TTL}
	return m.TestBytes, nil
}

// decodeParts reads the parts of a transaction or sequence, which validates them.
func decodeParts(payload []byte, c *Command) error {
	if len(payload) > MaxPartsBytes {
		return fmt.Errorf("%w: the parts have %d bytes, at most %d are allowed",
			ErrCommand, len(payload), MaxPartsBytes)
	}
	var broken error
	err := DecodeBatch(payload, func(b []byte) bool {
		if len(c.Parts) == c.Op.maxParts() {
			broken = c.Op.tooManyParts()
			return false
		}
		c.Parts = append(c.Parts, Part{})
		broken = decodePart(b, &c.Parts[len(c.Parts)-1])
		return broken == nil
	})
	if err == nil {
		err = broken
	}
	return err
}

// decodePart is decodeCommand for a part, which has no parts itself. The transaction or sequence validates it.
func decodePart(b []byte, p *Part) error {
	payload, err := decodeHeader(b, p)
	if err != nil {
		return err
	}
	if p.Op.hasParts() {
		return fmt.Errorf("%w: a transaction or sequence within another", ErrCommand)
	}
	p.Test = owned(p.Test)
	p.Value = owned(payload)
	return nil
}
