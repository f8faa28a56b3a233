package show

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"time"

	"tenure/client"
	"tenure/jepsen/cluster"
)

// estate is one of everything that a state has, as the cluster showed it. After a backup or a snapshot it must look the
// same and do the same.
type estate struct {
	Entries  []client.Entry
	Sessions []client.Session
	Quotas   []client.Quota
	Fence    uint64

	lease uint64 // token of a named lease
	epoch uint64 // of the master
	other string // session that has locked nothing
}

const (
	estateKeys   = "estate/"
	estateTenant = "tenants/a/" // has a quota of three keys, and three keys
	estateFence  = "kv/job"
	estateToken  = 7
)

// plantEstate makes one of everything, and returns how it looks.
func plantEstate(ctx context.Context, c *cluster.Cluster, all *client.Client) (e estate, err error) {
	var holder, other string
	var grant client.LeaseGrant
	set := func(key string, o client.WriteOptions) error {
		_, err := all.Set(ctx, key, []byte("value of "+key), o)
		return err
	}
	lock := func(do func(context.Context, string, []byte, string, client.WriteOptions) (uint64, error)) error {
		_, err := do(ctx, estateKeys+"locked", []byte("l"), holder, client.WriteOptions{Flags: 7})
		return err
	}
	for _, step := range []func() error{
		func() error { return set(estateKeys+"flagged", client.WriteOptions{Flags: 42}) },
		func() error { return set(estateKeys+"mortal", client.WriteOptions{TTL: time.Hour}) },
		func() error {
			fence := client.Fence{Name: estateFence, Token: estateToken}
			return set(estateKeys+"fenced", client.WriteOptions{Fence: fence})
		},
		func() (err error) {
			holder, err = all.Sessions().Create(ctx,
				client.SessionOptions{Name: "holder", Node: "host-1", TTL: time.Hour,
					LockDelay: 30 * time.Second, Behavior: client.DeleteKeys})
			return err
		},
		func() (err error) {
			other, err = all.Sessions().Create(ctx, client.SessionOptions{Name: "other", LockDelay: client.NoLockDelay})
			return err
		},
		func() error { return lock(all.Locks().LockKey) },
		func() error { return lock(all.Locks().UnlockKey) },
		func() error { return lock(all.Locks().LockKey) }, // now its LockIndex is 2
		func() error {
			limits := client.QuotaLimits{Bytes: 1 << 20, Keys: 3}
			return all.Quotas().Set(ctx, estateTenant, limits, client.WriteOptions{})
		},
		func() error { return set(estateTenant+"1", client.WriteOptions{}) },
		func() error { return set(estateTenant+"2", client.WriteOptions{}) },
		func() error { return set(estateTenant+"3", client.WriteOptions{}) },
		func() (err error) {
			grant, err = all.Leases().Grant(ctx, "estate", client.LeaseOptions{TTL: time.Second, Wait: comesBack})
			return err
		},
		func() error { return all.Leases().Release(ctx, grant) },
		func() (err error) { e, err = seeEstate(ctx, all); return err },
		func() (err error) { e.epoch, err = newestEpoch(ctx, c); return err },
	} {
		if err := step(); err != nil {
			return e, err
		}
	}
	e.lease, e.other = grant.Token, other
	return e, nil
}

// newestEpoch returns the newest mastership that any node knows of.
func newestEpoch(ctx context.Context, c *cluster.Cluster) (epoch uint64, err error) {
	for _, n := range c.Nodes() {
		if !n.Running() {
			continue
		}
		s, err := c.Status(ctx, n)
		if err != nil {
			return 0, err
		}
		epoch = max(epoch, s.Epoch)
	}
	return epoch, nil
}

// seeEstate returns how everything looks through a client.
func seeEstate(ctx context.Context, one *client.Client) (e estate, err error) {
	for _, prefix := range []string{estateKeys, estateTenant} {
		entries, _, err := one.List(ctx, prefix, client.ListOptions{})
		if err != nil {
			return e, err
		}
		e.Entries = append(e.Entries, entries...)
	}
	for i := range e.Entries {
		left := &e.Entries[i].ExpiresIn // a restart grants the whole TTL again
		if *left > time.Hour {
			return e, fmt.Errorf("%s lives for another %v", e.Entries[i].Key, *left)
		}
		if *left > 0 {
			*left = time.Hour
		}
	}
	if e.Sessions, _, err = one.Sessions().List(ctx, client.ReadOptions{}); err != nil {
		return e, err
	}
	slices.SortFunc(e.Sessions, func(a, b client.Session) int { return cmp.Compare(a.ID, b.ID) })
	if e.Quotas, _, err = one.Quotas().List(ctx, client.ReadOptions{}); err != nil {
		return e, err
	}
	e.Fence, _, err = one.Fences().Token(ctx, estateFence, client.ReadOptions{})
	return e, err
}

// unchanged returns an error unless everything looks through a client as in e, and does what it did.
func (e *estate) unchanged(ctx context.Context, one *client.Client) error {
	now, err := seeEstate(ctx, one)
	if err != nil {
		return err
	}
	for _, part := range []struct {
		what     string
		was, now any
	}{{"keys", e.Entries, now.Entries}, {"sessions", e.Sessions, now.Sessions}, {"quotas", e.Quotas, now.Quotas},
		{"the fence", e.Fence, now.Fence}} {
		if !reflect.DeepEqual(part.was, part.now) {
			return fmt.Errorf("%s were %+v and are %+v", part.what, part.was, part.now)
		}
	}
	if len(now.Entries) != 7 || len(now.Sessions) != 2 || len(now.Quotas) != 1 || now.Quotas[0].UsedKeys != 3 ||
		now.Fence != estateToken {
		return fmt.Errorf("%+v is not what was planted", now)
	}
	_, err = one.Set(ctx, estateTenant+"more", nil, client.WriteOptions{})
	if !errors.Is(err, client.ErrNoSpace) || !strings.Contains(err.Error(), estateTenant) {
		return fmt.Errorf("a key beyond the quota got %v", err)
	}
	late := client.WriteOptions{Fence: client.Fence{Name: estateFence, Token: estateToken - 1}}
	if _, err := one.Set(ctx, estateKeys+"fenced", nil, late); !errors.Is(err, client.ErrFenced) {
		return fmt.Errorf("a write under a token that is too old got %v", err)
	}
	_, err = one.Locks().LockKey(ctx, estateKeys+"locked", nil, e.other, client.WriteOptions{})
	if !errors.Is(err, client.ErrCondition) {
		return fmt.Errorf("another session locks a key that is locked: %v", err)
	}
	return nil
}

// surpassed returns an error unless the next token of the lease and the epoch of node 1 are above those of e.
func (e *estate) surpassed(ctx context.Context, one *client.Client, c *cluster.Cluster) error {
	grant, err := one.Leases().Grant(ctx, "estate", client.LeaseOptions{TTL: time.Second, Wait: comesBack})
	if err != nil {
		return fmt.Errorf("the lease in the new cluster: %w", err)
	}
	s, err := c.Status(ctx, c.Node(1))
	if err == nil && (grant.Token>>32 < e.lease>>32+1<<16 || s.Epoch < e.epoch+1<<39) {
		err = fmt.Errorf("token %d and epoch %d: in the old cluster they were %d and %d", grant.Token, s.Epoch, e.lease,
			e.epoch)
	}
	return errors.Join(err, one.Leases().Release(ctx, grant))
}
