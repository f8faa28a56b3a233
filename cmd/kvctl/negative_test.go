package main

import "testing"

// A negative number is an argument like any other: no flag is a digit.
func TestNegativeNumbersNeedNoDashes(t *testing.T) {
	c := start(t, 1)
	for _, s := range []step{
		{"add n -3", "", 1, "", "not found"},
		{"set n -40", "", 0, "revision 2\n", ""},
		{"add n -2", "", 0, "-42\n", ""},
		{"--json add n -3 --timeout 5s", "", 0, `{"key":"n","value":-45,"revision":4}` + "\n", ""},
		{"add --timeout 5s n -1", "", 0, "-46\n", ""},
		{"add -- n -1", "", 0, "-47\n", ""},
		{"test-and-set n -47 -1.5", "", 0, "revision 7\n", ""},
		{"add n -1e3", "", 2, "", "NUMBER"},
		{"add n 1 --base -1", "", 2, "", `--base "-1"`},
		{"add n -1 --base -1", "", 2, "", `--base "-1"`},
		{"add n -x", "", 2, "", "in -x; an argument that begins with a dash goes behind --"},
		{"get n -1", "", 2, "", "wrong number of arguments (2)"},
		{"lease run -1 -- true", "", 2, "", "goes behind --"},
	} {
		s.play(t, c)
	}
}
