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
	x.op = opName(&c)
	res, err := h.writes.apply(x, &c)
	switch {
	case err != nil:
		return err
	case res.Code == kv.CodeCondition:
		x.json(bodyFalse)
		return nil
	case res.Code != kv.CodeDone:
		return service.NotDone(&c, &res)
	}
	return x.posted(&c, &res)
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
	takes string
}{
	api.OpTestAndSet: {kv.OpTestAndSet, "Test Value"},
	api.OpAdd:        {kv.OpAdd, "Num"},
	api.OpRename:     {kv.OpRename, "NewKey"},
	api.OpRemove:     {kv.OpRemove, ""},
	api.OpExpire:     {kv.OpExpire, "TTL"},
}

// checkPost fills c from body.
func (h *kvHandler) checkPost(body *api.Command, c *kv.Command) error {
	p, ok := posts[body.Op]
	if !ok {
		return service.Invalid(`Op %q: must be one of test-and-set, add, rename, remove and expire: nothing was changed`, body.Op)
	}
	c.Op = p.op
	given := fieldsOf(body)
	switch p.op {
	case kv.OpTestAndSet:
		c.Test, c.Value = body.Test, body.Value
		if n := max(len(c.Test), len(c.Value)); n > h.maxValueBytes {
			return h.bodies.tooLarge("the value", h.maxValueBytes)
		}
		for _, m := range given {
			if m != "Test" && m != "Value" {
				return service.Invalid("a test-and-set takes Test and Value, not %s: nothing was changed", m)
			}
		}
		return nil
	case kv.OpRemove:
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
	case kv.OpExpire:
		if *b.TTL == "" {
			return nil // it stays
		}
		ttl, err := parseTTL(*b.TTL)
		c.TTL = ttl
		return err
	}
	return nil
}

// posted answers with the result of c. If the result was dropped, because this is a late retry of a command with a
// large result, the answer has the known part, and a header says so.
func (x *exchange) posted(c *kv.Command, res *kv.Result) error {
	switch c.Op {
	case kv.OpAdd:
		if _, err := strconv.ParseInt(res.Body, 10, 64); err != nil {
			return fmt.Errorf("%w: the sum came as %.40q", errResult, res.Body)
		}
		x.json([]byte(`{"Value":` + res.Body + `}`))
	case kv.OpTestAndSet:
		answer := api.TestAndSet{Success: res.Count == 1, Value: []byte(res.Body)}
		if len(answer.Value) == 0 {
			answer.Value = nil
		}
		x.marshalled(answer)
	case kv.OpRemove:
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
