package kv

import "strings"

// Mode says how a command differs from its plain form.
type Mode uint8

// The modes. Numbers are on disks and wires: they are never reused.
const (
	// ModeAbsent: OpSet, OpPutAll, OpRename: only if the key, or NewKey, is absent, and for OpRename the Count of
	// CodeCondition is then 1; OpSetTTL, OpDelete: if Key has no TTL.
	ModeAbsent  Mode = 1 << 0
	ModePresent Mode = 1 << 1 // OpSet: only if Key exists; OpSetTTL, OpDelete: only if it has a TTL
	ModeEqual   Mode = 1 << 2 // OpSet, OpPutAll, OpDelete, OpSetTTL: only if Key holds Test
	ModeKeep    Mode = 1 << 3 // OpSet: TTL and flags stay as they are
	ModeReturn  Mode = 1 << 4 // Result.Body is the value that was there before; also with CodeCondition
	ModeWhole   Mode = 1 << 5 // OpSequence: all steps or none, see there
	ModeCreate  Mode = 1 << 6 // OpAdd: a key that is absent counts as 0
	ModeEntry   Mode = 1 << 7 // OpDelete: as ModeReturn, but the whole entry (DecodeEntries)
)

// validMode reports whether c has only modes that its Op takes, and none that exclude each other.
func (c *Command) validMode() bool {
	exclusive := c.Mode & conditions
	switch {
	case c.Mode&^known(c.Op).modes != 0, exclusive&(exclusive-1) != 0:
		return false
	case len(c.Test) > 0 && c.Mode&ModeEqual == 0:
		return false
	}
	return c.Mode&ModeKeep == 0 || c.TTL == 0 && c.Flags == 0
}

// modeNames is the names of the modes, by bit: all bits are used.
var modeNames = [...]string{"if-absent", "if-present", "if-equal", "keep", "return", "whole", "create", "entry"}

// String returns the names of the modes in m, separated by spaces.
func (m Mode) String() string {
	var names []string
	for i, name := range modeNames {
		if m&(1<<i) != 0 {
			names = append(names, name)
		}
	}
	return strings.Join(names, " ")
}
