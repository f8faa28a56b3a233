package clienttest

import (
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"tenure/api"
	"tenure/client"
)

// apply does a write.
func (c *Cluster) apply(r *http.Request, body []byte) reply {
	q := r.URL.Query()
	key := strings.TrimPrefix(r.URL.Path, api.PathKV)
	if refusal := c.fences.check(q.Get(api.QueryFence)); refusal != nil {
		return *refusal
	}
	switch {
	case strings.HasPrefix(r.URL.Path, api.PathFence):
		c.fences.drop(strings.TrimPrefix(r.URL.Path, api.PathFence))
		return reply{status: 200, body: "true"}
	case r.URL.Path == api.PathTxn:
		return c.txn(body)
	case strings.HasPrefix(r.URL.Path, api.PathSession):
		return c.sessionWrite(strings.TrimPrefix(r.URL.Path, api.PathSession), body)
	case r.Method == http.MethodPost:
		return c.post(key, body)
	case r.Method == http.MethodDelete && q.Has(api.QueryRecurse):
		keys := c.store.keys(key)
		c.store.delete(keys)
		return reply{status: 200, body: "true", count: uint64(len(keys))}
	case r.Method == http.MethodDelete:
		x := op{Verb: client.TxnDelete, Key: key}
		if q.Has(api.QueryCAS) {
			x.Verb, x.Index = client.TxnDeleteCAS, number(q, api.QueryCAS)
		}
		_, failed := c.store.run(x)
		return reply{status: 200, body: strconv.FormatBool(failed == "")}
	}
	return c.put(key, q, body)
}

func number(q url.Values, name string) uint64 {
	n, _ := strconv.ParseUint(q.Get(name), 10, 64)
	return n
}

func (c *Cluster) put(key string, q url.Values, body []byte) reply {
	x := op{Verb: client.TxnSet, Key: key, Value: body, Flags: number(q, api.QueryFlags), Index: number(q, api.QueryCAS)}
	switch {
	case q.Has(api.QueryCAS):
		x.Verb = client.TxnCAS
	case q.Has(api.QueryAcquire):
		x.Verb, x.Session = client.TxnLock, q.Get(api.QueryAcquire)
	case q.Has(api.QueryRelease):
		x.Verb, x.Session = client.TxnUnlock, q.Get(api.QueryRelease)
	}
	noSession := x.Verb == client.TxnLock && c.store.sessions[x.Session] == nil
	failed := c.store.set(x)
	if noSession {
		return reply{status: 500, code: api.CodeNoSession, body: failed}
	}
	if ttl, err := time.ParseDuration(q.Get(api.QueryTTL)); err == nil && failed == "" {
		c.store.expiry[key] = time.Now().Add(ttl)
	}
	return reply{status: 200, body: strconv.FormatBool(failed == "")}
}

func (c *Cluster) post(key string, body []byte) reply {
	var in api.Command
	if decode(body, &in) != nil {
		return reply{status: 400, code: api.CodeInvalid, body: "bad JSON"}
	}
	e, exists := c.store.entries[key]
	if !exists {
		return reply{status: 404, code: api.CodeNotFound, body: "there is no such key: nothing was changed"}
	}
	switch in.Op {
	case api.OpTestAndSet:
		done := string(e.Value) == string(in.Test)
		if done {
			c.store.set(op{Verb: client.TxnSet, Key: key, Value: in.Value, Flags: e.Flags})
		}
		return jsonReply(api.TestAndSet{Success: done, Value: c.store.entries[key].Value})
	case api.OpAdd:
		if in.Num == nil {
			return reply{status: 400, code: api.CodeInvalid, body: "Num is missing"}
		}
		shown, failed := c.store.run(op{Verb: client.TxnAdd, Key: key, Num: *in.Num})
		if failed != "" {
			return reply{status: 409, code: api.CodeNotNumber, body: "the key does not hold a decimal number, or the sum is beyond 64 bits"}
		}
		return reply{status: 200, body: `{"Value":` + string(shown[0].Value) + `}`}
	case api.OpRename:
		if in.NewKey == nil {
			return reply{status: 400, code: api.CodeInvalid, body: "NewKey is missing"}
		}
		_, failed := c.store.run(op{Verb: client.TxnRename, Key: key, NewKey: *in.NewKey})
		return reply{status: 200, body: strconv.FormatBool(failed == "")}
	case api.OpRemove:
		c.store.delete([]string{key})
		return jsonReply(e)
	case api.OpExpire:
		if in.TTL == nil {
			return reply{status: 400, code: api.CodeInvalid, body: "TTL is missing"}
		}
		c.store.write()
		e.ModifyIndex = c.store.revision
		c.store.put(e)
		if delete(c.store.expiry, key); *in.TTL != "" {
			ttl, _ := time.ParseDuration(*in.TTL)
			c.store.expiry[key] = time.Now().Add(ttl)
		}
		return reply{status: 200, body: "true"}
	}
	return reply{status: 400, code: api.CodeInvalid, body: "unknown Op"}
}

func jsonReply(v any) reply { return reply{status: 200, body: string(encode(v))} }

func (c *Cluster) txn(body []byte) reply {
	var in []struct{ KV op }
	if decode(body, &in) != nil {
		return reply{status: 400, code: api.CodeInvalid, body: "bad JSON"}
	}
	var ops []op
	for _, x := range in {
		ops = append(ops, x.KV)
	}
	shown, failed := c.store.transaction(ops)
	var results []map[string]any
	for _, e := range shown {
		results = append(results, map[string]any{"KV": e})
	}
	out := jsonReply(map[string]any{"Results": results, "Errors": failed})
	if len(failed) > 0 {
		out = jsonReply(map[string]any{"Results": nil, "Errors": failed})
		out.status, out.code = 409, api.CodeCondition
	}
	return out
}

func (c *Cluster) sessionWrite(what string, body []byte) reply {
	verb, id, _ := strings.Cut(what, "/")
	if verb == "destroy" {
		c.store.endSession(id)
		return reply{status: 200, body: "true"}
	}
	in := api.SessionRequest{LockDelay: "15s", Behavior: api.BehaviorRelease, Node: "node-1"}
	if len(body) > 0 && decode(body, &in) != nil {
		return reply{status: 400, code: api.CodeInvalid, body: "bad JSON"}
	}
	ttl, err := time.ParseDuration(in.TTL)
	if in.TTL != "" && (err != nil || ttl < 10*time.Second) {
		return reply{status: 500, code: api.CodeInvalid, body: "Invalid Session TTL '" + in.TTL + "', must be between [10s=24h]"}
	}
	delay, _ := time.ParseDuration(in.LockDelay)
	c.sessions++
	x := client.Session{
		ID: fmt.Sprintf("00000000-0000-4000-8000-%012d", c.sessions), Name: in.Name, Node: in.Node,
		TTL: ttl, LockDelay: delay, Behavior: client.Behavior(in.Behavior),
	}
	c.store.newSession(x)
	return jsonReply(api.SessionID{ID: x.ID})
}

// listSessions are those of `list`, `info/ID` or `node/NODE`, as nodes show them.
func (s *store) listSessions(what string, details bool) []map[string]any {
	verb, name, _ := strings.Cut(what, "/")
	out := []map[string]any{}
	for _, id := range slices.Sorted(maps.Keys(s.sessions)) {
		x := s.sessions[id]
		if verb == "info" && id != name || verb == "node" && x.Node != name {
			continue
		}
		ttl := ""
		if x.TTL > 0 {
			ttl = x.TTL.String()
		}
		shown := map[string]any{"ID": id, "Name": x.Name, "Node": x.Node, "TTL": ttl, "LockDelay": x.LockDelay,
			"Behavior": x.Behavior, "CreateIndex": x.CreateIndex, "ModifyIndex": x.ModifyIndex}
		if details {
			keys := slices.DeleteFunc(s.keys(""), func(k string) bool { return s.entries[k].Session != id })
			shown["Held"], shown["Keys"] = len(keys), keys
			if !x.ends.IsZero() {
				shown["ExpiresIn"] = time.Until(x.ends).String()
			}
		}
		out = append(out, shown)
	}
	return out
}

// show is an entry as listings have it.
func (s *store) show(e client.Entry) any {
	t, ok := s.expiry[e.Key]
	if !ok {
		return e
	}
	return struct {
		client.Entry
		ExpiresIn string
	}{e, time.Until(t).String()}
}
