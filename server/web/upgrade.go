package web

import (
	"fmt"
	"time"

	"tenure/api"
	"tenure/kv"
	"tenure/server/acl"
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
	bodies   *bodies
}

// show answers with the level of the cluster and those of its members.
func (h *upgradeHandler) show(x *exchange) error {
	q, err := parseQuery(x.r.URL.RawQuery, &plainRules)
	if err == nil {
		err = h.permitted(x, acl.OperatorRead())
	}
	if err != nil {
		return err
	}
	x.pretty(&q, h.upgrades.Upgrade())
	return nil
}

// permitted decides whether x may see or raise the level. Below the level of tokens no token can exist, so everybody
// may. The next step, the bootstrap, is open to everybody as well.
func (h *upgradeHandler) permitted(x *exchange, p acl.Permission) error {
	if h.upgrades.Upgrade().FeatureLevel < kv.LevelOfACL {
		x.permit.needsNothing()
		return nil
	}
	return x.permit.needNow(p)
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
	if body.DryRun {
		x.trail.harmless()
	}
	if err := h.permitted(x, acl.OperatorWrite()); err != nil {
		return err
	}
	out := h.upgrades.Upgrade()
	if !body.DryRun {
		if out, err = h.upgrades.FinishUpgrade(x.timeout()); err != nil {
			return inDoubt(err)
		}
	}
	x.pretty(&q, out)
	return nil
}
