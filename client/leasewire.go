package client

import (
	"bytes"
	"encoding/json"
	"net/http"
	"time"
)

// leasesRenewPath renews many leases at once.
const leasesRenewPath = "/v1/leases/renew"

// leasePath is the path of a command on a lease, or of the lease.
func leasePath(name, command string) string {
	if command == "" {
		return "/v1/lease/" + name
	}
	return "/v1/lease/" + name + "/" + command
}

// leaseBody is what goes with a command on leases.
type leaseBody struct {
	Name        string `json:",omitempty"` // in a list only
	Owner       string
	TTL         string `json:",omitempty"`
	Acquisition string `json:",omitempty"`
	Wait        string `json:",omitempty"`
	Grant       string `json:",omitempty"`
}

// wireGrant is a LeaseGrant as nodes send it, or in a list why there is none.
type wireGrant struct {
	Name, Owner, Grant, TTL string
	Token                   uint64
	// Waited is for how long at least, on this machine's clock, the node let the request wait before it began to ask for the lease.
	Waited string
	Error  string
	Lost   bool
}

// grant is w for a lease of that name, if it is one.
func (w *wireGrant) grant(name string) (LeaseGrant, bool) {
	ttl, err := time.ParseDuration(w.TTL)
	if err != nil || ttl <= 0 || w.Token == 0 || w.Grant == "" || w.Name != name {
		return LeaseGrant{}, false
	}
	return LeaseGrant{Name: name, Owner: w.Owner, Token: w.Token, Grant: w.Grant, TTL: ttl}, true
}

func decodeGrant(body []byte, name string) (g LeaseGrant, waited time.Duration, ok bool) {
	var w wireGrant
	if json.Unmarshal(body, &w) != nil {
		return LeaseGrant{}, 0, false
	}
	if d, err := time.ParseDuration(w.Waited); err == nil {
		waited = max(0, d)
	}
	g, ok = w.grant(name)
	return g, waited, ok
}

// maxRenewalBytes is the longest list of renewals that a node reads.
const maxRenewalBytes = 1 << 20

// renewalList is a list of renewals as JSON.
type renewalList struct {
	body []byte
	n    int
}

// add adds b, if there is room; a list takes one at least.
func (l *renewalList) add(b leaseBody) bool {
	text := encode(b)
	if l.n == MaxLeaseRenewals || l.n > 0 && len(l.body)+len(text)+2 > maxRenewalBytes {
		return false
	}
	sep := byte(',')
	if l.n == 0 {
		sep = '['
	}
	l.body = append(append(l.body, sep), text...)
	l.n++
	return true
}

func (l *renewalList) json() []byte { return append(l.body, ']') }

// decodeBusy is never nil: whatever comes with a 409, somebody else has the lease.
func decodeBusy(a answer) *BusyError {
	var w struct{ Owner, RetryAfter string }
	if json.Unmarshal(a.body, &w) != nil {
		return &BusyError{RetryAfter: retryAfter(a.header)}
	}
	d, err := time.ParseDuration(w.RetryAfter)
	if err != nil {
		d = retryAfter(a.header)
	}
	return &BusyError{Owner: w.Owner, RetryAfter: d}
}

// silentWords begin the text of a 503 that says for how long nobody can acquire leases yet.
const silentWords = "leases begin in "

// decodeSilent is nil for any other answer.
func decodeSilent(a answer) *SilentError {
	text, ok := bytes.CutPrefix(a.body, []byte(silentWords))
	if !ok || a.status != http.StatusServiceUnavailable {
		return nil
	}
	number, _, _ := bytes.Cut(text, []byte(":"))
	d, err := time.ParseDuration(string(number))
	if err != nil || d < 0 {
		d = retryAfter(a.header)
	}
	return &SilentError{Begins: d}
}

// renewed understands what a renewal of one lease answers.
func renewed(name string, g *LeaseGrant) understanding {
	return func(a answer) (kind, err error, ok bool) {
		switch a.status {
		case http.StatusOK:
			*g, _, ok = decodeGrant(a.body, name)
			return nil, nil, ok
		case http.StatusConflict:
			return ErrLost, a.err(), true
		}
		return nil, nil, false
	}
}
