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

// writes does the writes of a cluster, each at most once.
type writes struct {
	store    *store
	fences   *fences
	acls     *acls
	known    map[string]remembered // by idempotency key
	floor    uint64                // a base below it is too old
	sessions uint64                // how many were created
}

// remembered is a write that was done, and its answer.
type remembered struct {
	request string // method, path, query and body
	reply   reply
}

// reply is the answer to a write.
type reply struct {
	status   int
	code     api.Code // "" of a success
	body     string
	revision uint64
	count    uint64
}

// once applies a request at most once under idempotency key and base.
func (m *writes) once(request, key string, base uint64, apply func() reply) reply {
	if old, ok := m.known[key]; ok && old.request == request {
		return old.reply
	} else if ok {
		return reply{status: 409, code: api.CodeKeyReused, body: "Idempotency-Key was used by another write"}
	}
	switch {
	case base < m.floor:
		return reply{status: 504, code: api.CodeKeyTooOld, body: "key too old: outcome unknown"}
	case base > m.store.revision:
		return reply{status: 400, code: api.CodeInvalid, body: "X-Tenure-Base is above the store's revision"}
	}
	r := apply()
	r.revision = m.store.revision
	m.known[key] = remembered{request, r}
	return r
}

// apply does a write.
func (m *writes) apply(r *http.Request, body []byte) reply {
	q := r.URL.Query()
	key := strings.TrimPrefix(r.URL.Path, api.PathKV)
	if refusal := m.fences.check(q.Get(api.QueryFence)); refusal != nil {
		return *refusal
	}
	switch {
	case strings.HasPrefix(r.URL.Path, api.PathFence):
		m.fences.drop(strings.TrimPrefix(r.URL.Path, api.PathFence))
		return reply{status: 200, body: "true"}
	case strings.HasPrefix(r.URL.Path, api.PathACL):
		m.store.revision++
		return m.acls.write(r, body)
	case r.URL.Path == api.PathTxn:
		return m.txn(body)
	case strings.HasPrefix(r.URL.Path, api.PathSession):
		return m.sessionWrite(strings.TrimPrefix(r.URL.Path, api.PathSession), body)
	case r.Method == http.MethodPost:
		return m.post(key, body)
	case r.Method == http.MethodDelete && q.Has(api.QueryRecurse):
		keys := m.store.keys(key)
		m.store.delete(keys)
		return reply{status: 200, body: "true", count: uint64(len(keys))}
	case r.Method == http.MethodDelete:
		x := op{Verb: client.TxnDelete, Key: key}
		if q.Has(api.QueryCAS) {
			x.Verb, x.Index = client.TxnDeleteCAS, number(q, api.QueryCAS)
		}
		_, failed := m.store.run(x)
		return reply{status: 200, body: strconv.FormatBool(failed == "")}
	}
	return m.put(key, q, body)
}

func number(q url.Values, name string) uint64 {
	n, _ := strconv.ParseUint(q.Get(name), 10, 64)
	return n
}

func (m *writes) put(key string, q url.Values, body []byte) reply {
	x := op{Verb: client.TxnSet, Key: key, Value: body, Flags: number(q, api.QueryFlags), Index: number(q, api.QueryCAS)}
	switch {
	case q.Has(api.QueryCAS):
		x.Verb = client.TxnCAS
	case q.Has(api.QueryAcquire):
		x.Verb, x.Session = client.TxnLock, q.Get(api.QueryAcquire)
	case q.Has(api.QueryRelease):
		x.Verb, x.Session = client.TxnUnlock, q.Get(api.QueryRelease)
	}
	noSession := x.Verb == client.TxnLock && m.store.sessions[x.Session] == nil
	failed := m.store.set(x)
	if noSession {
		return reply{status: 500, code: api.CodeNoSession, body: failed}
	}
	if ttl, err := time.ParseDuration(q.Get(api.QueryTTL)); err == nil && failed == "" {
		m.store.expiry[key] = time.Now().Add(ttl)
	}
	return reply{status: 200, body: strconv.FormatBool(failed == "")}
}

func (m *writes) post(key string, body []byte) reply {
	var in api.Command
	if decode(body, &in) != nil {
		return reply{status: 400, code: api.CodeInvalid, body: "bad JSON"}
	}
	e, exists := m.store.entries[key]
	if !exists {
		return reply{status: 404, code: api.CodeNotFound, body: "there is no such key: nothing was changed"}
	}
	switch in.Op {
	case api.OpTestAndSet:
		done := string(e.Value) == string(in.Test)
		if done {
			m.store.set(op{Verb: client.TxnSet, Key: key, Value: in.Value, Flags: e.Flags})
		}
		return jsonReply(api.TestAndSet{Success: done, Value: m.store.entries[key].Value})
	case api.OpAdd:
		if in.Num == nil {
			return reply{status: 400, code: api.CodeInvalid, body: "Num is missing"}
		}
		shown, failed := m.store.run(op{Verb: client.TxnAdd, Key: key, Num: *in.Num})
		if failed != "" {
			return reply{status: 409, code: api.CodeNotNumber,
				body: "the key does not hold a decimal number, or the sum is beyond 64 bits"}
		}
		return reply{status: 200, body: `{"Value":` + string(shown[0].Value) + `}`}
	case api.OpRename:
		if in.NewKey == nil {
			return reply{status: 400, code: api.CodeInvalid, body: "NewKey is missing"}
		}
		_, failed := m.store.run(op{Verb: client.TxnRename, Key: key, NewKey: *in.NewKey})
		return reply{status: 200, body: strconv.FormatBool(failed == "")}
	case api.OpRemove:
		m.store.delete([]string{key})
		return jsonReply(e)
	case api.OpExpire:
		if in.TTL == nil {
			return reply{status: 400, code: api.CodeInvalid, body: "TTL is missing"}
		}
		m.store.write()
		e.ModifyIndex = m.store.revision
		m.store.put(e)
		if delete(m.store.expiry, key); *in.TTL != "" {
			ttl, _ := time.ParseDuration(*in.TTL)
			m.store.expiry[key] = time.Now().Add(ttl)
		}
		return reply{status: 200, body: "true"}
	}
	return reply{status: 400, code: api.CodeInvalid, body: "unknown Op"}
}

func jsonReply(v any) reply { return reply{status: 200, body: string(encode(v))} }

func (m *writes) txn(body []byte) reply {
	var in []struct{ KV op }
	if decode(body, &in) != nil {
		return reply{status: 400, code: api.CodeInvalid, body: "bad JSON"}
	}
	var ops []op
	for _, x := range in {
		ops = append(ops, x.KV)
	}
	shown, failed := m.store.transaction(ops)
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

func (m *writes) sessionWrite(what string, body []byte) reply {
	verb, id, _ := strings.Cut(what, "/")
	if verb == "destroy" {
		m.store.endSession(id)
		return reply{status: 200, body: "true"}
	}
	in := api.SessionRequest{LockDelay: "15s", Behavior: api.BehaviorRelease, Node: "node-1"}
	if len(body) > 0 && decode(body, &in) != nil {
		return reply{status: 400, code: api.CodeInvalid, body: "bad JSON"}
	}
	ttl, err := time.ParseDuration(in.TTL)
	if in.TTL != "" && (err != nil || ttl < 10*time.Second) {
		return reply{status: 500, code: api.CodeInvalid,
			body: "Invalid Session TTL '" + in.TTL + "', must be between [10s=24h]"}
	}
	delay, _ := time.ParseDuration(in.LockDelay)
	m.sessions++
	x := client.Session{
		ID: fmt.Sprintf("00000000-0000-4000-8000-%012d", m.sessions), Name: in.Name, Node: in.Node,
		TTL: ttl, LockDelay: delay, Behavior: client.Behavior(in.Behavior),
	}
	m.store.newSession(x)
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
