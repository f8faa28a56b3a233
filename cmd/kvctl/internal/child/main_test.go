package child

import (
	"os"
	"testing"
)

// TestMain is also the guard and the first step of the commands that the tests start.
func TestMain(m *testing.M) {
	switch {
	case len(os.Args) == 2 && os.Args[1] == GuardCommand:
		os.Exit(Guard(os.Stdin, os.Stdout))
	case len(os.Args) > 1 && os.Args[1] == LaunchCommand:
		os.Exit(Launch(os.Args[2:]))
	}
	os.Exit(m.Run())
}
