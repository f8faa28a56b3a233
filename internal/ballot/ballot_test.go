package ballot

import (
	"testing"

	"pgregory.net/rapid"
)

func draw(t *rapid.T, name string) Ballot {
	small := rapid.Uint64Range(0, 2)
	return Ballot{
		Counter: small.Draw(t, name+".counter"), Restart: small.Draw(t, name+".restart"),
		Node: NodeID(small.Draw(t, name+".node")), Nonce: small.Draw(t, name+".nonce"),
	}
}

func TestCompareIsATotalOrder(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		a, b, c := draw(t, "a"), draw(t, "b"), draw(t, "c")
		if a.Compare(b) != -b.Compare(a) {
			t.Fatalf("%v and %v are not antisymmetric", a, b)
		}
		if (a.Compare(b) == 0) != (a == b) {
			t.Fatalf("%v and %v: order and equality disagree", a, b)
		}
		if a.Less(b) && b.Less(c) && !a.Less(c) {
			t.Fatalf("%v < %v < %v is not transitive", a, b, c)
		}
		if m := a.Max(b); m.Less(a) || m.Less(b) || (m != a && m != b) {
			t.Fatalf("max of %v and %v is %v", a, b, m)
		}
	})
}

func TestCompareOrderOfFields(t *testing.T) {
	rising := []Ballot{
		{}, {Counter: 1}, {Counter: 1, Nonce: 9}, {Counter: 1, Node: 1}, {Counter: 1, Node: 1, Nonce: 1},
		{Counter: 1, Restart: 1}, {Counter: 2},
	}
	for i := 1; i < len(rising); i++ {
		if !rising[i-1].Less(rising[i]) {
			t.Errorf("%v should be below %v", rising[i-1], rising[i])
		}
	}
}

func TestNewKeepsTheIncarnation(t *testing.T) {
	i := Incarnation{Restart: 3, Node: 2, Nonce: 77}
	if b := New(5, i); b.Incarnation() != i || b.Counter != 5 {
		t.Fatalf("New(5, %v) = %v", i, b)
	}
}
