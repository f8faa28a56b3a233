package service

import (
	"time"

	"tenure/kv"
	"tenure/server/slow"
)

// Writer has commands applied.
type Writer interface {
	// Write has the command applied once, through the master wherever it is. Its error is one of those of a Node.
	// c.Value is not used after Write returns, also when it returns early: the caller reads the next body into it.
	// It adds to took where the time went; took may be nil.
	Write(timeout time.Duration, c kv.Command, took *slow.Write) (kv.Result, error)
	// WriteDrawn is Write of a command whose key and base are this node's own: no client has sent it before.
	WriteDrawn(timeout time.Duration, c kv.Command, took *slow.Write) (kv.Result, error)
}
