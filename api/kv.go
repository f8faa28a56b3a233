package api

// Entry is a key with its value. The indexes are revisions.
type Entry struct {
	LockIndex   uint64 // how often the key was locked anew
	Key         string
	Flags       uint64
	Value       []byte
	Session     string `json:",omitempty"` // the session that holds the lock
	CreateIndex uint64
	ModifyIndex uint64
	ExpiresIn   string `json:",omitempty"` // about what is left of the key's life; empty: it stays, or it is not told
}

// The commands of POST PathKV.
const (
	OpTestAndSet = "test-and-set" // Test, Value
	OpAdd        = "add"          // Num
	OpRename     = "rename"       // NewKey
	OpRemove     = "remove"
	OpExpire     = "expire" // TTL; empty: the key stays
)

// Command is the body of POST PathKV. Members that are absent differ from empty ones; each Op takes its own only.
type Command struct {
	Op     string
	Test   []byte  `json:",omitempty"`
	Value  []byte  `json:",omitempty"`
	Num    *int64  `json:",omitempty"`
	NewKey *string `json:",omitempty"`
	TTL    *string `json:",omitempty"`
}

// TestAndSet is the answer to OpTestAndSet.
type TestAndSet struct {
	Success bool
	Value   []byte // what the key holds now
}

// Sum is the answer to OpAdd.
type Sum struct {
	Value int64
}

// Verb is what an operation of a transaction does.
type Verb string

// The verbs. Those after VerbDeleteTree are not Consul's.
const (
	VerbSet            Verb = "set"
	VerbCAS            Verb = "cas"
	VerbLock           Verb = "lock"
	VerbUnlock         Verb = "unlock"
	VerbGet            Verb = "get"
	VerbGetOrEmpty     Verb = "get-or-empty"
	VerbGetTree        Verb = "get-tree"
	VerbCheckIndex     Verb = "check-index"
	VerbCheckSession   Verb = "check-session"
	VerbCheckNotExists Verb = "check-not-exists"
	VerbDelete         Verb = "delete"
	VerbDeleteCAS      Verb = "delete-cas"
	VerbDeleteTree     Verb = "delete-tree"
	VerbDeleteTreeCAS  Verb = "delete-tree-cas" // only if no key there was made or changed at a revision above Index
	VerbCheckValue     Verb = "check-value"
	VerbAdd            Verb = "add"
	VerbRename         Verb = "rename"
)

// TxnOp is one operation of a transaction on keys. Fields that its verb does not take are ignored, except Num and
// NewKey, which are refused.
type TxnOp struct {
	Verb    Verb
	Key     string
	Value   []byte `json:",omitempty"`
	Flags   uint64 `json:",omitempty"`
	Index   uint64 `json:",omitempty"`
	Session string `json:",omitempty"`
	Num     int64  `json:",omitempty"`
	NewKey  string `json:",omitempty"`
}

// TxnPart is an operation as it stands in the list of PUT PathTxn.
type TxnPart struct {
	KV *TxnOp
}

// TxnResult is what one operation of a transaction answers.
type TxnResult struct {
	KV *Entry
}

// TxnError is an operation of a transaction that could not be done.
type TxnError struct {
	OpIndex int // in the transaction, from 0
	What    string
}

// TxnAnswer is the answer to a transaction: Results of one that was done, or Errors with CodeCondition or CodeDenied.
type TxnAnswer struct {
	Results []TxnResult
	Errors  []TxnError
}

// Fence is the answer to GET PathFence.
type Fence struct {
	Name  string
	Token uint64 // the largest that was seen
	Floor bool   // no token of this name is kept: it is the floor of its kind
}

// KeyDetails is an element of a listing with QueryDetails: what there is about a key besides its value, or how many
// keys a name is of.
type KeyDetails struct {
	Key         string // with a separator also the name that several keys are cut to
	Count       uint64 `json:",omitempty"` // of the keys of that name; 0: it is one key
	Size        int    // of the value in bytes
	Flags       uint64
	LockIndex   uint64
	Session     string `json:",omitempty"` // that holds the lock
	CreateIndex uint64
	ModifyIndex uint64
	ExpiresIn   string `json:",omitempty"`
}
