package client

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"time"
)

// operationPoll is how often Wait asks how far an operation is.
const operationPoll = 250 * time.Millisecond

// Wait waits until the operation has ended or ctx ends, and returns it. seen, if not nil, is called with each answer of
// a node that knows the operation. The error is ErrMembers if the operation failed or was cancelled. It is
// ErrUnavailable if ctx ended first; the operation goes on then. It is ErrUnknown if the cluster does not know the
// operation: it was never begun, or ended so long ago that it was forgotten.
func (m *Members) Wait(
	ctx context.Context, operation string, seen func(MemberList, MemberOperation),
) (MemberOperation, error) {
	fail := func(op MemberOperation, kind, err error) (MemberOperation, error) {
		return op, &Error{Op: "wait for operation", Key: operation, Kind: kind, Err: err, Operation: operation}
	}
	last := MemberOperation{ID: operation, State: OperationRunning}
	var unlisted time.Time // since when all answers have lacked it; zero: the last one did not
	for {
		op, err := m.look(ctx, operation, seen)
		switch {
		case err == nil && op.State == OperationDone:
			return op, nil
		case err == nil && op.State != OperationRunning:
			return fail(op, ErrMembers, endedBadly(op))
		case err == nil:
			last, unlisted = op, time.Time{}
		case errors.Is(err, errUnlisted) && unlisted.IsZero():
			unlisted = time.Now()
		case errors.Is(err, errUnlistedByMaster) && time.Since(unlisted) > unlistedByMaster,
			errors.Is(err, errUnlisted) && time.Since(unlisted) > unlistedByOther:
			return fail(last, ErrUnknown, errForgotten)
		case isFinal(err):
			return last, err
		}
		if over := pause(ctx, operationPoll, 0); over != nil {
			step := cmp.Or(last.Step, "no node that answered knew it")
			return fail(last, ErrUnavailable, fmt.Errorf("it goes on: %s: %w", step, over))
		}
	}
}

// isFinal reports whether asking again meets the same error.
func isFinal(err error) bool {
	for _, kind := range []error{ErrInvalid, ErrDenied, ErrUnknownToken, ErrForbidden} {
		if errors.Is(err, kind) {
			return true
		}
	}
	return false
}

// endedBadly returns what became of an operation that is not done.
func endedBadly(op MemberOperation) error {
	text := "it failed"
	if op.State == OperationCancelled {
		text = "it was cancelled"
	}
	if op.Problem != "" {
		text += ": " + op.Problem
	}
	return errors.New(text)
}

// The errors for an operation that the node which answered does not know (yet). A master has applied all that was
// acknowledged, and another node may lag.
var (
	errUnlisted         = errors.New("the operation is not listed")
	errUnlistedByMaster = fmt.Errorf("by the master: %w", errUnlisted)
)

// errForgotten is the error for an operation that no node knows.
var errForgotten = errors.New("the cluster does not know the operation: its id is wrong, or it ended and was forgotten; " +
	"the list of members tells what it has changed")

const (
	// unlistedByMaster is how long to wait for an operation that the master does not list: for a moment, the previous
	// master may still call itself the master.
	unlistedByMaster = time.Second
	// unlistedByOther is the same for other nodes, while the master does not answer.
	unlistedByOther = 30 * time.Second
)

// look asks how far an operation is.
func (m *Members) look(
	ctx context.Context, id string, seen func(MemberList, MemberOperation),
) (MemberOperation, error) {
	list, err := m.List(ctx)
	if err != nil {
		return MemberOperation{}, err
	}
	i := slices.IndexFunc(list.Operations, func(o MemberOperation) bool { return o.ID == id })
	if i < 0 && list.Node == list.Master {
		return MemberOperation{}, errUnlistedByMaster
	}
	if i < 0 {
		return MemberOperation{}, errUnlisted
	}
	if seen != nil {
		seen(list, list.Operations[i])
	}
	return list.Operations[i], nil
}
