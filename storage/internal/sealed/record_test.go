package sealed

import "testing"

var entries, others = SeedOf("entries"), SeedOf("others")

// A lost record, a doubled one and one under another key all show in the digest, which does not depend on the order.
func TestDigest(t *testing.T) {
	record := func(key, value string) []byte { return entries.Seal(nil, []byte(key), []byte(value)) }
	a, b, c := record("a", "1"), record("b", "1"), record("a", "2")
	sum := func(records ...[]byte) (d Digest) {
		for _, r := range records {
			d.Add(r)
		}
		return d
	}
	if sum(a, b) != sum(b, a) {
		t.Error("the order counts")
	}
	for _, other := range []Digest{sum(a), sum(a, a), sum(a, b, b), sum(b, c), sum(b, b)} {
		if other == sum(a, b) {
			t.Errorf("%+v is the same", other)
		}
	}
	d := sum(a, b, c)
	d.Remove(b)
	if d != sum(c, a) {
		t.Error("Remove does not undo Add")
	}
}

func TestSealBindsBucketKeyAndPayload(t *testing.T) {
	record := entries.Seal(nil, []byte("key"), []byte("pay"), []byte("load"))
	if p, err := entries.Open([]byte("key"), record); err != nil || string(p) != "payload" {
		t.Fatalf("%q %v", p, err)
	}
	for name, err := range map[string]error{
		"another bucket": second(others.Open([]byte("key"), record)),
		"another key":    second(entries.Open([]byte("kez"), record)),
		"moved border":   second(entries.Open([]byte("keyp"), record[1:])),
		"cut":            second(entries.Open([]byte("key"), record[:len(record)-1])),
		"no checksum":    second(entries.Open([]byte("key"), record[:3])),
	} {
		if err == nil {
			t.Errorf("%s passes", name)
		}
	}
	for i := range record {
		bad := append([]byte(nil), record...)
		bad[i] ^= 1
		if _, err := entries.Open([]byte("key"), bad); err == nil {
			t.Errorf("a flip in byte %d passes", i)
		}
	}
}

func second(_ []byte, err error) error { return err }
