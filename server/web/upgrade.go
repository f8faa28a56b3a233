package web

import (
	"fmt"

	"tenure/api"
)

// maxUpgradeBytes bounds the body of a request to finish an upgrade.
const maxUpgradeBytes = 4 << 10

// upgradeHandler answers requests about the feature level.
type upgradeHandler struct {
	bodies *bodies
}

// show answers with the level of the cluster and those of its members.
func (h *upgradeHandler) show(x *exchange) error {
	q, err := parseQuery(x.r.URL.RawQuery, &plainRules)
	if err != nil {
		return err
	}
	out, err := x.req.Upgrade()
	if err != nil {
		return err
	}
	x.pretty(&q, out)
	return nil
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
	out, err := x.req.FinishUpgrade(body.DryRun)
	if err != nil {
		return err
	}
	x.pretty(&q, out)
	return nil
}
