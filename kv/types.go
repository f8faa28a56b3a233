package kv

import "time"

// Op is what a Command does.
type Op uint8

// The commands. Numbers are on disks and wires: they are never reused.
const (
	OpSet    Op = 1 // write Key
	OpDelete Op = 2 // delete Key; done also when it is absent
	OpPrune  Op = 3 // delete every key that starts with Key, which may be empty; Result.Count says how many

	OpAdd         Op = 4 // add Num to the decimal int64 that Key holds; Result.Body is the sum in decimal
	OpTestAndSet  Op = 5 // write Value if Key holds Test; Result.Body is the value now, Result.Count 1 if it was written
	OpRename      Op = 6 // move Key to NewKey, overwriting it; onto itself it changes nothing. CodeCondition if either is locked
	OpRemove      Op = 7 // delete Key; Result.Body is the entry that was there (DecodeEntries)
	OpExpire      Op = 8 // set TTL of Key, or with a TTL of 0 make it permanent; the value stays
	OpTransaction Op = 9 // all of Parts or none; Result.Body is an Outcomes

	OpSessionCreate  Op = 10 // Session, with its ID drawn by the node that received the request; Result.Body is the ID
	OpSessionDestroy Op = 11 // end Session.ID; done also when there is none
	OpSessionRenew   Op = 12 // start the TTL of Session.ID anew; changes no revision

	OpDropFence Op = 13 // forget the largest token of Fence, but keep it as the floor for every name of its kind

	// Logged by the master when a time has passed on its clock. Arm must be that of the Timed they end, else they change
	// nothing: it was armed anew meanwhile.
	OpEndSession Op = 14 // Session.ID expired
	OpEndKey     Op = 15 // Key expired
	OpEndDelay   Op = 16 // the lock-delay of Key has passed; changes no revision

	// OpNewEra allots the next era of the tokens of named leases (N3); Result.Count is the era. Only nodes ask for it. IdemKey must be there
	// and name the node's run: a copy of the command gives no second era, and nobody takes another run's for its own.
	OpNewEra Op = 17
)

// The verbs that only a Part of a transaction has; they change nothing.
const (
	OpGet            Op = 32 // the entry of Key must exist, and is in the outcome
	OpGetOrEmpty     Op = 33 // the entry of Key if it exists
	OpGetTree        Op = 34 // every entry that starts with Key
	OpCheckIndex     Op = 35 // Key's ModifyIndex must be Index, whether HasIndex is set or not
	OpCheckSession   Op = 36 // Key must be locked by Session.ID
	OpCheckNotExists Op = 37 // Key must be absent
	OpCheckValue     Op = 38 // Key must hold Value
)

// Lock is what a set does to the lock of its key.
type Lock uint8

// The kinds of Lock. Numbers are on disks and wires: they are never reused.
const (
	LockNone    Lock = 0
	LockAcquire Lock = 1 // by Session.ID: CodeCondition while another holds it or its lock-delay runs
	LockRelease Lock = 2 // CodeCondition unless Session.ID holds it
)

// Command is one write as a client asks for it. It is encoded once, by the node that receives it; the same bytes go
// to the peers, to the disks and to Apply.
type Command struct {
	Op    Op
	Key   string
	Value []byte
	Flags uint64
	// HasIndex makes OpSet and OpDelete conditional on Key's ModifyIndex being Index. For OpSet an Index of 0 means
	// that Key must be absent. For OpDelete an absent Key satisfies every Index, and a present one never 0.
	HasIndex bool
	Index    uint64
	// IdemKey and Base make the command applied at most once (see the package comment). An empty IdemKey is none; Base
	// means nothing then.
	IdemKey string
	Base    uint64

	Lock    Lock          // OpSet
	TTL     time.Duration // OpSet: the key expires after that long; OpExpire. 0: permanent
	Num     int64         // OpAdd
	NewKey  string        // OpRename
	Test    []byte        // OpTestAndSet
	Session Session       // OpSession…, OpCheckSession, and with a Lock: of these only the ID
	Arm     uint64        // OpEnd…
	Parts   []Part        // OpTransaction, at most MaxParts
	// Fence and Token refuse the command with CodeFenced if a larger token of that name was seen, and else make Token the
	// largest, whatever becomes of the command's condition. The name is `lease/N` or `kv/K`. An empty Fence is none.
	Fence string
	Token uint64
}

// Part is one operation of a transaction: a Command without idempotency key, fence and parts of its own. Its Op is OpSet (with a
// condition or a Lock or neither), OpDelete, OpPrune, OpAdd, OpRename or a verb that only parts have. Its Session.ID may be
// any text of at most MaxPartSessionBytes: one that is no session fails the part.
type Part = Command

// Code tells how a command ended.
type Code uint8

// The codes. Numbers are in the dedup table on disks: they are never reused.
const (
	CodeDone      Code = 1 // applied
	CodeCondition Code = 2 // the condition did not hold; nothing was changed
	CodeKeyReused Code = 3 // the idempotency key was used by another command; nothing was changed
	CodeKeyTooOld Code = 4 // an earlier copy may have been applied: the outcome is unknown; this copy was not
	CodeMalformed Code = 5 // not a command this version knows; nothing was changed
	CodeBaseAhead Code = 6 // Base is above the store's revision, so it was never seen here; nothing was changed
	CodeTooMany   Code = 7 // a prune of more keys than Limits.PruneKeys; nothing was changed

	CodeMissing   Code = 8  // Key must exist and does not; nothing was changed
	CodeNoSession Code = 9  // Session.ID is not a session; nothing was changed
	CodeNotNumber Code = 10 // the value is not a decimal int64, or the sum would not be one; nothing was changed
	CodeFenced    Code = 11 // a larger token of this fence was seen; nothing was changed
	CodeFull      Code = 12 // a table of Limits is full (sessions, locks, expiring keys, fences); nothing was changed
	CodeExists    Code = 13 // a session of this ID exists; nothing was changed
	CodeTooLarge  Code = 14 // the outcome of a transaction would be larger than MaxBodyBytes; nothing was changed

	maxCode = CodeTooLarge
)

// Result is what a command came to.
type Result struct {
	Code     Code
	Revision uint64 // of the change; of the store if nothing changed
	Count    uint64 // keys deleted; see OpTestAndSet
	// Body is what some ops answer, encoded as their comment says. A remembered result keeps at most MaxRememberedBody
	// bytes of it: a retry then gets an empty Body and Dropped.
	Body    string
	Dropped bool
}

// Entry is a key as users see it. Index words are Consul's: CreateIndex and ModifyIndex are revisions.
type Entry struct {
	Key         string
	Value       []byte // shared with the state: never changed by anybody
	Flags       uint64
	CreateIndex uint64
	ModifyIndex uint64
	LockIndex   uint64
	Session     string        // ID of the session that holds the lock, or ""
	TTL         time.Duration // from the command that set it on; later ones that keep it do not start it anew. 0: permanent
}

// Space separates the kinds of records in the image.
type Space uint8

// The spaces. Numbers are on disks: they are never reused.
const (
	SpaceData  Space = 1 // key → entry
	SpaceDedup Space = 2 // sequence number (8 bytes, big-endian) → remembered idempotency key

	SpaceSession   Space = 3 // session ID → session
	SpaceHeld      Space = 4 // session ID, 0, key → nothing: the locks of each session
	SpaceExpiry    Space = 5 // key → its TTL and the revision at which it was set
	SpaceDelay     Space = 6 // key → a lock-delay that has not ended
	SpaceFence     Space = 7 // fence name → largest token
	SpaceTombstone Space = 8 // key → revision of its deletion
)

// Change is one record of a fold. A nil Value deletes, also what is not there; other values have at least one byte.
type Change struct {
	Space Space
	Key   []byte
	Value []byte
}

// Fold is everything applied since the last fold, to be merged into the durable image: its changes are sorted by space,
// then key, and each key comes once. After a crash the image holds all of it or nothing. A view that is opened before
// State.Folded may show some of it: the frozen changes that State still has over the image are all of them.
type Fold struct {
	Slot    uint64 // applied slot of the image once this is in it
	Meta    []byte // the state's own record (revision, dedup marks), opaque to storage
	Changes []Change
}

// Image is a consistent read view of the folded state. What Get returns is valid until Close, what Ascend and Descend hand
// to fn until fn returns; neither may be changed.
// An error is damage: the node must stop. A view is used by one goroutine at a time.
type Image interface {
	// Get is the record of key, or nil.
	Get(space Space, key []byte) ([]byte, error)
	// Ascend calls fn in key order from the first key ≥ from, until fn says false.
	Ascend(space Space, from []byte, fn func(key, value []byte) bool) error
	// Descend calls fn in falling key order from the last key < below (nil: the last key), until fn says false.
	Descend(space Space, below []byte, fn func(key, value []byte) bool) error
	// Close ends the view.
	Close()
}

// Source opens views of the folded state; safe for concurrent use.
type Source interface {
	// View opens a read view of the newest fold; it may show changes of the one that is being merged.
	View() (Image, error)
	// Loaded is the slot and meta record of the newest fold; zero and nil for a new state.
	Loaded() (slot uint64, meta []byte, err error)
}
