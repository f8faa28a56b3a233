package web

import (
	"strconv"
	"sync/atomic"
)

// masterName is the value of api.HeaderMaster. Clients send their next writes to the node that it names, and so save
// the way from a follower to the master. It is safe for concurrent use.
type masterName struct {
	of   func() uint64 // the master's number as this node knows it, 0: none
	last atomic.Pointer[numberText]
}

// numberText is the number of a node as the value of a header.
type numberText struct {
	node  uint64
	value []string
}

// now returns the value, nil if no master is known. It is shared by all answers while the master stays the same, so
// that naming it costs no memory for each.
func (m *masterName) now() []string {
	node := m.of()
	if node == 0 {
		return nil
	}
	if t := m.last.Load(); t != nil && t.node == node {
		return t.value
	}
	t := &numberText{node, []string{strconv.FormatUint(node, 10)}}
	m.last.Store(t)
	return t.value
}
