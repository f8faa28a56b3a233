package kv

import (
	"fmt"
	"strings"
)

// modeNames is the names of the modes, by bit.
var modeNames = [...]string{"if-absent", "if-present", "if-equal", "keep-ttl", "return", "whole", "create"}

// String returns the names of the modes in m, separated by spaces.
func (m Mode) String() string {
	var names []string
	for i, name := range modeNames {
		if m&(1<<i) != 0 {
			names = append(names, name)
		}
	}
	if rest := m >> len(modeNames) << len(modeNames); rest != 0 {
		names = append(names, fmt.Sprintf("mode-%d", uint8(rest)))
	}
	return strings.Join(names, " ")
}
