package client

import (
	"errors"
	"fmt"
	"time"
	"unicode/utf8"

	"tenure/api"
)

// MaxKeyBytes is the length of the longest key.
const MaxKeyBytes = api.MaxKeyBytes

// kv has the calls on keys. It is the part of Client that locks and semaphores need too.
type kv struct{ s *sender }

// Mode is what a read promises.
type Mode uint8

// The modes of reads.
const (
	// Default reads are linearizable while the clock rates of the nodes err by less than the configured drift.
	Default Mode = iota
	// Consistent reads are linearizable without that assumption. They cost a round of messages between the nodes.
	Consistent
	// Stale reads return the applied state of the node that answers, however old. They work without a master.
	Stale
)

// ReadOptions says how to read. The zero value is a linearizable read.
type ReadOptions struct {
	Mode Mode
}

// ListOptions says what to list under a prefix. The zero value lists everything, linearizably and in key order.
type ListOptions struct {
	Mode    Mode
	Limit   int  // the most to list; 0: no limit
	Reverse bool // descending key order
	// Start is the first key to list, in the direction of the listing; it need not exist. "" is the first of all. To
	// read pages of n, ask for n+1 and start the next page with the last key.
	Start string
	// Separator (Keys only) returns all keys that agree up to its first appearance after the prefix as one.
	Separator string
}

// WriteOptions goes with a write. The zero value is a plain new write.
type WriteOptions struct {
	// Flags are stored with the entry. Only for Set, CompareAndSet, Locks.LockKey and Locks.UnlockKey.
	Flags uint64
	// TTL is how long the key lives. 0: it stays, also if it had a TTL before. Only for the calls that take Flags;
	// others return ErrInvalid.
	TTL time.Duration
	// Fence, if it has a name, makes the cluster refuse the write with ErrFenced once it has seen a larger token. For
	// writes of keys, and transactions.
	Fence Fence
	// IfIndex, if not 0, makes the cluster refuse the write with ErrCondition unless the policy or token has that
	// ModifyIndex. Only for ACL.UpdatePolicy, UpdateToken, DeletePolicy and DeleteToken; others return ErrInvalid.
	IfIndex uint64
	// Once, if it has a key, makes this another try of an earlier write, whose Error.Once it is. The outcome of that
	// earlier try counts as unknown from the start, unless Once.New is set.
	Once Once
}

// Meta describes the state that a read saw.
type Meta struct {
	Index       uint64        // of the entry or prefix, for GetWait, ListWait and KeysWait; never 0
	LastContact time.Duration // for how long the node has heard from no master since it was started; 0 on the master
	KnownLeader bool
	Revision    uint64 // of the whole store: a Watch continues from here; 0 if nothing was ever written
}

// Entry is a key with its value.
type Entry struct {
	Key         string
	Value       []byte
	Flags       uint64
	CreateIndex uint64 // the revision that created the key
	ModifyIndex uint64 // the revision of the last change, which CompareAndSet compares
	LockIndex   uint64 // how often the key was locked
	Session     string `json:",omitempty"` // ID of the session that holds the lock
	// ExpiresIn is about how long the key had left to live when it was read; 0: it stays. Only reads return it.
	ExpiresIn time.Duration `json:"-"`
}

// meta returns the Meta of an answer.
func (a answer) meta() Meta {
	return Meta{
		Index:       a.number(api.HeaderIndex),
		LastContact: time.Duration(a.number(api.HeaderLastContact)) * time.Millisecond,
		KnownLeader: a.header.Get(api.HeaderKnownLeader) == "true",
		Revision:    a.number(api.HeaderRevision),
	}
}

// decodeEntries decodes a listing.
func decodeEntries(a answer) ([]Entry, error) {
	var wire []api.Entry
	if err := decodeJSON(a, &wire); err != nil || len(wire) == 0 {
		return nil, err
	}
	entries := make([]Entry, len(wire))
	for i := range wire {
		var err error
		if entries[i], err = entryOf(&wire[i]); err != nil {
			return nil, err
		}
	}
	return entries, nil
}

// entryOf converts an entry of the API.
func entryOf(w *api.Entry) (Entry, error) {
	e := Entry{
		Key: w.Key, Value: w.Value, Flags: w.Flags, Session: w.Session,
		CreateIndex: w.CreateIndex, ModifyIndex: w.ModifyIndex, LockIndex: w.LockIndex,
	}
	if w.ExpiresIn == "" {
		return e, nil
	}
	d, err := time.ParseDuration(w.ExpiresIn)
	if err != nil {
		return e, errNotUnderstood
	}
	e.ExpiresIn = max(d, 1) // 0 would mean that it stays
	return e, nil
}

// pathOf returns the path of a key or prefix.
func pathOf(key string) string { return api.PathKV + key }

// checkKey returns an error for a key that every node would refuse. An empty key would make another request.
func checkKey(key string) error {
	switch {
	case key == "":
		return errors.New("the key is empty: a key has 1 to 1,024 bytes")
	case len(key) > MaxKeyBytes:
		return fmt.Errorf("the key has %d bytes: a key has 1 to 1,024", len(key))
	case !utf8.ValidString(key):
		return errors.New("the key is not UTF-8")
	}
	return nil
}
