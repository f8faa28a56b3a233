package client

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"time"
)

// Status is a node's view of itself and its peers (GET /v1/status).
type Status struct {
	Cluster   string       `json:"cluster"`
	Node      uint64       `json:"node"`
	Version   string       `json:"version"`
	Role      string       `json:"role"`   // master, follower, non-voter
	Master    uint64       `json:"master"` // as far as this node knows; 0: it knows none
	Epoch     uint64       `json:"epoch"`  // slot of the opening entry of the newest mastership known here
	Lease     LeaseStatus  `json:"lease"`
	Promised  string       `json:"promised"`
	Chosen    uint64       `json:"chosen"`
	Applied   uint64       `json:"applied"`
	Folded    uint64       `json:"folded"`
	Truncated uint64       `json:"truncated"`
	Revision  uint64       `json:"revision"`
	Peers     []PeerStatus `json:"peers"`
	Disk      DiskStatus   `json:"disk"`
	Guardian  Guardian     `json:"guardian"`
	Able      bool         `json:"able"` // the node could serve as master: its disk answers, it has space, it does not stand back
	// StandingBackMS is how long the node makes way for others yet, having let go of the master lease because it got nowhere.
	StandingBackMS int64 `json:"standing_back_ms"`
	UptimeMS       int64 `json:"uptime_ms"`
	// Full lists the members whose disks are short of space, as the node knows it.
	Full []uint64 `json:"full"`
	// Problem says what keeps the node from working as it should: it takes no part (its Role is non-voter then), or its
	// disk is short of space.
	Problem string `json:"problem,omitempty"`
}

// LeaseStatus is the master lease as the node knows it: exact on its holder, a hint elsewhere.
type LeaseStatus struct {
	Held         bool  `json:"held"`
	RemainingMS  int64 `json:"remaining_ms"`
	QuarantineMS int64 `json:"quarantine_ms"` // how long the node stays silent yet after its start
	// Changes are the last beginnings and ends of the node's own tenures of the lease, with their causes, oldest first. They
	// are of its current run.
	Changes []TenureChange `json:"changes"`
}

// The events of a TenureChange.
const (
	TenureWon  = "won"
	TenureLost = "lost"
)

// TenureChange is a beginning or an end of a tenure of the master lease by the node that tells of it.
type TenureChange struct {
	Time        time.Time `json:"time"`             // by the node's wall clock
	Event       string    `json:"event"`            // won or lost
	Cause       string    `json:"cause"`            // of a loss: why; of a win: how the tenure before ended
	Detail      string    `json:"detail"`           // the same as a sentence, for people
	Before      uint64    `json:"before,omitempty"` // of a win: the owner before
	OwnerlessMS int64     `json:"ownerless_ms"`     // of a win: about how long nobody owned the lease
	HeldMS      int64     `json:"held_ms"`          // of a loss: how long the tenure was
}

// Guardian is the process that outlives the node's and releases its lease, so that a crash costs milliseconds.
type Guardian struct {
	PID          int    `json:"pid"`               // 0: none runs
	Problem      string `json:"problem,omitempty"` // why none runs
	ReleasedHere uint64 `json:"released_here"`     // leases of crashed peers that the node let go at the word of their guardians, in this run
}

// PeerStatus is another member as the node sees it.
type PeerStatus struct {
	Node          uint64 `json:"node"`
	PeerAddress   string `json:"peer_address"`
	ClientAddress string `json:"client_address"` // "" until it has connected once
	Connected     bool   `json:"connected"`
	Chosen        uint64 `json:"chosen"`
	LastHeardMS   int64  `json:"last_heard_ms"` // -1: never in this run
}

// DiskStatus is the use of the node's data directory.
type DiskStatus struct {
	LogBytes   int64 `json:"log_bytes"`
	StateBytes int64 `json:"state_bytes"`
	FreeBytes  int64 `json:"free_bytes"`
	QuotaBytes int64 `json:"quota_bytes"` // 0: none
}

// Role of a node that is master and ready.
const RoleMaster = "master"

// Status is the view of the first node that answers.
func (c *Client) Status(ctx context.Context) (Status, error) {
	ctx, cancel := c.bounded(ctx)
	defer cancel()
	return c.status(ctx, func(Status) bool { return true })
}

// StatusOf is the view of one node, one of Endpoints, asked once. No other node is asked in its stead.
func (c *Client) StatusOf(ctx context.Context, endpoint string) (Status, error) {
	want, err := parseEndpoint(endpoint)
	if err != nil {
		return Status{}, &Error{Op: "status", Kind: ErrInvalid, Err: err}
	}
	ctx, cancel := c.bounded(ctx)
	defer cancel()
	for i, u := range c.endpoints {
		if *u != *want {
			continue
		}
		a, _, err := c.exchange(ctx, i, statusRequest)
		if err == nil && a.status != http.StatusOK {
			err = a.err()
		}
		if err != nil {
			return Status{}, &Error{Op: "status", Kind: ErrUnavailable, Err: err}
		}
		s, err := decodeStatus(a)
		if err != nil {
			return Status{}, &Error{Op: "status", Kind: ErrUnavailable, Err: fmt.Errorf("%s: %w", u, err)}
		}
		c.seen.learned(s.Cluster, s.Revision)
		return s, nil
	}
	return Status{}, &Error{Op: "status", Kind: ErrInvalid, Err: errors.New(endpoint + " is not among the client's endpoints")}
}

var statusRequest = request{method: http.MethodGet, path: "/v1/status", bare: true}

// status asks one node after the other until one gives a status that will do.
func (c *Client) status(ctx context.Context, good func(Status) bool) (Status, error) {
	var s Status
	_, err := c.read(ctx, "status", "", func() request { return statusRequest }, func(a answer) error {
		var err error
		if s, err = decodeStatus(a); err != nil {
			return err
		}
		if !good(s) {
			return fmt.Errorf("%s takes no part in the cluster: %s", a.endpoint, s.Problem)
		}
		return nil
	})
	if err != nil {
		return Status{}, err
	}
	c.seen.learned(s.Cluster, s.Revision)
	return s, nil
}

// Transfer asks the master to hand over, to node if that is not 0, and returns once it has. It is sent to one node
// only, the first that can be reached, because a second copy might hand over twice: ErrUnknown says that it was sent
// and not answered, ErrUnavailable that nothing happened (the node named is not caught up, there is no master).
func (c *Client) Transfer(ctx context.Context, node uint64) error {
	ctx, cancel := c.bounded(ctx)
	defer cancel()
	body, err := json.Marshal(struct{ Node uint64 }{node})
	if err != nil {
		panic(fmt.Sprintf("client: encode a transfer: %v", err))
	}
	r := request{method: http.MethodPost, path: "/v1/master/transfer", body: body, patient: true}
	tries := c.rounds()
	for range c.endpoints {
		e, err := tries.next(ctx)
		if err != nil {
			return &Error{Op: "transfer", Kind: ErrUnavailable, Err: err}
		}
		a, sent, err := c.exchange(ctx, e, r)
		switch {
		case err != nil && sent:
			return &Error{Op: "transfer", Kind: ErrUnknown, Err: err}
		case err != nil:
			tries.failed(e, err)
		case a.status >= 400 && !a.ofNode(), a.status < 400 && !a.isTrue():
			return &Error{Op: "transfer", Kind: ErrUnknown, Err: a.stranger()}
		case a.status == http.StatusOK:
			tries.answered(e)
			return nil
		default:
			return &Error{Op: "transfer", Kind: kindOfTransfer(a.status), Err: a.err()}
		}
	}
	if tries.refused == len(c.endpoints) {
		tries.last = fmt.Errorf("%w: %w", ErrRefused, tries.last)
	}
	return &Error{Op: "transfer", Kind: ErrUnavailable, Err: tries.last}
}

// isTrue reports whether a says that something was done.
func (a answer) isTrue() bool {
	return a.status == http.StatusOK && strings.TrimSpace(string(a.body)) == "true"
}

func kindOfTransfer(status int) error {
	switch {
	case status == http.StatusServiceUnavailable:
		return ErrUnavailable
	case status >= 500:
		return ErrUnknown
	}
	return kindOfRefusal(status)
}

// pathOf is the path of a key or prefix.
func pathOf(key string) string { return "/v1/kv/" + key }

// query gathers query names; a name without a value stands alone, as the API has it.
type query []string

func (q *query) name(n string) { *q = append(*q, n) }

// String is q as it stands in a URL.
func (q query) String() string { return strings.Join(q, "&") }

func (q *query) value(n, v string) { *q = append(*q, n+"="+url.QueryEscape(v)) }
