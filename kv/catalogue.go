package kv

import (
	"cmp"
	"fmt"
	"iter"
)

// named says what Key is to an operation.
type named uint8

const (
	byKey    named = iota + 1 // a key
	byPrefix                  // what keys start with
	byNone                    // empty
)

// space says what an operation does while space is short.
type space uint8

const (
	takesSpace space = iota // refused then
	frees                   // gives space back, keeps what is there alive, ends it, or is what an operator needs then
	reads                   // changes nothing
)

// keys says which keys an operation is about.
type keys uint8

const (
	noKey     keys = iota
	itsKey         // Key, and of what is written NewKey if there is one
	keysBelow      // all that start with Key
	itsPairs       // those of EachPair
	everyKey
)

// rule is what an operation must be, beside what the other columns say.
type rule uint8

const (
	namesFence rule = iota + 1
	namesRun        // of the node that asks, as its idempotency key
	isQuota
	isLevel
	isPiece // of an upload
	isACL   // a policy, a token, or the ID of one
	arePairs
)

// operation is a row of the catalogue: what this release knows of an operation, besides how it is applied.
type operation struct {
	name   string // in audit lines, plans and listings of a log, as in the HTTP API where it has them
	named  named  // 0: the operation is not known
	takes  fields
	modes  Mode   // each that it may have
	level  uint64 // the feature level that it needs
	part   bool   // it may be part of a transaction
	step   bool   // it may be a step of a sequence
	check  bool   // it may stand at the beginning of a sequence
	inside bool   // it may be nothing but a part or step
	own    bool   // only nodes ask for it
	space  space
	// tells is the keys that its result tells of: a client must be allowed to read them. If modes has one of the
	// tellingModes, that holds only for commands with such a mode.
	tells keys
	// writes is the keys that it writes or deletes: a client must be allowed to write them.
	writes keys
	// beside is what it changes that is neither a key nor a fence, in words.
	beside string
	rule   rule
}

const (
	idem   = hasIdem | hasBase | hasDecided
	fenced = idem | hasFence | hasToken

	conditions   = ModeAbsent | ModePresent | ModeEqual
	tellingModes = ModeReturn | ModeEntry | ModeEqual
)

var catalogue = [...]operation{
	OpSet: {name: "set", named: byKey,
		takes: hasValue | hasFlags | hasIndex | hasLock | hasTTL | hasSessionID | hasTest | fenced,
		modes: conditions | ModeKeep | ModeReturn, part: true, step: true, tells: itsKey, writes: itsKey},
	OpDelete: {name: "delete",
		named: byKey, takes: hasIndex | hasTest | fenced, modes: conditions | ModeReturn | ModeEntry,
		part: true, step: true, space: frees, tells: itsKey, writes: itsKey},
	OpPrune: {name: "prune", named: byPrefix, takes: hasIndex | fenced,
		part: true, step: true, space: frees, writes: keysBelow},
	OpAdd: {name: "add", named: byKey, takes: hasNum | fenced, modes: ModeCreate,
		part: true, step: true, tells: itsKey, writes: itsKey},
	OpRename: {name: "rename", named: byKey, takes: hasNewKey | fenced, modes: ModeAbsent,
		part: true, step: true, tells: itsKey, writes: itsKey},
	OpSetTTL: {name: "set-ttl", named: byKey, takes: hasTTL | hasTest | fenced,
		modes: conditions | ModeReturn, step: true, tells: itsKey, writes: itsKey},
	OpTransaction: {name: "transaction", named: byNone, takes: hasParts | fenced},
	OpSessionCreate: {name: "create-session", named: byNone, takes: hasSessionID | hasSessionBody | idem,
		beside: "session"},
	OpSessionDestroy: {name: "destroy-session", named: byNone, takes: hasSessionID | idem, space: frees,
		beside: "session"},
	OpSessionRenew: {name: "renew-session", named: byNone, takes: hasSessionID | idem, space: frees,
		beside: "session"},
	OpDropFence: {name: "drop-fence", named: byNone, takes: hasFence | hasIndex | idem, space: frees, rule: namesFence},
	OpEndSession: {name: "end-session", named: byNone, takes: hasSessionID | hasArm, own: true, space: frees,
		beside: "session"},
	OpEndKey: {name: "end-key", named: byKey, takes: hasArm, own: true, space: frees, writes: itsKey},
	OpEndDelay: {name: "end-lock-delay", named: byKey, takes: hasArm, own: true, space: frees,
		beside: "lock-delay of key"},
	OpNewEra: {name: "new-era", named: byNone, takes: idem, own: true, space: frees,
		beside: "the era of leases' tokens", rule: namesRun},
	OpQuota: {name: "quota", named: byKey, takes: hasValue | hasArm | idem, level: 1, space: frees,
		beside: "quota of prefix", rule: isQuota},
	OpLevel: {name: "feature-level", named: byNone, takes: hasNum | hasValue, own: true, space: frees,
		beside: "the feature level", rule: isLevel},

	OpStage: {name: "stage-upload", named: byNone, takes: hasSessionID | hasNum | hasValue | hasDecided,
		level: 1, own: true, beside: "uploaded snapshot", rule: isPiece},
	OpInstall: {name: "install-upload", named: byNone, takes: hasSessionID | hasNum | idem,
		level: 1, writes: everyKey, rule: isPiece},
	OpDropStaged: {name: "drop-upload", named: byNone, takes: hasSessionID | hasArm | hasDecided,
		level: 1, own: true, space: frees, beside: "uploaded snapshot"},

	OpPutPolicy: {name: "put-policy", named: byNone, takes: hasValue | hasIndex | idem, level: 1,
		beside: "policy", rule: isACL},
	OpDropPolicy: {name: "delete-policy", named: byNone, takes: hasValue | hasIndex | idem, level: 1, space: frees,
		beside: "policy", rule: isACL},
	OpPutToken: {name: "put-token", named: byNone, takes: hasValue | hasIndex | idem | hasSaid, level: 1,
		beside: "token", rule: isACL},
	OpDropToken: {name: "delete-token", named: byNone, takes: hasValue | hasIndex | idem, level: 1, space: frees,
		beside: "token", rule: isACL},
	OpEndToken: {name: "end-token", named: byNone, takes: hasValue | hasArm, level: 1, own: true, space: frees,
		beside: "token", rule: isACL},
	OpBootstrap: {name: "bootstrap", named: byNone, takes: hasValue | hasNum | idem, level: 1, space: frees,
		beside: "token", rule: isACL},

	OpAppend: {name: "append", named: byKey, takes: hasValue | hasNum | fenced, level: 1, step: true,
		tells: itsKey, writes: itsKey},
	OpFetch:   {name: "fetch", named: byKey, level: 1, step: true, inside: true, space: reads, tells: itsKey},
	OpMeasure: {name: "measure", named: byKey, level: 1, step: true, inside: true, space: reads, tells: itsKey},
	OpSequence: {name: "sequence", named: byNone, takes: hasParts | fenced | hasSaid,
		modes: ModeWhole, level: 1},
	OpPutAll: {name: "put-all", named: byNone, takes: hasValue | hasTTL | hasTest | fenced,
		modes: ModeAbsent | ModeEqual, level: 1, step: true, tells: itsPairs, writes: itsPairs, rule: arePairs},

	OpGet:        {name: "get", named: byKey, part: true, inside: true, space: reads, tells: itsKey},
	OpGetOrEmpty: {name: "get-or-empty", named: byKey, part: true, inside: true, space: reads, tells: itsKey},
	OpGetTree:    {name: "get-tree", named: byPrefix, part: true, inside: true, space: reads, tells: keysBelow},
	OpCheckIndex: {name: "check-index", named: byKey, takes: hasIndex,
		part: true, check: true, inside: true, space: reads, tells: itsKey},
	OpCheckSession: {name: "check-session", named: byKey, takes: hasSessionID,
		part: true, inside: true, space: reads, tells: itsKey},
	OpCheckNotExists: {name: "check-not-exists", named: byKey, part: true, check: true, inside: true, space: reads, tells: itsKey},
	OpCheckValue: {name: "check-value", named: byKey, takes: hasValue,
		part: true, check: true, inside: true, space: reads, tells: itsKey},
	OpCheckUnchanged: {name: "check-unchanged", named: byKey, takes: hasIndex, level: 1, check: true, inside: true,
		space: reads, tells: itsKey},
}

// known returns the row of op. For an operation that this release does not know, or only from a feature level on that
// it cannot reach, that is an empty one, whose named is 0.
func known(op Op) *operation {
	if int(op) < len(catalogue) && catalogue[op].level <= NewestLevel {
		return &catalogue[op]
	}
	return &unknown
}

var unknown operation

// String returns the name of op, or its number if this release knows no such operation.
func (op Op) String() string {
	if int(op) < len(catalogue) && catalogue[op].name != "" {
		return catalogue[op].name
	}
	return fmt.Sprintf("operation-%d", uint8(op))
}

// Ops returns the operations that this release knows, those of parts and steps too.
func Ops() iter.Seq[Op] {
	return func(yield func(Op) bool) {
		for op := range Op(len(catalogue)) {
			if known(op).named != 0 && !yield(op) {
				return
			}
		}
	}
}

// OnlyReads reports whether op changes nothing.
func (op Op) OnlyReads() bool { return known(op).space == reads }

// hasParts reports whether a command of op consists of others.
func (op Op) hasParts() bool { return known(op).takes&hasParts != 0 }

// TakesValue reports whether Value is, to op, what a key holds.
func (op Op) TakesValue() bool { return known(op).named == byKey && known(op).takes&hasValue != 0 }

// OnKeys reports whether op is for clients, and about keys or made of operations that are.
func (op Op) OnKeys() bool {
	r := known(op)
	return !r.own && (r.tells != noKey || r.writes != noKey || op.hasParts())
}

// EachTold calls fn with the keys of which the result of c tells something, as EachWritten does, but leaves out NewKey
// and the keys of its parts.
func (c *Command) EachTold(fn func(key string, below bool) bool) (more bool) {
	r := known(c.Op)
	if r.modes&tellingModes != 0 && c.Mode&tellingModes == 0 {
		return true
	}
	return c.each(r.tells, fn)
}

// EachWritten calls fn with the keys that c writes or deletes, until fn returns false, and then returns false. If below
// is true, all keys that start with key are meant. Other things that c changes, such as sessions, are not named.
func (c *Command) EachWritten(fn func(key string, below bool) bool) (more bool) {
	r := known(c.Op)
	if more = c.each(r.writes, fn); more && r.writes == itsKey && c.NewKey != "" {
		more = fn(c.NewKey, false)
	}
	for i := 0; more && i < len(c.Parts); i++ {
		more = c.Parts[i].EachWritten(fn)
	}
	return more
}

// each calls fn with those keys of c, but for its NewKey and those of its parts.
func (c *Command) each(which keys, fn func(key string, below bool) bool) (more bool) {
	switch which {
	case itsKey:
		return fn(c.Key, false)
	case keysBelow:
		return fn(c.Key, true)
	case everyKey:
		return fn("", true)
	case itsPairs:
		more = true
		_ = c.EachPair(func(key string, _ []byte) bool { // what is not valid has no pairs
			more = fn(key, false)
			return more
		})
		return more
	}
	return true
}

// Beside returns what c changes that is neither a key nor a fence, in words such as "session", and its name if it has
// one. If there is nothing, both are empty.
func (c *Command) Beside() (what, name string) {
	if what = known(c.Op).beside; what == "" {
		return "", ""
	}
	return what, cmp.Or(c.Key, c.Session.ID, c.ACLSubject())
}
