package web

import (
	"cmp"
	"errors"
	"time"

	"github.com/google/uuid"

	"tenure/api"
	"tenure/kv"
	"tenure/server/access"
	"tenure/server/service"
)

// bootstrap makes the first token. Everybody may, once; what is refused does not get to the log.
func (h *aclHandler) bootstrap(x *exchange) error {
	q, err := parseQuery(x.r.URL.RawQuery, &consulWriteRules)
	var in api.BootstrapRequest
	if err == nil {
		err = h.bodies.readJSON(x, maxACLBytes, &in)
	}
	if err == nil && h.decider == nil {
		err = errNoACL
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
	reset, made, err := h.decider.Bootstrap(secret, x.timeout())
	if err != nil {
		return bootstrapRefused(err)
	}
	if given == "" && keyed(x) {
		return service.Invalid("no secret can be made under %s for the first token: send a BootstrapSecret that you have drawn, or "+
			"no %s: nothing was changed", api.HeaderIdempotencyKey, api.HeaderIdempotencyKey)
	}
	x.req.NeedsNothing()
	if made != nil {
		x.trail.about(made.Accessor)
		h.writes.nothingToDo(x)
		x.showsSecret(&q, h.decider.ACL(), made, secret)
		return nil
	}
	t := kv.Token{Accessor: accessor, Secret: kv.HashSecret(secret), Description: "Bootstrap Token (Global Management)",
		Created: time.Now().UnixNano()}
	x.trail.about(t.Accessor)
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
		h.decider.ResetUsed()
	}
	return nil
}

// bootstrapRefused returns the answer to a bootstrap that was not allowed.
func bootstrapRefused(err error) error {
	var done *access.BootstrappedError
	switch {
	case errors.As(err, &done):
		return service.Refuse(api.CodeDenied, done.Error())
	case errors.Is(err, access.ErrUnsure):
		return err
	}
	return service.Invalid("%v: nothing was changed", err)
}
