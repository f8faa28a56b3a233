package client

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strings"

	"tenure/api"
)

// What GET /v1/status tells, under the names of this package.
type (
	Status       = api.Status
	LeaseStatus  = api.LeaseStatus
	TenureChange = api.TenureChange
	Guardian     = api.Guardian
	PeerStatus   = api.PeerStatus
	DiskStatus   = api.DiskStatus
)

// The events of a TenureChange.
const (
	TenureWon  = api.TenureWon
	TenureLost = api.TenureLost
)

// RoleMaster is the role of a node that is master and ready.
const RoleMaster = api.RoleMaster

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

var statusRequest = request{method: http.MethodGet, path: api.PathStatus, bare: true}

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
	r := request{method: http.MethodPost, path: api.PathTransfer, body: encode(api.Transfer{Node: node}), patient: true}
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
		case a.status >= 400 && a.code() == "", a.status < 400 && !a.isTrue():
			return &Error{Op: "transfer", Kind: ErrUnknown, Err: a.stranger()}
		case a.status == http.StatusOK:
			tries.answered(e)
			return nil
		default:
			return &Error{Op: "transfer", Kind: kindOfTransfer(a.code()), Err: a.err()}
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

// kindOfTransfer is the sentinel for a transfer that was refused with code.
func kindOfTransfer(code api.Code) error {
	switch v := verdictOf(code); v.word {
	case notApplied:
		return ErrUnavailable
	case refused:
		return v.kind
	}
	return ErrUnknown
}

// pathOf is the path of a key or prefix.
func pathOf(key string) string { return api.PathKV + key }

// query gathers query names; a name without a value stands alone, as the API has it.
type query []string

func (q *query) name(n string) { *q = append(*q, n) }

// String is q as it stands in a URL.
func (q query) String() string { return strings.Join(q, "&") }

func (q *query) value(n, v string) { *q = append(*q, n+"="+url.QueryEscape(v)) }
