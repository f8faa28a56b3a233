package client

import (
	"encoding/json"
	"math"
	"net/http"
	"time"

	"tenure/api"
)

// leasePath is the path of a lease, or of a command on it, such as api.LeaseRenew.
func leasePath(name, verb string) string { return api.PathLease + name + verb }

// grantOf is the grant in w of a lease of that name, if there is one.
func grantOf(w *api.LeaseRenewal, name string) (LeaseGrant, bool) {
	ttl, err := time.ParseDuration(w.TTL)
	if err != nil || ttl <= 0 || w.Token == 0 || w.Grant == "" || w.Name != name {
		return LeaseGrant{}, false
	}
	return LeaseGrant{Name: name, Owner: w.Owner, Token: w.Token, Grant: w.Grant, TTL: ttl}, true
}

// saysLost reports whether w says that the lease has ended. Nodes of the version before say it without a code.
func saysLost(w *api.LeaseRenewal) bool { return w.Code == api.CodeLost || w.Code == "" && w.Lost }

func decodeGrant(body []byte, name string) (g LeaseGrant, waited time.Duration, ok bool) {
	var w api.LeaseRenewal
	if json.Unmarshal(body, &w) != nil {
		return LeaseGrant{}, 0, false
	}
	if d, err := time.ParseDuration(w.Waited); err == nil {
		waited = max(0, d)
	}
	g, ok = grantOf(&w, name)
	return g, waited, ok
}

// maxRenewalBytes is the longest list of renewals that a node reads.
const maxRenewalBytes = 1 << 20

// renewalList is a list of renewals as JSON.
type renewalList struct {
	body []byte
	n    int
}

// add adds b, if there is space; a list takes one at least.
func (l *renewalList) add(b api.LeaseRequest) bool {
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

// decodeBusy is never nil: whatever comes with api.CodeBusy, somebody else has the lease.
func decodeBusy(a answer) *BusyError {
	var w api.LeaseBusy
	if json.Unmarshal(a.body, &w) != nil {
		return &BusyError{RetryAfter: retryAfter(a.header)}
	}
	d, err := time.ParseDuration(w.RetryAfter)
	if err != nil {
		d = retryAfter(a.header)
	}
	return &BusyError{Owner: w.Owner, RetryAfter: d}
}

// decodeSilent tells for how long nobody can acquire leases yet.
func decodeSilent(a answer) *SilentError {
	if ms := a.number(api.HeaderRetryAfterMS); ms > 0 && ms < math.MaxInt32 {
		return &SilentError{Begins: time.Duration(ms) * time.Millisecond}
	}
	return &SilentError{Begins: retryAfter(a.header)}
}

// renewed understands what a renewal of one lease answers.
func renewed(name string, g *LeaseGrant) understanding {
	return func(a answer) (kind, err error, ok bool) {
		if a.status != http.StatusOK {
			return nil, nil, false
		}
		*g, _, ok = decodeGrant(a.body, name)
		return nil, nil, ok
	}
}
