package web

import (
	"errors"
	"net/http"
	"time"

	"tenure/api"
	"tenure/kv"
	"tenure/server/access"
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
	secret, err := drawnSecret(in.BootstrapSecret)
	if err != nil {
		return err
	}
	accessor, err := h.identified(x)
	if err != nil {
		return err
	}
	reset, made, err := h.decider.Bootstrap(secret, x.timeout())
	if err != nil {
		return bootstrapRefused(err)
	}
	x.permit.needsNothing()
	if made != nil {
		x.trail.about(made.Accessor)
		h.writes.nothingToDo(x)
		x.showsSecret(&q, h.decider.ACL(), made, secret)
		return nil
	}
	t := kv.Token{Accessor: accessor, Description: "Bootstrap Token (Global Management)", Created: time.Now().UnixNano()}
	err = h.create(x, &q, t, secret, true, reset)
	if err == nil && reset != 0 {
		h.decider.ResetUsed()
	}
	return err
}

// bootstrapRefused returns the answer to a bootstrap that was not allowed.
func bootstrapRefused(err error) error {
	var done *access.BootstrappedError
	switch {
	case errors.As(err, &done):
		return refuse(http.StatusForbidden, api.CodeDenied, done.Error())
	case errors.Is(err, access.ErrUnsure):
		return err
	}
	return badRequest("%v: nothing was changed", err)
}
