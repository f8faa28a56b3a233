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
func (n *Nodes) FinishUpgrade(ctx context.Context) (out Upgrade, err error) {
	r := request{method: http.MethodPost, path: api.PathUpgradeFinish, noSilenceLimit: true}
	err = n.once(ctx, "finish the upgrade", r, func(a answer) (kind, err error) {
		if a.status != http.StatusOK {
			return kindOfTransfer(a.code()), a.failure()
		}
		if out, err = decodeUpgrade(a); err != nil {
			return ErrUnknown, err
		}
		return nil, nil
	})
	return out, err
}

func decodeUpgrade(a answer) (Upgrade, error) {
	var u Upgrade
	if err := json.Unmarshal(a.body, &u); err != nil || u.Members == nil {
		return Upgrade{}, errNotUnderstood
	}
	return u, nil
}
