package backend

import "testing"

// TestUploadsAreTheSameWithTheSamePieces: pieces of two snapshots never come together under one ID, whatever key the
// client gives.
func TestUploadsAreTheSameWithTheSamePieces(t *testing.T) {
	a, b, c := []byte("aa"), []byte("b"), []byte("ab")
	first := uploadID("key", [][]byte{a, b})
	if again := uploadID("key", [][]byte{a, b}); again != first {
		t.Errorf("a copy is upload %s, the first one %s", again, first)
	}
	for what, id := range map[string]string{
		"another key":           uploadID("yek", [][]byte{a, b}),
		"another piece":         uploadID("key", [][]byte{a, c}),
		"one more":              uploadID("key", [][]byte{a, b, b}),
		"one less":              uploadID("key", [][]byte{a}),
		"the same, cut another": uploadID("key", [][]byte{a[:1], c}),
	} {
		if id == first {
			t.Errorf("%s: the same upload", what)
		}
	}
}
