package web

import (
	"cmp"
	"encoding/json"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/google/uuid"

	"tenure/api"
	"tenure/internal/days"
	"tenure/kv"
	"tenure/server/service"
)

const (
	maxSessionBytes = 16 << 10 // of the body of a creation
	// serfHealth is the health check that every session of Consul has unless it is told otherwise: that the node is
	// alive. Sessions show it, since clients look for it. Here nodes are no catalog's, and the TTL alone ends a
	// session.
	serfHealth = "serfHealth"
)

// sessionBody is the JSON of a creation, with Consul's members. Members set by the server (ID and the indexes) are
// accepted and ignored, as in Consul, so that a session may be created from a listed one.
type sessionBody struct {
	Name          string
	Node          string
	LockDelay     lockDelay
	Behavior      string
	TTL           string
	Checks        []string
	NodeChecks    []string
	ServiceChecks []json.RawMessage
	Namespace     string // "default" or nothing, as Partition
	Partition     string
	ID            json.RawMessage
	CreateIndex   json.RawMessage
	ModifyIndex   json.RawMessage
}

// lockDelay reads as in Consul: text with a unit, or a number of nanoseconds. A number below 1,000 is never meant as
// nanoseconds: it counts as seconds.
type lockDelay time.Duration

func (d *lockDelay) UnmarshalJSON(b []byte) error {
	if string(b) == "null" {
		return nil
	}
	var text string
	if json.Unmarshal(b, &text) == nil {
		parsed, err := days.ParseSigned(text)
		*d = lockDelay(parsed)
		return err
	}
	var n float64
	if err := json.Unmarshal(b, &n); err != nil {
		return err
	}
	if n < 1000 {
		n *= float64(time.Second)
	}
	*d = lockDelay(min(max(n, -1), float64(2*api.MaxLockDelay))) // what is beyond the bounds stays beyond
	return nil
}

// create makes a session. This node draws its ID; with an idempotency key the ID follows from that, so that a retry is
// the same command.
func (h *sessionHandler) create(x *exchange) error {
	c, err := h.writes.command(x, &consulWriteRules, kv.OpSessionCreate)
	if err != nil {
		return err
	}
	in := sessionBody{Node: h.nodeName(), LockDelay: lockDelay(api.DefaultLockDelay), NodeChecks: []string{serfHealth}}
	if err := h.bodies.readJSON(x, maxSessionBytes, &in); err != nil {
		return err
	}
	if c.Session, err = h.described(&in); err != nil {
		return err
	}
	c.Session.ID = sessionID(x.r.Header, &c, len(in.NodeChecks) == 0)
	res, err := h.writes.apply(x, &c)
	if err != nil {
		return err
	}
	if res.Code != kv.CodeDone {
		return service.NotDone(&c, &res)
	}
	x.json([]byte(`{"ID":"` + res.Body + `"}`)) // under a known key the ID of then, also if the base differs
	return nil
}

// described returns the session that in describes, or an error about its first invalid member.
func (h *sessionHandler) described(in *sessionBody) (kv.Session, error) {
	e := kv.Session{Name: in.Name, Node: in.Node, LockDelay: time.Duration(in.LockDelay)}
	err := firstError(
		atDefault("Namespace", in.Namespace, "default"),
		atDefault("Partition", in.Partition, "default"),
		setBehavior(&e, in.Behavior),
		checkSession(&e, in),
		h.setTTL(&e, in.TTL))
	e.Node = cmp.Or(e.Node, h.nodeName())
	return e, err
}

func setBehavior(e *kv.Session, text string) error {
	switch text {
	case "", api.BehaviorRelease:
		e.Behavior = kv.Release
	case api.BehaviorDelete:
		e.Behavior = kv.Delete
	default:
		return service.Invalid("Invalid Behavior setting '%.80s': must be release or delete: no session was created",
			text)
	}
	return nil
}

func checkSession(e *kv.Session, in *sessionBody) error {
	other := func(check string) bool { return check != serfHealth }
	switch {
	case e.LockDelay < 0 || e.LockDelay > api.MaxLockDelay:
		return service.Invalid("Invalid LockDelay: must be from 0s to %v: no session was created", api.MaxLockDelay)
	case len(e.Name) > api.MaxSessionNameBytes || len(e.Node) > api.MaxSessionNameBytes:
		return service.Invalid("Name and Node may have at most %d bytes each: no session was created",
			api.MaxSessionNameBytes)
	case slices.ContainsFunc(in.Checks, other), slices.ContainsFunc(in.NodeChecks, other), len(in.ServiceChecks) > 0:
		return service.Invalid("Checks: there are no health checks here, so no session can depend on one but %s, "+
			"which means nothing: give a TTL instead: no session was created", serfHealth)
	}
	return nil
}

// setTTL refuses a TTL with Consul's first words, for which clients look.
func (h *sessionHandler) setTTL(e *kv.Session, text string) (err error) {
	if text == "" {
		return nil
	}
	e.TTL, err = days.ParseSigned(text)
	if err == nil && (e.TTL == 0 || e.TTL >= h.minTTL && e.TTL <= api.MaxSessionTTL) {
		return nil
	}
	why := "no session was created"
	if days.MissesUnit(text) {
		why += ": the unit is missing: write it like 15s or 2m"
	} else if err == nil { // Consul's words show nanoseconds
		why = e.TTL.String() + " is outside of that: " + why
	}
	return refuse(http.StatusInternalServerError, api.CodeInvalid, "Invalid Session TTL '"+ttlText(e.TTL, text, err)+
		"', must be between ["+h.minTTL.String()+"="+api.MaxSessionTTL.String()+"]: "+why)
}

// ttlText shows a TTL as Consul does in this message: in nanoseconds, if it is one.
func ttlText(ttl time.Duration, text string, err error) string {
	if err != nil {
		return strings.ToValidUTF8(text[:min(len(text), 80)], "?")
	}
	return strconv.FormatInt(int64(ttl), 10)
}

// sessionSpace is the name space of the IDs of sessions that follow from an idempotency key.
var sessionSpace = uuid.MustParse("8e6a5f0c-52a5-4b6e-9d5e-0a6f6ad0b7c1")

// unchecked is the version of the IDs of sessions that were created without node checks: the one that RFC 9562 leaves
// to its users. Clients of Consul look at which checks a session has, and the state has no place for them: they mean
// nothing here.
const unchecked = 8

// sessionID returns a new ID. Tries of the same request get the same ID: they have the same idempotency key and the
// same base, if the client sent them.
func sessionID(h http.Header, c *kv.Command, withoutChecks bool) string {
	id := uuid.New()
	if len(h[api.HeaderIdempotencyKey]) != 0 {
		base := ""
		if b := h[api.HeaderBase]; len(b) == 1 {
			base = b[0]
		}
		id = uuid.NewSHA1(sessionSpace, []byte(base+"\n"+c.IdemKey))
	}
	if withoutChecks {
		id[6] = id[6]&0x0f | unchecked<<4
	}
	return id.String()
}

// nodeChecks returns the JSON of a session's node checks.
func nodeChecks(id string) string {
	if u, err := uuid.Parse(id); err == nil && u.Version() == unchecked {
		return "[]"
	}
	return `["` + serfHealth + `"]`
}
