package web

import (
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strconv"
	"strings"

	"tenure/api"
	"tenure/kv"
)

// txnOp is one operation of a transaction in Consul's JSON. Of the kinds that it has, only KV means something here.
type txnOp struct {
	KV                            *txnKV
	Node, Service, Check, Session any
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
		return badRequest("verb %q takes no Num: nothing was changed", in.Verb)
	}
	if in.NewKey != "" && op != kv.OpRename {
		return badRequest("verb %q takes no NewKey: nothing was changed", in.Verb)
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

// maxBytes is how many bytes the keys and values of a transaction may have together: it is one entry of the log, as the
// largest value is.
func (h *txnHandler) maxBytes() int { return max(h.maxValueBytes, 256<<10) }

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
		err = h.bodies.readJSON(x, base64Bytes(h.maxBytes())+api.MaxTxnOps*jsonSpace, &ops)
	}
	if err == nil && ops == nil {
		err = badRequest("Request decode failed: the body must be a list, not null: nothing was changed")
	}
	if err == nil {
		err = h.parts(ops, &c)
	}
	switch {
	case err != nil:
		return err
	case len(c.Parts) == 0:
		x.txnDone(kv.Outcomes{}, true)
		return nil
	}
	return h.apply(x, &c)
}

// parts makes parts of ops.
func (h *txnHandler) parts(ops []txnOp, c *kv.Command) error {
	if len(ops) > api.MaxTxnOps {
		return refuse(http.StatusRequestEntityTooLarge, api.CodeTooLarge, fmt.Sprintf("transaction too large: "+
			"it has %d operations, at most %d are accepted: nothing was changed", len(ops), api.MaxTxnOps))
	}
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
		return refuse(http.StatusRequestEntityTooLarge, api.CodeTooLarge,
			"transaction too large: keys and values of at most "+
				byteCount(h.maxBytes())+" together are accepted: nothing was changed")
	}
	return nil
}

// part returns the part of the command that op asks for.
func (h *txnHandler) part(op *txnOp) (kv.Part, error) {
	in := op.KV
	if op.other() {
		return kv.Part{}, badRequest("only KV operations are known here: there is no catalog, " +
			"so no nodes, services and checks: nothing was changed")
	}
	v, ok := verbs[in.Verb]
	if !ok {
		return kv.Part{}, badRequest("unknown KV verb %q%s: nothing was changed", in.Verb,
			meant(string(in.Verb), verbTexts(), `"`))
	}
	if err := in.check(v.op); err != nil {
		return kv.Part{}, err
	}
	if len(in.Value) > h.maxValueBytes {
		return kv.Part{}, tooLarge(h.maxValueBytes)
	}
	p := kv.Part{Op: v.op, Key: in.Key, Lock: v.lock}
	if v.index {
		p.HasIndex, p.Index = true, in.Index
	}
	if v.lock != kv.LockNone || v.op == kv.OpCheckSession {
		if p.Session.ID = in.Session; len(in.Session) > kv.MaxPartSessionBytes {
			return p, badRequest("Session: it has %d bytes, at most %d are accepted: nothing was changed",
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
			return p, badRequest("NewKey: %v: nothing was changed", err)
		}
	}
	check := kv.ValidateKey
	if v.op == kv.OpPrune || v.op == kv.OpGetTree {
		check = kv.ValidatePrefix
	}
	if err := check(p.Key); err != nil {
		return p, badRequest("%v: nothing was changed", err)
	}
	return p, nil
}

func (h *txnHandler) apply(x *exchange, c *kv.Command) error {
	res, err := h.writes.apply(x, c)
	if err != nil {
		return err
	}
	if res.Code != kv.CodeDone && res.Code != kv.CodeCondition {
		return notDone(c, &res)
	}
	var out kv.Outcomes
	if !res.Dropped {
		if out, err = kv.DecodeOutcomes(res.Body); err != nil {
			return errResult
		}
	}
	for i := range out.Results {
		if r := &out.Results[i]; r.Part < 0 || r.Part >= len(c.Parts) || r.Entry == nil {
			return errResult
		}
	}
	setReadMeta(x.w.Header(), res.Revision, ReadMeta{Revision: res.Revision, KnownLeader: true})
	x.txnDone(out, res.Code == kv.CodeDone)
	return nil
}

// txnDone answers with what a transaction came to. Of Results and Errors, the one that is not meant is null.
func (x *exchange) txnDone(out kv.Outcomes, done bool) {
	b := []byte(`{"Results":`)
	for i, r := range out.Results {
		b = append(b, "[,"[min(i, 1)])
		b = append(appendEntry(append(b, `{"KV":`...), r.Entry, true), '}')
	}
	b = closeList(b, len(out.Results), done)
	b = append(b, `,"Errors":`...)
	for i, e := range out.Errors {
		b = append(b, "[,"[min(i, 1)])
		b = strconv.AppendInt(append(b, `{"OpIndex":`...), int64(e.Part), 10)
		b = append(appendJSONString(append(b, `,"What":`...), e.What), '}')
	}
	b = append(closeList(b, len(out.Errors), !done), '}')
	if done {
		x.json(b)
	} else {
		x.send(http.StatusConflict, api.CodeCondition, jsonType, b)
	}
}

// closeList ends a list of n elements. An empty one has not been begun.
func closeList(b []byte, n int, meant bool) []byte {
	switch {
	case n > 0:
		return append(b, ']')
	case meant:
		return append(b, "[]"...)
	}
	return append(b, "null"...)
}
