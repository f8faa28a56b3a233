package client_test

import (
	"testing"

	"go.uber.org/goleak"
)

// TestMain finds goroutines that outlive the tests of real sockets; those on synctest's clock find their own.
func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }
