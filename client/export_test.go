package client

import "time"

// SetClock makes sessions and leases use another clock.
func (c *Client) SetClock(now func() time.Duration) {
	c.sessions.now, c.leases.now, c.leases.renewer.now = now, now, now
}

// Renewals returns the body of the first request of Leases.RenewAll.
func Renewals(list []LeaseGrant) []byte {
	var text renewalList
	for _, g := range list {
		if !text.add(g.request(true)) {
			break
		}
	}
	return text.json()
}

// Learn has the client take a list of members that came from that URL.
func (c *Client) Learn(from string, l MemberList) { c.s.learner.learn(from, &l) }

// Locks returns how many locks the session ends when it is lost.
func (s *LiveSession) Locks() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.locks)
}

// MasterEndpoint returns where c sends what is for the master first, "" while it does not know.
func MasterEndpoint(c *Client) string {
	if e := c.s.near.endpoint(); e != nil {
		return e.String()
	}
	return ""
}
