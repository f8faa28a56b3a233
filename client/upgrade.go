package client

import (
	"context"
	"encoding/json"
	"net/http"

	"tenure/api"
)

// The types of Nodes.Upgrade.
type (
	Upgrade     = api.Upgrade
	MemberLevel = api.MemberLevel
)

var upgradeRequest = request{method: http.MethodGet, path: api.PathUpgrade, unmarked: true}

// Upgrade returns the cluster's feature level and those of its members' releases, as the first node that answers knows
// them. A node of a release from before there were levels answers ErrInvalid.
func (n *Nodes) Upgrade(ctx context.Context) (Upgrade, error) {
	var out Upgrade
	_, err := n.s.get(ctx, "upgrade status", "", upgradeRequest, func(a answer) (err error) {
		out, err = decodeUpgrade(a)
		return err
	})
	return out, err
}

// FinishUpgrade has the master raise the cluster's feature level to the newest that the node knows which is asked, and
// returns when that node has applied it. From then on no member goes back to an older release. ErrMembers: a member
// runs such a release, or is not heard; the text says which. ErrUnknown: it may have been raised; look, or ask again.
func (n *Nodes) FinishUpgrade(ctx context.Context) (Upgrade, error) {
	ctx, cancel := n.s.bounded(ctx)
	defer cancel()
	r := request{method: http.MethodPost, path: api.PathUpgradeFinish, noSilenceLimit: true}
	fail := func(kind, err error) (Upgrade, error) {
		return Upgrade{}, &Error{Op: "finish the upgrade", Kind: kind, Err: err}
	}
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
		case a.status != http.StatusOK:
			return fail(kindOfTransfer(a.code()), a.failure())
		}
		out, err := decodeUpgrade(a)
		if err != nil {
			return fail(ErrUnknown, err)
		}
		tries.succeeded(e)
		return out, nil
	}
	return fail(ErrUnavailable, tries.unreachable())
}

func decodeUpgrade(a answer) (Upgrade, error) {
	var u Upgrade
	if err := json.Unmarshal(a.body, &u); err != nil || u.NewestLevel == 0 {
		return Upgrade{}, errNotUnderstood
	}
	return u, nil
}
