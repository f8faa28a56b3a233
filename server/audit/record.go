package audit

import (
	"bytes"
	"encoding/json"
	"time"

	"tenure/internal/shown"
)

// Outcome is what came of an act.
type Outcome string

// The outcomes.
const (
	Done       Outcome = "done"
	NotApplied Outcome = "not applied" // nothing was changed by this copy of the request
	Unknown    Outcome = "unknown"     // it may have been done, or may still be
	Denied     Outcome = "denied"      // the token does not allow it, or there is no such token
)

// Record is a line of the audit log. It has no secret and no value.
type Record struct {
	Time time.Time `json:"time"` // when the request came
	Node uint64    `json:"node"` // the node that took it
	From string    `json:"from"` // the other end of the connection, HOST:PORT
	// Accessor names the token, or the anonymous one if the request had none. It is "" if the token does not exist, or
	// if the cluster has no tokens.
	Accessor    string `json:"accessor,omitempty"`
	Certificate string `json:"certificate,omitempty"` // whose the client's certificate is
	Act         string `json:"act"`                   // what was to be done, such as "kv.set" or "members.remove"
	// Keys are the objects of the act, as the store sees them: keys, prefixes, ids or names.
	Keys []string `json:"keys,omitempty"`
	// More is the number of further objects, which would make the line too long.
	More int `json:"more,omitempty"`
	// Fence is the fence under which it writes, and after a colon its token: the act may have raised it.
	Fence string `json:"fence,omitempty"`
	// Revision is that of the store after the act; 0: there is none.
	Revision uint64  `json:"revision,omitempty"`
	Outcome  Outcome `json:"outcome"`
	Code     string  `json:"code,omitempty"`    // why it was not done: an error code of the API
	Missing  string  `json:"missing,omitempty"` // the permission that was missing, in words
	// Lost is the number of missing lines before this one. Such a line has an act of its own, and is about no client.
	Lost uint64 `json:"lost,omitempty"`
	// Denied is the number of denied requests from that source in the last second without a line.
	Denied uint64 `json:"denied,omitempty"`
}

// The acts of lines about missing lines: about lost ones, and about those of a source with too many denied requests.
const (
	actLost   = "audit.lost"
	actDenied = "audit.denied"
)

// line returns the record as JSON, with a line end.
func (r *Record) line() []byte {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false) // it would make names of < six times as long
	if err := e.Encode(r); err != nil {
		panic("audit: a record is not JSON: " + err.Error()) // no type in it can fail
	}
	return shown.JSON(b.Bytes()) // somebody may look at it on a terminal
}
