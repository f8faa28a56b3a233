package web

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"tenure/api"
	"tenure/kv"
	"tenure/server/service"
)

// txnOp is one operation of a transaction in Consul's JSON. Of its kinds only KV exists here.
type txnOp struct {
	KV *txnKV
	// The other kinds are not decoded, since they could hold very many small values.
	Node, Service, Check, Session *json.RawMessage
}

// other reports whether the operation is of a kind that is not known here.
func (o *txnOp) other() bool {
	return o.KV == nil || o.Node != nil || o.Service != nil || o.Check != nil || o.Session != nil
}

type txnKV struct {
	Verb      api.Verb
	Key       string
	Value     []byte
	Flags     uint64
	Index     uint64
	Session   string
	Namespace string // "default" or nothing, as Partition
	Partition string
	Num       int64  // add
	NewKey    string // rename
}

// check refuses what would mean something else if it were ignored. A member of Consul's that the verb does not use is
// left out, as there: its clients fill one structure for all verbs.
func (in *txnKV) check(op kv.Op) error {
	if in.Num != 0 && op != kv.OpAdd {
		return service.Invalid("verb %q takes no Num: nothing was changed", in.Verb)
	}
	if in.NewKey != "" && op != kv.OpRename {
		return service.Invalid("verb %q takes no NewKey: nothing was changed", in.Verb)
	}
	return firstError(atDefault("Namespace", in.Namespace, "default"), atDefault("Partition", in.Partition, "default"))
}

// verbs are the operations of a transaction.
var verbs = map[api.Verb]struct {
	op    kv.Op
	index bool // it has a condition on the index
	lock  kv.Lock
}{
	api.VerbSet:            {op: kv.OpSet},
	api.VerbCAS:            {op: kv.OpSet, index: true},
	api.VerbLock:           {op: kv.OpSet, lock: kv.LockAcquire},
	api.VerbUnlock:         {op: kv.OpSet, lock: kv.LockRelease},
	api.VerbGet:            {op: kv.OpGet},
	api.VerbGetOrEmpty:     {op: kv.OpGetOrEmpty},
	api.VerbGetTree:        {op: kv.OpGetTree},
	api.VerbCheckIndex:     {op: kv.OpCheckIndex, index: true},
	api.VerbCheckSession:   {op: kv.OpCheckSession},
	api.VerbCheckNotExists: {op: kv.OpCheckNotExists},
	api.VerbCheckValue:     {op: kv.OpCheckValue},
	api.VerbDelete:         {op: kv.OpDelete},
	api.VerbDeleteCAS:      {op: kv.OpDelete, index: true},
	api.VerbDeleteTree:     {op: kv.OpPrune},
	api.VerbDeleteTreeCAS:  {op: kv.OpPrune, index: true},
	api.VerbAdd:            {op: kv.OpAdd},
	api.VerbRename:         {op: kv.OpRename},
}

// verbTexts lists the verbs by name.
func verbTexts() (list []string) {
	for _, v := range slices.Sorted(maps.Keys(verbs)) {
		list = append(list, string(v))
	}
	return list
}

// txnHandler answers transactions.
type txnHandler struct {
	writes        *writes
	bodies        *bodies
	maxValueBytes int
}

// maxBytes is how many bytes the operations of a transaction may have together: like the largest value, a transaction
// is one entry of the log. The largest value and its key fit, with some more operations. The format of the log sets the
// other bound: with the largest --max-value-bytes there is no space for more operations.
func (h *txnHandler) maxBytes() int {
	return min(max(h.maxValueBytes, 256<<10)+api.TxnSpaceBytes, kv.MaxPartsBytes)
}

// txnOpBytes is what each operation counts in that beside its keys, value and session.
const txnOpBytes = 256

// run runs all operations of a transaction at once, or none. It goes through the log whatever is in it, so also one
// that only reads is linearizable.
func (h *txnHandler) run(x *exchange) error {
	q, err := parseQuery(x.r.URL.RawQuery, &txnRules)
	c := kv.Command{Op: kv.OpTransaction, Fence: q.fence, Token: q.token}
	if err == nil {
		err = h.writes.identify(x.r.Header, &c)
	}
	ops := []txnOp{}
	if err == nil {
		err = readJSONList(h.bodies, x, base64Bytes(h.maxBytes())+api.MaxTxnOps*jsonSpace, api.MaxTxnOps, errTooManyOps, &ops)
	}
	if err == nil {
		err = h.parts(ops, &c)
	}
	if err != nil {
		return err
	}
	if !changesAnything(&c) {
		x.req.Line.Omit()
	}
	if len(c.Parts) == 0 {
		x.req.NeedsNothing()
		x.txnDone(txnOutcome{}, true)
		return nil
	}
	return h.apply(x, &c)
}

var errTooManyOps = service.Refuse(api.CodeTooLarge, fmt.Sprintf("transaction too large: "+
	"it has more than %d operations: nothing was changed", api.MaxTxnOps))

// changesAnything reports whether the transaction may change something. Under a fence also one that only reads does: it
// may raise the fence, which keeps others from writing.
func changesAnything(c *kv.Command) bool {
	return slices.ContainsFunc(c.Parts, func(p kv.Part) bool { return !p.Op.OnlyReads() }) || c.Fence != "" && len(c.Parts) > 0
}

// parts makes parts of ops.
func (h *txnHandler) parts(ops []txnOp, c *kv.Command) error {
	total := 0
	for i := range ops {
		p, err := h.part(&ops[i])
		if err != nil {
			return fmt.Errorf("operation %d: %w", i, err)
		}
		total += txnOpBytes + len(p.Key) + len(p.NewKey) + len(p.Value) + len(p.Session.ID)
		c.Parts = append(c.Parts, p)
	}
	if total > h.maxBytes() {
		return service.Refuse(api.CodeTooLarge, fmt.Sprintf("transaction is too large: its operations have %d bytes, at most %d are accepted: keys, values and "+
			"sessions, and %d for each operation: nothing was changed", total, h.maxBytes(), txnOpBytes))
	}
	return nil
}

// part returns the part of the command that op asks for.
func (h *txnHandler) part(op *txnOp) (kv.Part, error) {
	in := op.KV
	if op.other() {
		return kv.Part{}, service.Invalid("only KV operations are known here: there is no catalog, " +
			"so no nodes, services and checks: nothing was changed")
	}
	v, ok := verbs[in.Verb]
	if !ok {
		return kv.Part{}, service.Invalid("unknown KV verb %q%s: nothing was changed", in.Verb,
			meant(string(in.Verb), verbTexts(), `"`))
	}
	if err := in.check(v.op); err != nil {
		return kv.Part{}, err
	}
	if len(in.Value) > h.maxValueBytes {
		return kv.Part{}, h.bodies.tooLarge(fmt.Sprintf("Value for key %.80q", in.Key), h.maxValueBytes)
	}
	p := kv.Part{Op: v.op, Key: in.Key, Lock: v.lock}
	if v.index {
		p.HasIndex, p.Index = true, in.Index
	}
	if v.lock != kv.LockNone || v.op == kv.OpCheckSession {
		if p.Session.ID = in.Session; len(in.Session) > kv.MaxPartSessionBytes {
			return p, service.Invalid("Session: it has %d bytes, at most %d are accepted: nothing was changed",
				len(in.Session), kv.MaxPartSessionBytes)
		}
		if id := strings.ToLower(in.Session); kv.ValidateSessionID(id) == nil {
			p.Session.ID = id
		}
	}
	// What a verb does not use is left out, as Consul does: its clients fill one structure for all.
	switch v.op {
	case kv.OpSet:
		p.Value, p.Flags = in.Value, in.Flags
	case kv.OpCheckValue:
		p.Value = in.Value
	case kv.OpAdd:
		p.Num = in.Num
	case kv.OpRename:
		p.NewKey = in.NewKey
		if err := kv.ValidateKey(p.NewKey); err != nil {
			return p, service.Invalid("NewKey: %v: nothing was changed", err)
		}
	}
	check := kv.ValidateKey
	if v.op == kv.OpPrune || v.op == kv.OpGetTree {
		check = kv.ValidatePrefix
	}
	if err := check(p.Key); err != nil {
		return p, service.Invalid("%v: nothing was changed", err)
	}
	return p, nil
}
