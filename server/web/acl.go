package web

import (
	"crypto/sha256"
	"encoding/json"
	"strconv"
	"strings"

	"github.com/google/uuid"

	"tenure/api"
	"tenure/kv"
	"tenure/server/service"
)

// maxACLBytes bounds the body of a request about a token or a policy: rules with every byte escaped.
const maxACLBytes = 6*api.MaxRulesBytes + jsonSpace

// aclHandler answers requests about tokens and policies. All but a bootstrap, and the question for one's own token, need
// acl:read or acl:write.
type aclHandler struct {
	writes *writes
	bodies *bodies
}

// read returns the tokens and policies if x may read them, with every change acknowledged before the call.
func (h *aclHandler) read(x *exchange, rules *rules) (*kv.ACL, query, error) {
	q, err := parseQuery(x.r.URL.RawQuery, rules)
	if err != nil {
		return nil, q, err
	}
	a, err := x.req.ReadACL()
	return a, q, err
}

// mayWrite reads the query and the body of a request to change tokens or policies, and returns what there is now.
func (h *aclHandler) mayWrite(x *exchange, rules *rules, body any) (*kv.ACL, query, error) {
	q, err := parseQuery(x.r.URL.RawQuery, rules)
	if err == nil && q.has(nCas) && q.cas == 0 {
		err = errNothingThere
	}
	if err == nil && body != nil {
		err = h.bodies.readJSON(x, maxACLBytes, body)
	}
	if err != nil {
		return nil, q, err
	}
	x.aboutIDIn(x.r.URL.Path)
	a, err := x.req.MayChangeACL()
	return a, q, err
}

// errNothingThere refuses a condition that never holds: what is changed exists.
var errNothingThere = service.Invalid("`cas=0` is never true of what exists: give the ModifyIndex that you have read: " +
	"nothing was changed")

// ifAt makes c, which replaces or deletes a policy or token, conditional if the query says so.
func (q *query) ifAt(c kv.Command) kv.Command {
	if q.has(nCas) {
		return kv.IfAt(c, q.cas)
	}
	return c
}

// apply has c applied, and returns tokens and policies that have it, if this node has applied it in time; else older
// ones. Its error is the answer to what was not done.
func (h *aclHandler) apply(x *exchange, c *kv.Command) (kv.Result, *kv.ACL, error) {
	if err := h.writes.identify(x.r.Header, c); err != nil {
		return kv.Result{}, nil, err
	}
	if c.IdemKey == "" {
		c.Said = ""
	}
	res, err := h.writes.apply(x, c)
	if err != nil {
		return res, nil, err
	}
	switch res.Code {
	case kv.CodeDone:
		return res, x.req.ACLAt(res.Revision), nil
	case kv.CodeBootstrapped:
		return res, nil, service.Bootstrapped(res.Count) // by another one just now
	case kv.CodeExists:
		return res, nil, service.Invalid("there is %s already: nothing was changed", res.Body)
	case kv.CodeCondition:
		return res, nil, service.Refuse(api.CodeCondition, "its ModifyIndex is not "+strconv.FormatUint(c.Index, 10)+
			": somebody has changed it: nothing was changed: read it again")
	case kv.CodeMissing:
		return res, nil, service.Invalid("there is no %s: nothing was changed", res.Body)
	}
	return res, nil, service.NotDone(c, &res)
}

// drop deletes a token or a policy with c, if it is there, and answers. What is absent meets every condition.
func (h *aclHandler) drop(x *exchange, q *query, there bool, c kv.Command) error {
	if !there {
		h.writes.nothingToDo(x)
	} else if _, _, err := h.apply(x, &c); err != nil {
		return err
	}
	x.pretty(q, true)
	return nil
}

// identified returns an ID for something new: tries of the same request get the same one.
func (h *aclHandler) identified(x *exchange) (string, error) {
	var c kv.Command
	if err := h.writes.identify(x.r.Header, &c); err != nil {
		return "", err
	}
	return sessionID(x.r.Header, &c, false), nil
}

// shows answers with v, which is as it was at a revision of tokens and policies.
func (x *exchange) shows(q *query, a *kv.ACL, v any) {
	setReadMeta(x.w.Header(), a.Revision(), service.ReadMeta{Revision: a.Revision(), KnownLeader: true})
	x.w.Header()["Cache-Control"] = noStore
	x.pretty(q, v)
}

// givenID checks the ID that a client gives for something, which has to be a UUID. Without one it is "".
func givenID(what, id string) (string, error) {
	if id == "" {
		return "", nil
	}
	parsed, err := uuid.Parse(id)
	if err != nil || len(id) != len(parsed.String()) {
		return "", service.Invalid("%s %.80q: must be a UUID: nothing was changed", what, id)
	}
	return parsed.String(), nil
}

// idAt returns the ID behind prefix in the path.
func idAt(x *exchange, prefix, suffix, what string) (string, error) {
	id := strings.ToLower(strings.TrimSuffix(x.behind(prefix), suffix))
	if kv.ValidateSessionID(id) != nil {
		return "", service.Invalid("%.80q is not the %s, which is a UUID", id, what)
	}
	return id, nil
}

// hashOf returns a hash of v, one of our own plain types, that changes with it.
func hashOf(v any) []byte {
	sum := sha256.Sum256(marshal(v))
	return sum[:]
}

// empty is members of Consul's that are taken as long as they say nothing.
type empty []json.RawMessage

func (e empty) check(name string) error {
	if len(e) > 0 {
		return service.Invalid("%s: there are none here, only policies: nothing was changed", name)
	}
	return nil
}
