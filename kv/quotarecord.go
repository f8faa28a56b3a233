package kv

import (
	"cmp"
	"encoding/binary"
	"fmt"
	"slices"
	"strings"
)

// OverQuota says why a command was refused with CodeQuota.
type OverQuota struct {
	Prefix string // the quota's prefix
	Keys   bool   // whether the numbers count keys instead of bytes
	Limit  uint64
	Used   uint64
	More   uint64 // what the command needs beyond Used
}

// String returns one sentence with the quota, its limit, its use and the need.
func (o OverQuota) String() string {
	what := "bytes"
	if o.Keys {
		what = "keys"
	}
	return fmt.Sprintf("the quota of prefix %q is %d %s, %d are in use, and this needs %d more", o.Prefix, o.Limit,
		what, o.Used, o.More)
}

// encode returns o as the Body of a Result.
func (o OverQuota) encode() string {
	kind := byte(0)
	if o.Keys {
		kind = 1
	}
	b := []byte{kind}
	for _, n := range [...]uint64{o.Limit, o.Used, o.More} {
		b = binary.AppendUvarint(b, n)
	}
	return string(append(b, o.Prefix...))
}

// DecodeOverQuota decodes the Body of a Result whose code is CodeQuota. For a transaction it describes the first part
// that a quota refused. Errors wrap ErrBody.
func DecodeOverQuota(body string) (OverQuota, error) {
	r := reader{b: []byte(body)}
	kind := r.uvarint()
	o := OverQuota{Keys: kind == 1, Limit: r.uvarint(), Used: r.uvarint(), More: r.uvarint()}
	if o.Prefix = string(r.b); r.bad || kind > 1 || o.Prefix == "" {
		return OverQuota{}, fmt.Errorf("%w: a quota", ErrBody)
	}
	return o, nil
}

func appendQuota(buf []byte, q *quota) []byte {
	counting := uint64(0)
	if q.Counting {
		counting = 1
	}
	buf = append(buf, recordVersion)
	for _, n := range [...]uint64{q.Bytes, q.Keys, q.UsedBytes, q.UsedKeys, counting, q.steps} {
		buf = binary.AppendUvarint(buf, n)
	}
	return append(buf, q.next...)
}

// load adds the quota in a record of KindQuota.
func (q *quotas) load(prefix string, b []byte) error {
	e, err := readQuota(prefix, b)
	if err == nil {
		q.byPrefix.Set(prefix, e)
	}
	return err
}

// ReadQuota returns the quota in a record of KindQuota; key is its prefix.
func ReadQuota(key, record []byte) (Quota, error) {
	q, err := readQuota(string(key), record)
	if err != nil {
		return Quota{}, err
	}
	return q.Quota, nil
}

func readQuota(prefix string, b []byte) (*quota, error) {
	r := reader{b: b}
	r.version()
	e := quota{Quota: Quota{Prefix: prefix, Bytes: r.uvarint(), Keys: r.uvarint(), UsedBytes: r.uvarint(),
		UsedKeys: r.uvarint()}}
	counting := r.uvarint()
	e.steps, e.Counting, e.next = r.uvarint(), counting == 1, string(r.b)
	switch {
	case r.bad, counting > 1, prefix == "", e.Bytes|e.Keys == 0, !e.Counting && e.next != "",
		e.Counting && !strings.HasPrefix(e.next, prefix):
		return nil, damaged("quota of prefix %q: %w", prefix, errRecord)
	}
	return &e, nil
}

// quotaChanges returns the changes of the quotas since the last checkpoint, sorted by prefix.
func (f *Frozen) quotaChanges() (changes []Change) {
	f.oldQuotas.byPrefix.Scan(func(prefix string, _ *quota) bool {
		if _, there := f.quotas.byPrefix.Get(prefix); !there {
			changes = append(changes, Change{Kind: KindQuota, Key: bytesOf(prefix)})
		}
		return true
	})
	f.quotas.byPrefix.Scan(func(prefix string, q *quota) bool {
		if old, _ := f.oldQuotas.byPrefix.Get(prefix); old != q {
			changes = append(changes, Change{Kind: KindQuota, Key: bytesOf(prefix),
				Value: slices.Clip(appendQuota(nil, q))})
		}
		return true
	})
	slices.SortFunc(changes, func(a, b Change) int { return cmp.Compare(string(a.Key), string(b.Key)) })
	return changes
}
