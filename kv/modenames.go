package kv

import "strings"

// modeNames is the names of the modes, by bit: all bits are used.
var modeNames = [...]string{"if-absent", "if-present", "if-equal", "keep", "return", "whole", "create", "entry"}

// String returns the names of the modes in m, separated by spaces.
func (m Mode) String() string {
	var names []string
	for i, name := range modeNames {
		if m&(1<<i) != 0 {
			names = append(names, name)
		}
	}
	return strings.Join(names, " ")
}
