// Package multipaxos is a pure package without a fault.
package multipaxos

import (
	"errors"
	"fmt"
	"time"
)

// Fine is plain data.
type Fine struct {
	At   time.Duration
	Sets map[int]string
}

// Err is an error.
var Err = fmt.Errorf("fine: %w", errors.New("fine"))
