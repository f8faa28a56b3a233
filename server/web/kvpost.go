package web

import (
	"fmt"
	"strconv"

	"tenure/api"
	"tenure/kv"
	"tenure/server/service"
)

// post runs a command on one key: see openapi.json for what each takes and answers. Each needs the key to exist.
func (h *kvHandler) post(x *exchange) error {
	c, err := h.command(x, kv.OpAdd, &postRules)
	if err != nil {
		return err
	}
	var body api.Command
	if err := h.bodies.readJSON(x, 2*base64Bytes(h.maxValueBytes)+jsonSpace, &body); err != nil {
		return err
	}
	if err := h.checkPost(&body, &c); err != nil {
		return err
	}
	x.op = body.Op
	res, err := h.writes.apply(x, &c)
	switch {
	case err != nil:
		return err
	case missed(body.Op, &res):
		return service.NotDone(&c, &kv.Result{Code: kv.CodeMissing, Revision: res.Revision})
	case res.Code == kv.CodeCondition && body.Op != api.OpTestAndSet:
		x.json(bodyFalse)
		return nil
	case res.Code != kv.CodeDone && res.Code != kv.CodeCondition:
		return service.NotDone(&c, &res)
	}
	return x.posted(body.Op, &c, &res)
}

// missed reports whether op was not done because there is no such key. In the log these two do not need one.
func missed(op string, res *kv.Result) bool {
	switch op {
	case api.OpTestAndSet:
		return res.Code == kv.CodeCondition && res.Count == 0
	case api.OpRemove:
		return res.Code == kv.CodeDone && res.Count == 0
	}
	return false
}

// fieldsOf returns the names of the members that are set in b, except Op.
func fieldsOf(b *api.Command) (list []string) {
	for _, m := range []struct {
		name  string
		there bool
	}{
		{"Test", b.Test != nil}, {"Value", b.Value != nil}, {"Num", b.Num != nil}, {"NewKey", b.NewKey != nil},
		{"TTL", b.TTL != nil},
	} {
		if m.there {
			list = append(list, m.name)
		}
	}
	return list
}

// posts has the commands, each with its operation in the log and its members. All members are required except values: a
// missing value means an empty one.
var posts = map[string]struct {
	op    kv.Op
	mode  kv.Mode
	takes string
}{
	api.OpTestAndSet: {kv.OpSet, kv.ModeEqual | kv.ModeKeep | kv.ModeReturn, "Test Value"},
	api.OpAdd:        {kv.OpAdd, 0, "Num"},
	api.OpRename:     {kv.OpRename, 0, "NewKey"},
	api.OpRemove:     {kv.OpDelete, kv.ModeEntry, ""},
	api.OpExpire:     {kv.OpSetTTL, 0, "TTL"},
}

// checkPost fills c from body.
func (h *kvHandler) checkPost(body *api.Command, c *kv.Command) error {
	p, ok := posts[body.Op]
	if !ok {
		return service.Invalid(`Op %q: must be one of test-and-set, add, rename, remove and expire: nothing was changed`, body.Op)
	}
	c.Op, c.Mode = p.op, p.mode
	given := fieldsOf(body)
	switch body.Op {
	case api.OpTestAndSet:
		c.Test, c.Value = body.Test, body.Value
		if n := max(len(c.Test), len(c.Value)); n > h.maxValueBytes {
			return h.bodies.tooLarge("the value", h.maxValueBytes)
		}
		if len(c.Test)+len(c.Value) > kv.MaxValueBytes {
			return h.bodies.tooLarge("what Test and Value have together", kv.MaxValueBytes)
		}
		for _, m := range given {
			if m != "Test" && m != "Value" {
				return service.Invalid("a test-and-set takes Test and Value, not %s: nothing was changed", m)
			}
		}
		return nil
	case api.OpRemove:
		if len(given) != 0 {
			return service.Invalid("a remove takes no %s: nothing was changed", given[0])
		}
		return nil
	}
	if len(given) != 1 || given[0] != p.takes {
		return service.Invalid("Op %q takes %s and nothing else, it has %q: nothing was changed",
			body.Op, p.takes, given)
	}
	return only(body, c)
}

// only takes the one member that most commands have.
func only(b *api.Command, c *kv.Command) error {
	switch c.Op {
	case kv.OpAdd:
		c.Num = *b.Num
	case kv.OpRename:
		c.NewKey = *b.NewKey
		if err := kv.ValidateKey(c.NewKey); err != nil {
			return service.Invalid("NewKey: %v: nothing was changed", err)
		}
	case kv.OpSetTTL:
		if *b.TTL == "" {
			return nil // it stays
		}
		ttl, err := parseTTL(*b.TTL)
		c.TTL = ttl
		return err
	}
	return nil
}

// posted answers with the result of c, which is op. If the result was dropped, because this is a late retry of a command with a
// large result, the answer has the known part, and a header says so.
func (x *exchange) posted(op string, c *kv.Command, res *kv.Result) error {
	switch op {
	case api.OpAdd:
		if _, err := strconv.ParseInt(res.Body, 10, 64); err != nil {
			return fmt.Errorf("%w: the sum came as %.40q", errResult, res.Body)
		}
		x.json([]byte(`{"Value":` + res.Body + `}`))
	case api.OpTestAndSet:
		answer := api.TestAndSet{Success: res.Code == kv.CodeDone, Value: c.Value}
		if answer.Success {
			x.w.Header().Del(api.HeaderDropped) // the answer is whole without the rest of the result
		} else {
			answer.Value = []byte(res.Body)
		}
		if len(answer.Value) == 0 {
			answer.Value = nil
		}
		x.marshalled(answer)
	case api.OpRemove:
		return x.removed(res)
	default:
		x.json(bodyTrue)
	}
	return nil
}

// removed answers with the entry that was there.
func (x *exchange) removed(res *kv.Result) error {
	if res.Dropped {
		x.json(bodyNull)
		return nil
	}
	entries, err := kv.DecodeEntries(res.Body)
	if err != nil || len(entries) != 1 {
		return errResult
	}
	x.json(appendEntry(nil, &entries[0], true))
	return nil
}

// errResult is a result that this version cannot read; the write was applied.
var errResult = fmt.Errorf("%w: the write was applied, but its result cannot be read: "+
	"bring all nodes to the same version", service.ErrUnknown)
