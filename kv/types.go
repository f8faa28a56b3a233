package kv

// Op is what a Command does.
type Op uint8

// The commands. Numbers are on disks and wires: they are never reused.
const (
	OpSet    Op = 1 // write Key
	OpDelete Op = 2 // delete Key; done also when it is absent
	OpPrune  Op = 3 // delete every key that starts with Key, which may be empty; Result.Count says how many
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
}

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

	maxCode = CodeTooMany
)

// Result is what a command came to.
type Result struct {
	Code     Code
	Revision uint64 // of the change; of the store if nothing changed
	Count    uint64 // keys deleted
}

// Entry is a key as users see it. Index words are Consul's: CreateIndex and ModifyIndex are revisions.
type Entry struct {
	Key         string
	Value       []byte // shared with the state: never changed by anybody
	Flags       uint64
	CreateIndex uint64
	ModifyIndex uint64
	LockIndex   uint64
}

// Space separates the kinds of records in the image.
type Space uint8

// The spaces. Numbers are on disks: they are never reused.
const (
	SpaceData  Space = 1 // key → entry
	SpaceDedup Space = 2 // sequence number (8 bytes, big-endian) → remembered idempotency key
)

// Change is one record of a fold. A nil Value deletes, also what is not there; other values have at least one byte.
type Change struct {
	Space Space
	Key   []byte
	Value []byte
}

// Fold is everything applied since the last fold, to be merged into the durable image in one transaction: its
// changes are sorted by space, then key, and each key comes once.
type Fold struct {
	Slot    uint64 // applied slot of the image once this is in it
	Meta    []byte // the state's own record (revision, dedup marks), opaque to storage
	Changes []Change
}

// Image is a consistent read view of the folded state. Returned bytes are valid until Close and must not be changed.
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
	// View opens a read view of the newest fold.
	View() (Image, error)
	// Loaded is the slot and meta record of the newest fold; zero and nil for a new state.
	Loaded() (slot uint64, meta []byte, err error)
}
