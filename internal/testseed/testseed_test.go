package testseed

import "testing"

func TestOf(t *testing.T) {
	t.Setenv(Variable, "18446744073709551615")
	if got := Of(t); got != 1<<64-1 {
		t.Errorf("got %d", got)
	}
	t.Setenv(Variable, "")
	if a, b := Of(t), Of(t); a == b {
		t.Errorf("twice %d", a)
	}
}
