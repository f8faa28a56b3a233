package client

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"

	"tenure/api"
)

// The types of Nodes.Status.
type (
	Status       = api.Status
	LeaseStatus  = api.LeaseStatus
	TenureChange = api.TenureChange
	Guardian     = api.Guardian
	PeerStatus   = api.PeerStatus
	DiskStatus   = api.DiskStatus

	History       = api.History
	HistorySample = api.HistorySample
	MemberLag     = api.MemberLag
	Report        = api.Report
)

// The events of a TenureChange.
const (
	TenureWon  = api.TenureWon
	TenureLost = api.TenureLost
)

// RoleMaster is the role of a node that is master and ready.
const RoleMaster = api.RoleMaster

// Nodes tells the state of the nodes and moves mastership.
type Nodes struct{ s *sender }

// Status returns the status of the first node that answers.
func (n *Nodes) Status(ctx context.Context) (Status, error) {
	ctx, cancel := n.s.bounded(ctx)
	defer cancel()
	return n.s.status(ctx, func(Status) bool { return true })
}

// StatusOf returns the status of the node at endpoint, which must be among Client.Endpoints. The node is asked once.
func (n *Nodes) StatusOf(ctx context.Context, endpoint string) (Status, error) {
	fail := func(kind, err error) (Status, error) { return Status{}, &Error{Op: "status", Kind: kind, Err: err} }
	want, err := parseEndpoint(endpoint, n.s.cfg.scheme())
	if err != nil {
		return fail(ErrInvalid, err)
	}
	ctx, cancel := n.s.bounded(ctx)
	defer cancel()
	e := n.s.endpoints.at(want)
	if e == nil {
		return fail(ErrInvalid, errors.New(endpoint+" is not among the client's endpoints"))
	}
	a, _, err := n.s.exchange(ctx, e, statusRequest)
	if err == nil && a.status != http.StatusOK {
		err = a.failure()
	}
	if err != nil {
		return fail(ErrUnavailable, err)
	}
	status, err := decodeStatus(a)
	if err != nil {
		return fail(ErrUnavailable, fmt.Errorf("%s: %w", e, err))
	}
	if n.s.cluster.known() == status.Cluster {
		n.s.revision.observeStatus(status.Revision)
	}
	return status, nil
}

// History returns how busy the first node that answers was in the last minutes.
func (n *Nodes) History(ctx context.Context) (History, error) {
	var out History
	r := request{path: api.PathHistory, unmarked: true, anyCluster: true}
	_, err := n.s.get(ctx, "history", "", r, func(a answer) error {
		out = History{} // of the node before, whose answer was not understood
		if err := json.Unmarshal(a.body, &out); err != nil || out.Samples == nil {
			return errNotUnderstood
		}
		return nil
	})
	return out, err
}

// Reports returns what each member says of itself, as the first node that answers has gathered it.
func (n *Nodes) Reports(ctx context.Context) ([]Report, error) {
	var out api.Reports
	r := request{path: api.PathReports, unmarked: true, anyCluster: true}
	_, err := n.s.get(ctx, "reports", "", r, func(a answer) error {
		out = api.Reports{}
		if err := json.Unmarshal(a.body, &out); err != nil || out.Reports == nil {
			return errNotUnderstood
		}
		return nil
	})
	return out.Reports, err
}

// Transfer asks the master to hand over, to node if that is not 0, and returns when it has. The request is sent to one
// node only, the first that can be reached, because a second copy might hand over twice. The error is ErrUnknown if it
// was sent and not answered, and ErrUnavailable if nothing happened: the node is not caught up, or there is no master.
func (n *Nodes) Transfer(ctx context.Context, node uint64) error {
	r := request{
		method: http.MethodPost, path: api.PathTransfer, body: encode(api.Transfer{Node: node}), noSilenceLimit: true,
	}
	return n.once(ctx, "transfer", r, func(a answer) (kind, err error) {
		switch {
		case a.status >= 400 && a.code() == "", a.status < 400 && !a.isTrue():
			return ErrUnknown, a.inconclusive()
		case a.status == http.StatusOK:
			return nil, nil
		}
		return kindOfTransfer(a.code()), a.err()
	})
}

// once sends a request to the first node that can be reached, and never a second time. check returns no error if the
// request was carried out.
func (n *Nodes) once(ctx context.Context, op string, r request, check func(answer) (kind, err error)) error {
	ctx, cancel := n.s.bounded(ctx)
	defer cancel()
	fail := func(kind, err error) error { return &Error{Op: op, Kind: kind, Err: err} }
	n.s.findLive(ctx)
	tries := n.s.tries()
	for range n.s.endpoints.all() {
		e, err := tries.next(ctx)
		if err != nil {
			return fail(ErrUnavailable, err)
		}
		a, sent, err := n.s.exchange(ctx, e, r)
		switch {
		case err != nil && sent:
			return fail(ErrUnknown, err)
		case err != nil:
			tries.failed(e, err)
			continue
		}
		if kind, err := check(a); kind != nil {
			return fail(kind, err)
		}
		tries.succeeded(e)
		return nil
	}
	return fail(ErrUnavailable, tries.unreachable())
}

// kindOfTransfer returns the kind of error for a transfer that was refused with code.
func kindOfTransfer(code api.Code) error {
	switch o := outcomeOf(code); o.class {
	case notApplied:
		return ErrUnavailable
	case refused:
		return o.kind
	}
	return ErrUnknown
}

var statusRequest = request{method: http.MethodGet, path: api.PathStatus, unmarked: true, anyCluster: true,
	short: true}

// status asks one node after the other until one has a status that is good. ctx must have a deadline.
func (s *sender) status(ctx context.Context, good func(Status) bool) (Status, error) {
	var out Status
	_, err := s.read(ctx, "status", "", func() request { return statusRequest }, func(a answer) error {
		var err error
		if out, err = decodeStatus(a); err != nil {
			return err
		}
		if !good(out) {
			return fmt.Errorf("%s takes no part in the cluster: %s", a.endpoint, out.Problem)
		}
		if out.Role == api.RoleNone { // in whatever cluster it would be
			return nil
		}
		return s.ofThisCluster(a.endpoint, out.Cluster)
	})
	if err != nil {
		return Status{}, err
	}
	if s.cluster.known() == out.Cluster {
		s.revision.observeStatus(out.Revision)
	}
	return out, nil
}

func decodeStatus(a answer) (Status, error) {
	var s Status
	if err := json.Unmarshal(a.body, &s); err != nil || s.Node == 0 {
		return Status{}, errNotUnderstood
	}
	return s, nil
}
