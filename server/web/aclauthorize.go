package web

import (
	"tenure/api"
	"tenure/server/acl"
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
	wanted := make([]acl.Permission, len(in))
	for i, question := range in {
		if wanted[i], err = acl.Named(question.Resource, question.Access, question.Segment); err != nil {
			return service.Invalid("question %d: %v", i, err)
		}
	}
	a, allowed, err := x.req.Authorize(wanted)
	if err != nil {
		return err
	}
	out := make([]api.ACLAnswer, len(in))
	for i := range in {
		out[i] = api.ACLAnswer{ACLQuestion: in[i], Allow: allowed[i]}
	}
	x.shows(&q, a, out)
	return nil
}
