package client

import (
	"time"

	"tenure/api"
)

// SetElapsed has sessions reckon on this clock.
func (c *Client) SetElapsed(now func() time.Duration) {
	c.elapsed = func() func() time.Duration { return now }
}

// Renewals is the body of the first request of RenewLeases.
func Renewals(list []LeaseGrant) []byte {
	var text renewalList
	for _, g := range list {
		if !text.add(api.LeaseRequest{Name: g.Name, Owner: g.Owner, Grant: g.Grant}) {
			break
		}
	}
	return text.json()
}

// Locks is how many locks the session ends when it is lost.
func (s *LiveSession) Locks() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.locks)
}
