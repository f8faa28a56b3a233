package web

import (
	"encoding/json"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/google/uuid"

	"tenure/api"
	"tenure/kv"
)

const (
	maxSessionBytes  = 16 << 10 // of the body of a creation
	defaultLockDelay = lockDelay(15 * time.Second)
	maxLockDelay     = 60 * time.Second
	// serfHealth is the health check that every session of Consul has unless it is told otherwise: that the node is
	// alive. Here nodes are no catalog's, and the TTL alone ends a session.
	serfHealth = "serfHealth"
)

// sessionBody is the JSON of a creation: Consul's members. Those that the server gives (ID and the indexes) are taken
// and ignored, as in Consul, so that a session may be created from one that was listed.
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

// lockDelay reads as in Consul: text with a unit, or a number of nanoseconds. Nobody means a number below 1,000 so: it
// counts as seconds.
type lockDelay time.Duration

func (d *lockDelay) UnmarshalJSON(b []byte) error {
	if string(b) == "null" {
		return nil
	}
	var text string
	if json.Unmarshal(b, &text) == nil {
		parsed, err := time.ParseDuration(text)
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
	*d = lockDelay(min(max(n, -1), float64(2*maxLockDelay))) // what is beyond the bounds stays beyond
	return nil
}

// describe puts what in asks for into e, or tells what is wrong with it.
func (s *Server) describe(in *sessionBody, e *kv.Session) error {
	if err := first(atDefault("Namespace", in.Namespace, "default"), atDefault("Partition", in.Partition, "default")); err != nil {
		return err
	}
	e.Name, e.Node, e.LockDelay = in.Name, in.Node, time.Duration(in.LockDelay)
	switch in.Behavior {
	case "", "release":
		e.Behavior = kv.Release
	case "delete":
		e.Behavior = kv.Delete
	default:
		return badRequest("Invalid Behavior setting '%.80s': must be release or delete: no session was created", in.Behavior)
	}
	other := func(check string) bool { return check != serfHealth }
	switch {
	case e.LockDelay < 0 || e.LockDelay > maxLockDelay:
		return badRequest("Invalid LockDelay: must be from 0s to %v: no session was created", maxLockDelay)
	case len(e.Name) > kv.MaxSessionNameBytes || len(e.Node) > kv.MaxSessionNameBytes:
		return badRequest("Name and Node may have at most %d bytes each: no session was created", kv.MaxSessionNameBytes)
	case slices.ContainsFunc(in.Checks, other) || slices.ContainsFunc(in.NodeChecks, other) || len(in.ServiceChecks) > 0:
		return badRequest("Checks: there are no health checks here, so no session can depend on one but %s, which means nothing: give a TTL instead: no session was created", serfHealth)
	}
	if e.Node == "" {
		e.Node = s.nodeName()
	}
	return s.setTTL(in.TTL, e)
}

// setTTL refuses a TTL with Consul's first words, for which clients look.
func (s *Server) setTTL(text string, e *kv.Session) (err error) {
	if text == "" {
		return nil
	}
	if e.TTL, err = time.ParseDuration(text); err == nil && (e.TTL == 0 || e.TTL >= s.cfg.SessionTTLMin && e.TTL <= MaxSessionTTL) {
		return nil
	}
	return refusalOf(http.StatusInternalServerError, api.CodeInvalid, "Invalid Session TTL '"+ttlText(e.TTL, text, err)+
		"', must be between ["+s.cfg.SessionTTLMin.String()+"="+MaxSessionTTL.String()+"]: no session was created")
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

// sessionID is a new ID. Tries of the same request get the same one: they have the same idempotency key and, if the
// client gave any, the same base.
func sessionID(h http.Header, c *kv.Command) string {
	if len(h[api.HeaderIdempotencyKey]) == 0 {
		return uuid.NewString()
	}
	base := ""
	if b := h[api.HeaderBase]; len(b) == 1 {
		base = b[0]
	}
	return uuid.NewSHA1(sessionSpace, []byte(base+"\n"+c.IdemKey)).String()
}

// session adds e and tells whether to go on.
func (st *stream) session(e kv.Session) bool {
	st.element()
	st.buf = appendSession(st.buf, &e, nil, st.pretty)
	return st.flushed()
}

// maxShownKeys is how many of the keys that a session holds are named.
const maxShownKeys = 100

// sessionDetails is what `details` shows of a session beyond what Consul does.
type sessionDetails struct {
	expiresIn time.Duration // 0: it has no TTL
	held      uint64        // how many keys it has locked
	keys      []string      // the first maxShownKeys of them
}

// sessionDetails adds e with its details and tells whether to go on.
func (st *stream) sessionDetails(e *kv.Session, view *kv.Snapshot) bool {
	d := sessionDetails{expiresIn: e.TTL}
	if st.expiring++; e.TTL > 0 && st.expiring <= maxRemaining {
		if left, runs := st.local.Remaining(kv.TimedSession, e.ID); runs {
			d.expiresIn = max(time.Millisecond, left.Round(time.Millisecond))
		}
	}
	view.Held(e.ID, func(key string) bool {
		if d.held++; d.held <= maxShownKeys {
			d.keys = append(d.keys, key)
		}
		return true
	})
	st.element()
	st.buf = appendSession(st.buf, e, &d, st.pretty)
	return st.flushed()
}

// appendSession writes e as Consul shows it, and then d, if there are details.
func appendSession(b []byte, e *kv.Session, d *sessionDetails, pretty bool) []byte {
	behavior, ttl := "release", ""
	if e.Behavior == kv.Delete {
		behavior = "delete"
	}
	if e.TTL != 0 {
		ttl = secondsText(e.TTL)
	}
	b = appendJSONString(appendField(append(b, '{'), pretty, true, "ID"), e.ID)
	b = appendJSONString(appendField(b, pretty, false, "Name"), e.Name)
	b = appendJSONString(appendField(b, pretty, false, "Node"), e.Node)
	b = appendUintField(b, pretty, false, "LockDelay", uint64(e.LockDelay))
	b = appendJSONString(appendField(b, pretty, false, "Behavior"), behavior)
	b = appendJSONString(appendField(b, pretty, false, "TTL"), ttl)
	b = append(appendField(b, pretty, false, "NodeChecks"), "[]"...)
	b = append(appendField(b, pretty, false, "ServiceChecks"), "[]"...)
	b = appendUintField(b, pretty, false, "CreateIndex", e.CreateIndex)
	b = appendUintField(b, pretty, false, "ModifyIndex", e.ModifyIndex)
	if d != nil {
		if d.expiresIn > 0 {
			b = appendJSONString(appendField(b, pretty, false, "ExpiresIn"), d.expiresIn.String())
		}
		b = appendUintField(b, pretty, false, "Held", d.held)
		b = append(appendField(b, pretty, false, "Keys"), '[')
		for i, key := range d.keys {
			if i > 0 {
				b = append(b, ',')
			}
			b = appendJSONString(b, key)
		}
		b = append(b, ']')
	}
	if pretty {
		b = append(b, "\n    "...)
	}
	return append(b, '}')
}

// secondsText writes whole seconds as people give them: 60s, and not 1m0s.
func secondsText(d time.Duration) string {
	if d%time.Second == 0 {
		return strconv.FormatInt(int64(d/time.Second), 10) + "s"
	}
	return d.String()
}
