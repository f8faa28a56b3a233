package client

import (
	"cmp"
	"context"
	"errors"
	"net/http"

	"tenure/api"
)

// Quota is a bound on the keys that start with a prefix, and what they take.
type Quota = api.Quota

// QuotaLimits are the limits of a quota; at least one must be above 0.
type QuotaLimits struct {
	Bytes uint64 // of keys and values under the prefix; 0: any number
	Keys  uint64 // under the prefix; 0: any number
}

// Quotas sets, lists and ends the quotas of prefixes. A write after which more would be under a prefix than its quota
// allows fails with ErrNoSpace, and the error names the prefix. Deletes and writes that make nothing larger do not.
type Quotas struct{ s *sender }

// Set gives a prefix these limits, in place of those that it has. What is there already stays, also if it is more, and
// is counted, see Quota.Counting.
func (q *Quotas) Set(ctx context.Context, prefix string, l QuotaLimits, o WriteOptions) error {
	if err := cmp.Or(checkQuota("set quota", prefix), o.unconditional("set quota", prefix)); err != nil {
		return err
	}
	r := request{method: http.MethodPut, path: api.PathQuota + prefix,
		body: encode(api.QuotaRequest{Bytes: l.Bytes, Keys: l.Keys})}
	_, err := q.s.write(ctx, "set quota", prefix, r, o.Once)
	return err
}

// Delete ends the quota of a prefix. It is no error if there is none.
func (q *Quotas) Delete(ctx context.Context, prefix string, o WriteOptions) error {
	if err := cmp.Or(checkQuota("delete quota", prefix), o.unconditional("delete quota", prefix)); err != nil {
		return err
	}
	_, err := q.s.write(ctx, "delete quota", prefix, request{method: http.MethodDelete, path: api.PathQuota + prefix},
		o.Once)
	return err
}

// Get returns the quota of a prefix. The error is ErrNotFound if it has none.
func (q *Quotas) Get(ctx context.Context, prefix string, o ReadOptions) (Quota, Meta, error) {
	if err := checkQuota("quota", prefix); err != nil {
		return Quota{}, Meta{}, err
	}
	return readOne(ctx, q.s, "quota", prefix, request{path: api.PathQuota + prefix}, o,
		func(q *Quota) bool { return q.Prefix == prefix })
}

// List returns all quotas, by prefix.
func (q *Quotas) List(ctx context.Context, o ReadOptions) ([]Quota, Meta, error) {
	out, meta, err := readOne(ctx, q.s, "list quotas", "", request{path: api.PathQuotas}, o,
		func(l *api.QuotaList) bool { return l.Quotas != nil })
	return out.Quotas, meta, err
}

func checkQuota(op, prefix string) error {
	if prefix == "" {
		return &Error{Op: op, Kind: ErrInvalid, Err: errNoQuotaPrefix}
	}
	return nil
}

var errNoQuotaPrefix = errors.New("the prefix is empty: a quota is for keys that start with something")
