package kv

import "time"

// Op is what a Command does.
type Op uint8

// The commands. Numbers are on disks and wires: they are never reused.
const (
	OpSet    Op = 1 // write Key; with a Mode, Result.Count is 1 if it existed
	OpDelete Op = 2 // delete Key; done also when it is absent; Result.Count is 1 if it was there
	OpPrune  Op = 3 // delete every key that starts with Key, which may be empty; Result.Count says how many

	// With HasIndex, OpPrune deletes them only if none was made or changed at a revision above Index (CodeCondition).

	OpAdd         Op = 4 // add Num to the decimal int64 that Key holds; Result.Body is the sum in decimal
	OpRename      Op = 6 // move Key to NewKey, overwriting it, or onto itself; CodeCondition if either is locked
	OpSetTTL      Op = 8 // set the TTL of Key, with a TTL of 0 make it permanent; Result.Count is 1 if done
	OpTransaction Op = 9 // all of Parts or none

	// Result.Body of OpTransaction has the results of its parts (StepsOf). OpGet and OpGetOrEmpty answer the entry, OpAdd
	// the new one, and OpGetTree all entries (DecodeEntries). OpSet, OpRename and the checks of a key that is there answer
	// the entry without its value, a check also with CodeCondition. A lock or check of a session that does not exist has
	// CodeNoSession. If parts failed the code of the whole is CodeCondition. If each of them was refused for space it is
	// that of the first, CodeQuota or CodeFull. If it would tell too much it is CodeTooLarge.

	OpSessionCreate  Op = 10 // Session, with its ID drawn by the node that received the request; Result.Body is the ID
	OpSessionDestroy Op = 11 // end Session.ID; done also when there is none
	OpSessionRenew   Op = 12 // start the TTL of Session.ID anew; changes no revision

	// OpDropFence forgets the largest token of Fence, but keeps it as the floor for every name of its kind. With HasIndex
	// the floor becomes Index instead, also if that is lower.
	OpDropFence Op = 13

	// Logged by the master when a time has passed on its clock. Arm must be that of the Timed they end, else they
	// change nothing: it was armed anew meanwhile.
	OpEndSession Op = 14 // Session.ID expired
	OpEndKey     Op = 15 // Key expired
	OpEndDelay   Op = 16 // the lock-delay of Key has passed; changes no revision

	// OpNewEra allots the next era of the tokens of named leases (N3); Result.Count is the era. Only nodes ask for it.
	// IdemKey must be there and name the node's run: a copy of the command gives no second era, and nobody takes
	// another run's for its own.
	OpNewEra Op = 17

	// OpQuota sets the quota of the keys that start with Key to Value (QuotaLimits), or ends it if Value is empty.
	// Existing keys are counted in steps: with an Arm the command is the next step, which the master logs. It changes
	// no revision.
	OpQuota Op = 18

	// OpLevel raises the cluster's feature level to Num, if it is below; Result.Count is the level now. Value names the
	// release whose level that is. Only the master logs it, once every member has said that it knows that level. It
	// changes no revision.
	OpLevel Op = 19

	// An upload of a whole state, named by Session.ID (see staged.go).
	OpStage      Op = 20 // Value is piece Num of it, from 0; Result.Count is how many there are now
	OpInstall    Op = 21 // the upload, of Num pieces, replaces the state; Result.Count is how many keys it has
	OpDropStaged Op = 22 // forget the upload; with an Arm, which the master gives, only if it has so many pieces

	// Tokens and policies (acl.go). Value is what PutPolicy and PutToken make of one, or an ID. With HasIndex and an
	// Index of 0 a put creates: the policy or token must not exist yet (CodeExists). Else it must exist (CodeMissing).
	// With either code Result.Body names it. With HasIndex and another Index, that must be its ModifyIndex
	// (CodeCondition). With HasIndex a drop has the same condition.
	OpPutPolicy  Op = 23
	OpDropPolicy Op = 24
	OpPutToken   Op = 25
	OpDropToken  Op = 26
	OpEndToken   Op = 27 // logged by the master, like OpEndKey, with the CreateIndex as the Arm
	OpBootstrap  Op = 28 // make the first token; CodeBootstrapped unless Num is the revision at which that was done
)

// What only the Redis protocol uses. OpFetch and OpMeasure are steps of an OpSequence only.
const (
	OpAppend  Op = 49 // write Value behind that of Key; Result.Count is 1 + the length of the whole; Num bounds it
	OpFetch   Op = 54 // Result.Body is the value of Key, Count 1 + its length, 0 if absent; only a step
	OpMeasure Op = 55 // OpFetch, but Body is the TTL in ns as a uvarint, if there is one; only a step

	// OpSequence applies Parts one after the other, each by itself; Result.Body is their results (StepsOf), as far as they
	// have space, and Result.Count how many parts are left out for want of it. Checks at their beginning (OpCheckIndex,
	// OpCheckNotExists, OpCheckValue, OpCheckUnchanged) have no result: if one does not hold nothing is applied, the code
	// is CodeCondition, and Count the place of that check. With ModeWhole nothing is applied either if a part is refused
	// for its size or for space: the code and the Body are then those of that part, and Count is its place.
	OpSequence Op = 56

	// OpPutAll writes all of the keys that Value holds with their values (AppendPair), each with the TTL, or if one is
	// refused none; with ModeAbsent or ModeEqual only if that holds for all.
	OpPutAll Op = 57
)

// What only parts of a transaction, or checks of a sequence, are; they change nothing.
const (
	OpGet            Op = 32 // the entry of Key must exist, and is in the outcome
	OpGetOrEmpty     Op = 33 // the entry of Key if it exists
	OpGetTree        Op = 34 // every entry that starts with Key
	OpCheckIndex     Op = 35 // Key's ModifyIndex must be Index, whether HasIndex is set or not
	OpCheckSession   Op = 36 // Key must be locked by Session.ID
	OpCheckNotExists Op = 37 // Key must be absent
	OpCheckValue     Op = 38 // Key must hold Value

	// OpCheckUnchanged, of sequences only, with HasIndex: Key must not have been written or deleted since revision Index.
	// A deletion so old that it is not remembered for itself counts as one since.
	OpCheckUnchanged Op = 39
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
	// that Key must be absent. For OpDelete an absent Key satisfies every Index, and a present one never 0. For OpPrune,
	// OpDropFence and the puts and drops of policies and tokens see there.
	HasIndex bool
	Index    uint64
	// IdemKey and Base make the command applied at most once (see the package comment). An empty IdemKey is none; Base
	// means nothing then.
	IdemKey string
	Base    uint64

	Lock    Lock          // OpSet
	TTL     time.Duration // OpSet, OpPutAll, OpSetTTL: the key expires after that long. 0: permanent
	Num     int64         // OpAdd; OpAppend: a bound; OpLevel: the level; OpStage and OpInstall: see there
	NewKey  string        // OpRename
	Test    []byte        // ModeEqual
	Mode    Mode          // see there
	Session Session       // OpSession…, OpCheckSession, with a Lock, and an upload: of these only the ID
	Arm     uint64        // OpEnd…, OpQuota, OpDropStaged: see there
	Parts   []Part        // OpTransaction, at most MaxParts; OpSequence, at most MaxSteps
	// Fence and Token refuse the command with CodeFenced if a larger token of that name was seen, and else make Token
	// the largest, whatever becomes of the command's condition. The name is `lease/N` or `kv/K`. An empty Fence is
	// none.
	Fence string
	Token uint64

	// Decided is the ACL.Revision under which the node that received the command decided that its client may do this; 0
	// if no decision was needed. If a permission was taken away since, the command is refused with CodeDecideAgain,
	// or CodeDecideInDoubt.
	Decided uint64

	// Said is the SHA-256 of what the client has sent, of a command with an idempotency key that a node makes out of more
	// than that: of its clock, of its settings, or of its state. Copies with equal Said are the same command, whatever the
	// nodes have made of it. Empty: the fields are compared.
	Said string
}

// Part is one operation of a transaction or sequence: a Command without idempotency key, fence and parts of its own.
// The catalogue says which Op may be part of which. In a transaction it has no Mode, and its Session.ID may be any text
// of at most MaxPartSessionBytes: one that is no session fails the part. In a sequence it has no Lock.
type Part = Command
