package web

import (
	"strings"
	"time"

	"tenure/api"
	"tenure/kv"
	"tenure/server/service"
)

var errTooManyUses = service.Refuse(api.CodeTooLarge, "too many accessors: ask about at most 200 tokens in a call")

// maxUsesBytes bounds the body of a question about uses: each accessor with every byte escaped, and space around it.
const maxUsesBytes = api.MaxTokenUses * 256

// uses answers when tokens were last used, as all members tell it. Each keeps that of its own clients only.
func (h *aclHandler) uses(x *exchange) error {
	q, err := parseQuery(x.r.URL.RawQuery, &plainRules)
	var accessors []string
	if err == nil {
		err = readJSONList(h.bodies, x, maxUsesBytes, api.MaxTokenUses, errTooManyUses, &accessors)
	}
	if err != nil {
		return err
	}
	for i, id := range accessors {
		if accessors[i] = strings.ToLower(id); kv.ValidateSessionID(accessors[i]) != nil {
			return service.Invalid("%.80q is not the AccessorID of a token, which is a UUID", id)
		}
	}
	a, err := x.req.ReadACL()
	if err != nil {
		return err
	}
	began := time.Now()
	told, err := x.req.TokenUses(accessors)
	x.waited += time.Since(began) // for others: a member that hangs makes no slow request here
	if err != nil {
		return err
	}
	x.shows(&q, a, told)
	return nil
}
