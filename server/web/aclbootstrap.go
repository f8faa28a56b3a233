package web

import (
	"cmp"
	"time"

	"github.com/google/uuid"

	"tenure/api"
	"tenure/kv"
	"tenure/server/service"
)

// bootstrap makes the first token. Everybody may, once; what is refused does not get to the log.
func (h *aclHandler) bootstrap(x *exchange) error {
	q, err := parseQuery(x.r.URL.RawQuery, &consulWriteRules)
	var in api.BootstrapRequest
	if err == nil {
		err = h.bodies.readJSON(x, maxACLBytes, &in)
	}
	if err != nil {
		return err
	}
	given, err := givenID("BootstrapSecret", in.BootstrapSecret)
	if err != nil {
		return err
	}
	secret := cmp.Or(given, uuid.NewString())
	accessor, err := h.identified(x)
	if err != nil {
		return err
	}
	reset, made, err := x.req.MayBootstrap(secret)
	if err != nil {
		return err
	}
	if given == "" && keyed(x) {
		return service.Invalid("no secret can be made under %s for the first token: send a BootstrapSecret that you have drawn, or "+
			"no %s: nothing was changed", api.HeaderIdempotencyKey, api.HeaderIdempotencyKey)
	}
	if made != nil {
		x.req.Line.About(made.Accessor)
		h.writes.nothingToDo(x)
		x.showsSecret(&q, x.req.ACLAt(made.CreateIndex), made, secret)
		return nil
	}
	t := kv.Token{Accessor: accessor, Secret: kv.HashSecret(secret), Description: "Bootstrap Token (Global Management)",
		Created: time.Now().UnixNano()}
	x.req.Line.About(t.Accessor)
	c := kv.Bootstrap(t, reset)
	if err := validToken(&c); err != nil {
		return err
	}
	res, a, err := h.apply(x, &c)
	if err != nil {
		return err
	}
	t.Policies = []string{kv.ManagementPolicy}
	x.made(&q, a, &res, t, secret)
	if reset != 0 {
		x.req.ResetUsed()
	}
	return nil
}
