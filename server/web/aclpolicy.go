package web

import (
	"encoding/json"
	"slices"

	"tenure/api"
	"tenure/kv"
	"tenure/server/service"
)

// policyBody is the JSON of a policy to make or change. Members set by the node are accepted and ignored, as in Consul,
// so that a policy may be sent as it was read.
type policyBody struct {
	api.PolicyRequest
	Namespace   string
	Partition   string
	Hash        json.RawMessage
	CreateIndex json.RawMessage
	ModifyIndex json.RawMessage
}

// policy returns the policy in the body.
func (in *policyBody) policy(id string) (kv.Policy, error) {
	err := firstError(atDefault("Namespace", in.Namespace, "default"), atDefault("Partition", in.Partition, "default"))
	if slices.ContainsFunc(in.Datacenters, func(dc string) bool { return dc != Datacenter }) {
		err = service.Invalid("Datacenters: there is only %s: nothing was changed", Datacenter)
	}
	if err != nil {
		return kv.Policy{}, err
	}
	if err := service.CheckRules(in.Rules); err != nil {
		return kv.Policy{}, service.Invalid("Rules: %v: nothing was changed", err)
	}
	p := kv.Policy{ID: id, Name: in.Name, Description: in.Description, Rules: in.Rules}
	c := kv.PutPolicy(p, true)
	if err := c.Validate(); err != nil {
		return p, service.Invalid("Invalid Policy: %v: nothing was changed", err)
	}
	return p, nil
}

func (h *aclHandler) createPolicy(x *exchange) error {
	var in policyBody
	_, q, err := h.mayWrite(x, &consulWriteRules, &in)
	if err != nil {
		return err
	}
	if in.ID != "" {
		return service.Invalid("Invalid Policy: the ID of a new policy cannot be chosen: leave it out: nothing was changed")
	}
	id, err := h.identified(x)
	if err != nil {
		return err
	}
	return h.putPolicy(x, &in, &q, id, true)
}

func (h *aclHandler) updatePolicy(x *exchange) error {
	var in policyBody
	a, q, err := h.mayWrite(x, &aclChangeRules, &in)
	if err != nil {
		return err
	}
	id, err := idAt(x, api.PathACLPolicies, "", "ID of a policy")
	switch {
	case err != nil:
		return err
	case in.ID != "" && in.ID != id:
		return service.Invalid("ID %.80q is not that of the path: nothing was changed", in.ID)
	case id == kv.ManagementPolicy:
		return service.Invalid("the builtin %s policy cannot be changed: nothing was changed", api.ManagementPolicyName)
	}
	if _, there := a.Policy(id); !there && !keyed(x) { // else the log says what an earlier copy came to
		return noPolicy(id)
	}
	return h.putPolicy(x, &in, &q, id, false)
}

func (h *aclHandler) putPolicy(x *exchange, in *policyBody, q *query, id string, create bool) error {
	x.req.Line.About(id)
	p, err := in.policy(id)
	if err != nil {
		return err
	}
	x.req.Line.About(p.Name)
	c := q.ifAt(kv.PutPolicy(p, create))
	res, a, err := h.apply(x, &c)
	if err != nil {
		return err
	}
	p.CreateIndex, p.ModifyIndex = res.Revision, res.Revision
	if now, there := a.Policy(id); there {
		p.CreateIndex = now.CreateIndex
	}
	x.shows(q, a, policyOut(&p))
	return nil
}

func (h *aclHandler) readPolicy(x *exchange) error {
	a, q, err := h.read(x, &consulRules)
	if err != nil {
		return err
	}
	id, err := idAt(x, api.PathACLPolicies, "", "ID of a policy")
	if err != nil {
		return err
	}
	p, there := a.Policy(id)
	return x.policy(&q, a, p, there, id)
}

func (h *aclHandler) readPolicyByName(x *exchange) error {
	a, q, err := h.read(x, &consulRules)
	if err != nil {
		return err
	}
	name := x.behind(api.PathACLPolicyName)
	p, there := a.PolicyByName(name)
	return x.policy(&q, a, p, there, name)
}

func (x *exchange) policy(q *query, a *kv.ACL, p *kv.Policy, there bool, id string) error {
	if !there {
		return noPolicy(id)
	}
	x.shows(q, a, policyOut(p))
	return nil
}

func noPolicy(id string) error {
	return service.Refuse(api.CodeNotFound, "policy "+quoted(id)+" does not exist")
}

func (h *aclHandler) listPolicies(x *exchange) error {
	a, q, err := h.read(x, &consulRules)
	if err != nil {
		return err
	}
	out := []api.PolicyListEntry{}
	a.Policies(func(p *kv.Policy) bool {
		s := policyOut(p)
		out = append(out, api.PolicyListEntry{ID: s.ID, Name: s.Name, Description: s.Description, Hash: s.Hash,
			CreateIndex: s.CreateIndex, ModifyIndex: s.ModifyIndex})
		return true
	})
	x.shows(&q, a, out)
	return nil
}

// deletePolicy ends a policy; true also if there is none.
func (h *aclHandler) deletePolicy(x *exchange) error {
	a, q, err := h.mayWrite(x, &aclChangeRules, nil)
	if err != nil {
		return err
	}
	id, err := idAt(x, api.PathACLPolicies, "", "ID of a policy")
	if err != nil {
		return err
	}
	if id == kv.ManagementPolicy {
		return service.Invalid("the builtin %s policy cannot be deleted: nothing was changed", api.ManagementPolicyName)
	}
	_, there := a.Policy(id)
	return h.drop(x, &q, there, q.ifAt(kv.DropPolicy(id)))
}

// policyOut returns p as it is shown.
func policyOut(p *kv.Policy) api.Policy {
	out := api.Policy{ID: p.ID, Name: p.Name, Description: p.Description, Rules: service.RulesOf(p)}
	out.Hash = hashOf(out)
	out.CreateIndex, out.ModifyIndex = p.CreateIndex, p.ModifyIndex
	return out
}
