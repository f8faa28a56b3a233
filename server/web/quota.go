package web

import (
	"unicode/utf8"

	"tenure/api"
	"tenure/kv"
	"tenure/server/service"
)

// maxQuotaBytes bounds the body of a request that sets a quota.
const maxQuotaBytes = 4 << 10

// quotaHandler answers requests about the quotas of prefixes.
type quotaHandler struct {
	writes *writes
	bodies *bodies
}

// list answers with all quotas.
func (h *quotaHandler) list(x *exchange) error {
	return h.read(x, func(view *kv.Snapshot) (any, error) {
		out := api.QuotaList{Quotas: []api.Quota{}}
		for _, q := range view.Quotas() {
			out.Quotas = append(out.Quotas, quotaOut(q))
		}
		return out, nil
	})
}

// get answers with the quota of a prefix.
func (h *quotaHandler) get(x *exchange) error {
	prefix, err := quotaPrefix(x)
	if err != nil {
		return err
	}
	return h.read(x, func(view *kv.Snapshot) (any, error) {
		q, there := view.Quota(prefix)
		if !there {
			return nil, service.Refuse(api.CodeNotFound, "there is no quota of this prefix: GET "+
				api.PathQuotas+" lists those that there are")
		}
		return quotaOut(q), nil
	})
}

// read answers with what answer makes of a view of the store.
func (h *quotaHandler) read(x *exchange, answer func(*kv.Snapshot) (any, error)) error {
	q, err := parseQuery(x.r.URL.RawQuery, &quotaReadRules)
	if err == nil {
		err = x.req.NeedOperator()
	}
	if err != nil {
		return err
	}
	view, meta, err := readView(x, q.mode())
	if err != nil {
		return err
	}
	defer view.Close()
	out, err := answer(view)
	if err != nil {
		return err
	}
	setReadMeta(x.w.Header(), meta.Revision, meta)
	x.pretty(&q, out)
	return nil
}

func quotaOut(q kv.Quota) api.Quota {
	return api.Quota{Prefix: q.Prefix, Bytes: q.Bytes, Keys: q.Keys, UsedBytes: q.UsedBytes, UsedKeys: q.UsedKeys,
		Counting: q.Counting}
}

// put sets the limits of a prefix.
func (h *quotaHandler) put(x *exchange) error {
	c, err := h.command(x)
	var body api.QuotaRequest
	if err == nil {
		err = h.bodies.readJSON(x, maxQuotaBytes, &body)
	}
	switch {
	case err != nil:
		return err
	case body.Bytes == 0 && body.Keys == 0:
		return service.Invalid("a quota needs a limit: give bytes or keys, or both; DELETE ends a quota: nothing was " +
			"changed")
	case max(body.Bytes, body.Keys) > api.MaxQuota:
		return service.Invalid("bytes and keys may be at most %d: nothing was changed", int64(api.MaxQuota))
	}
	c.Value = kv.QuotaLimits(body.Bytes, body.Keys)
	return h.writes.run(x, c)
}

// drop ends the quota of a prefix.
func (h *quotaHandler) drop(x *exchange) error {
	c, err := h.command(x)
	if err != nil {
		return err
	}
	return h.writes.run(x, c)
}

// command returns the command of a request that changes the quota of a prefix.
func (h *quotaHandler) command(x *exchange) (kv.Command, error) {
	c, err := h.writes.command(x, &plainWriteRules, kv.OpQuota)
	if err == nil {
		c.Key, err = quotaPrefix(x)
	}
	return c, err
}

// quotaPrefix returns the prefix that the path names.
func quotaPrefix(x *exchange) (string, error) {
	prefix := x.behind(api.PathQuota)
	if prefix == "" || len(prefix) > api.MaxQuotaPrefixBytes || !utf8.ValidString(prefix) {
		return "", service.Invalid("the prefix of a quota must have 1 to %d bytes of UTF-8; --quota-bytes of the nodes "+
			"bounds the whole store: nothing was changed", api.MaxQuotaPrefixBytes)
	}
	return prefix, nil
}
