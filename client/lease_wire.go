package client

import (
	"encoding/json"
	"errors"
	"math"
	"time"

	"tenure/api"
)

// leasePath returns the path of a lease, or of a command on it, such as api.LeaseRenew.
func leasePath(name, command string) string { return api.PathLease + name + command }

// grantOf returns the grant in w of a lease of that name, if there is one.
func grantOf(w *api.LeaseRenewal, name string) (LeaseGrant, bool) {
	ttl, err := time.ParseDuration(w.TTL)
	if err != nil || ttl <= 0 || w.Token == 0 || w.Grant == "" || w.Name != name {
		return LeaseGrant{}, false
	}
	return LeaseGrant{Name: name, Owner: w.Owner, Token: w.Token, Grant: w.Grant, TTL: ttl}, true
}

// hasEnded reports whether w says that the lease has ended. Nodes of the version before say so without a code.
func hasEnded(w *api.LeaseRenewal) bool { return w.Code == api.CodeLost || w.Code == "" && w.Lost }

// renewalError returns why a lease of a list was not renewed.
func renewalError(w *api.LeaseRenewal) error {
	if w.Error == "" && !w.Lost {
		return errNotUnderstood
	}
	return errors.New(oneLine([]byte(w.Error)))
}

// decodeGrant decodes the answer to an acquisition or a renewal. waited is how long the node has waited for other
// owners.
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

// interpretGrant interprets the answer to the renewal of one lease, and stores it in g.
func interpretGrant(name string, g *LeaseGrant) interpreter {
	return onlyOK(func(a answer) (kind, err error, ok bool) {
		*g, _, ok = decodeGrant(a.body, name)
		return nil, nil, ok
	})
}

// decodeRenewals decodes the answer to a renewal of n leases.
func decodeRenewals(a answer, n int) ([]api.LeaseRenewal, error) {
	var wire []api.LeaseRenewal
	if json.Unmarshal(a.body, &wire) != nil || len(wire) != n {
		return nil, errNotUnderstood
	}
	return wire, nil
}

// decodeBusy never returns nil: whatever the body of an answer with api.CodeBusy is, somebody else has the lease.
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

// decodeQuarantine returns how long no lease can be granted.
func decodeQuarantine(a answer) *QuarantineError {
	if ms := a.number(api.HeaderRetryAfterMS); ms > 0 && ms < math.MaxInt32 {
		return &QuarantineError{Remaining: time.Duration(ms) * time.Millisecond}
	}
	return &QuarantineError{Remaining: retryAfter(a.header)}
}

// renewalList is a list of renewals as JSON.
type renewalList struct {
	body []byte
	n    int
}

// add adds b and reports whether it fits. The first one always does.
func (l *renewalList) add(b api.LeaseRequest) bool {
	text := encode(b)
	if l.n == MaxLeaseRenewals || l.n > 0 && len(l.body)+len(text)+2 > api.MaxLeaseRenewalBytes {
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
