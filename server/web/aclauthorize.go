package web

import (
	"tenure/api"
	"tenure/server/service"
)

var errTooManyQuestions = service.Refuse(api.CodeTooLarge, "too many questions: ask at most 128 in a call")

// authorize answers whether the token of the request has permissions, in the format in which Consul's page asks. It is
// about the client's own token, so it needs no permission.
func (h *aclHandler) authorize(x *exchange) error {
	q, err := parseQuery(x.r.URL.RawQuery, &consulRules)
	var in []api.ACLQuestion
	if err == nil {
		err = readJSONList(h.bodies, x, api.MaxACLQuestionBytes, api.MaxACLQuestions, errTooManyQuestions, &in)
	}
	if err != nil {
		return err
	}
	a, answers, err := x.req.Authorize(in)
	if err != nil {
		return err
	}
	x.shows(&q, a, answers)
	return nil
}
