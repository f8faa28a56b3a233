package web

import (
	"fmt"
	"time"

	"tenure/api"
)

// Upgrades tells which feature level the cluster has, and raises it.
type Upgrades interface {
	// Upgrade returns what this node knows of it. It never waits.
	Upgrade() api.Upgrade
	// FinishUpgrade has the master raise the level to the newest that this node knows, and waits until it is. A
	// *MemberError says which member stands in the way.
	FinishUpgrade(timeout time.Duration) (api.Upgrade, error)
}

// maxUpgradeBytes bounds the body of a request to finish an upgrade.
const maxUpgradeBytes = 4 << 10

// upgradeHandler answers requests about the feature level.
type upgradeHandler struct {
	upgrades Upgrades
	timeouts timeouts
	bodies   *bodies
}

// show answers with the level of the cluster and those of its members.
func (h *upgradeHandler) show(x *exchange) error {
	return x.shown(&plainRules, func() any { return h.upgrades.Upgrade() })
}

// finish raises the level, or with dry_run says what is in the way.
func (h *upgradeHandler) finish(x *exchange) error {
	q, err := parseQuery(x.r.URL.RawQuery, &plainWriteRules)
	if err != nil {
		return err
	}
	var body api.UpgradeFinish
	if err := h.bodies.readJSON(x, maxUpgradeBytes, &body); err != nil {
		return fmt.Errorf(`%w: send {"dry_run":true} to change nothing, or no body`, err)
	}
	out := h.upgrades.Upgrade()
	if !body.DryRun {
		if out, err = h.upgrades.FinishUpgrade(h.timeouts.of(x.r)); err != nil {
			return inDoubt(err)
		}
	}
	x.pretty(&q, out)
	return nil
}
