package storage

import (
	"errors"

	"tenure/storage/internal/disk"
	"tenure/storage/internal/space"
	"tenure/storage/internal/state"
)

// Errors that those of this package wrap. Each message is one line that says what is wrong and how to mend it.
var (
	// ErrDamaged: data on the disk is not the data that was written, or a part is missing. No damaged data was
	// returned. The node must stop, and must not be started on this directory again.
	ErrDamaged = disk.ErrDamaged
	// ErrFailed: a write or sync failed inside a transaction, so that what is durable is not known. Every later call
	// fails with the first error; the process must end, and a new one finds out what the disk holds.
	ErrFailed = disk.ErrFailed
	// ErrInUse: another process has the directory.
	ErrInUse = errors.New("data directory in use")
	// ErrUnusable: the directory cannot be used as it is: not a directory, not writable, or no space.
	ErrUnusable = disk.ErrUnusable
	// ErrTooSmall: the file system is too small to keep the reserve. Nothing was touched.
	ErrTooSmall = space.ErrTooSmall
	// ErrOtherNode: the directory, or a file in it, belongs to another node.
	ErrOtherNode = disk.ErrOtherNode
	// ErrCopied: the directory is a copy of the one that the node wrote.
	ErrCopied = errors.New("copied data directory")
	// ErrFormed: the store has accepted a bootstrap already, and accepts only one.
	ErrFormed = errors.New("already formed")
	// ErrRefused: a record that would break a rule was asked for; nothing was written.
	ErrRefused = disk.ErrRefused
	// ErrInterrupted: a checkpoint was not made, or not to its end, because of Interrupt. The store goes on.
	ErrInterrupted = state.ErrInterrupted
	// ErrClosed: the store was closed.
	ErrClosed = disk.ErrClosed
	// ErrBadPiece: a piece or a position is not what a sender of this snapshot made, or not the next one. No part of it
	// was taken, and it may be asked for again.
	ErrBadPiece = state.ErrBadPiece
	// ErrNoSpace: there is no space for a snapshot. The store was not touched.
	ErrNoSpace = state.ErrNoSpace
	// ErrNoHoles: the file system of the data directory does not support holes.
	ErrNoHoles = state.ErrNoHoles
)
