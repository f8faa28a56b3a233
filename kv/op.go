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
	OpTestAndSet  Op = 5 // write Value if Key holds Test; Result.Body is the value now, Count 1 if written
	OpRename      Op = 6 // move Key to NewKey, overwriting it, or onto itself; CodeCondition if either is locked
	OpRemove      Op = 7 // delete Key; Result.Body is the entry that was there (DecodeEntries)
	OpExpire      Op = 8 // set TTL of Key, or with a TTL of 0 make it permanent; the value stays
	OpTransaction Op = 9 // all of Parts or none; Result.Body is an Outcomes

	OpSessionCreate  Op = 10 // Session, with its ID drawn by the node that received the request; Result.Body is the ID
	OpSessionDestroy Op = 11 // end Session.ID; done also when there is none
	OpSessionRenew   Op = 12 // start the TTL of Session.ID anew; changes no revision

	OpDropFence Op = 13 // forget the largest token of Fence, but keep it as the floor for every name of its kind

	// Logged by the master when a time has passed on its clock. Arm must be that of the Timed they end, else they
	// change nothing: it was armed anew meanwhile.
	OpEndSession Op = 14 // Session.ID expired
	OpEndKey     Op = 15 // Key expired
	OpEndDelay   Op = 16 // the lock-delay of Key has passed; changes no revision

	// OpNewEra allots the next era of the tokens of named leases (N3); Result.Count is the era. Only nodes ask for it.
	// IdemKey must be there and name the node's run: a copy of the command gives no second era, and nobody takes
	// another run's for its own.
	OpNewEra Op = 17

	// OpQuota sets the quota of the keys that start with Key to Value (QuotaLimits), or ends it if Value is empty. What
	// is there is counted in steps: with an Arm it is the next one, which the master logs. It changes no revision.
	OpQuota Op = 18

	// OpLevel raises the cluster's feature level to Num, if it is below; Result.Count is the level now. Value names the
	// release whose level that is. Only the master logs it, once every member has said that it knows that level. It
	// changes no revision.
	OpLevel Op = 19

	// An upload of a whole state, named by Session.ID (see staged.go).
	OpStage      Op = 20 // Value is piece Num of it, from 0; Result.Count is how many there are now
	OpInstall    Op = 21 // the upload, of Num pieces, replaces the state; Result.Count is how many keys it has
	OpDropStaged Op = 22 // forget the upload; with an Arm, which the master gives, only if it has so many pieces
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
	Num     int64         // OpAdd; OpLevel: the level; OpStage and OpInstall: see there
	NewKey  string        // OpRename
	Test    []byte        // OpTestAndSet
	Session Session       // OpSession…, OpCheckSession, with a Lock, and an upload: of these only the ID
	Arm     uint64        // OpEnd…
	Parts   []Part        // OpTransaction, at most MaxParts
	// Fence and Token refuse the command with CodeFenced if a larger token of that name was seen, and else make Token
	// the largest, whatever becomes of the command's condition. The name is `lease/N` or `kv/K`. An empty Fence is
	// none.
	Fence string
	Token uint64
}

// Part is one operation of a transaction: a Command without idempotency key, fence and parts of its own. Its Op is
// OpSet (with a condition or a Lock or neither), OpDelete, OpPrune, OpAdd, OpRename or a verb that only parts have. Its
// Session.ID may be any text of at most MaxPartSessionBytes: one that is no session fails the part.
type Part = Command
