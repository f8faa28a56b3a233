package kv

import "strings"

// passFence tells whether a command under token may run, with CodeDone, and makes token the largest of its name.
func (s *State) passFence(name string, token uint64) Code {
	largest, known := s.reg.fences.Get(name)
	if !known {
		largest = s.reg.floors[fenceKind(name)]
	}
	switch {
	case token < largest:
		return CodeFenced
	case known && token == largest:
		return CodeDone
	case !known && s.reg.fences.Len() >= s.limits.Fences:
		return CodeFull
	}
	s.reg.fences.Set(name, token)
	s.fold(SpaceFence, name, appendFence(nil, token))
	return CodeDone
}

// dropFence forgets a fence. The floor of its kind keeps that tokens never fall, at the price that names of the kind
// which are not in the table start there.
func (s *State) dropFence(c *Command) (Result, error) {
	largest, known := s.reg.fences.Delete(c.Fence)
	if known {
		floor := &s.reg.floors[fenceKind(c.Fence)]
		*floor = max(*floor, largest)
		s.fold(SpaceFence, c.Fence, nil)
	}
	return s.unchanged(CodeDone), nil
}

// fenceKind is the place of a fence's kind in registers.floors.
func fenceKind(name string) int {
	if strings.HasPrefix(name, leaseFence) {
		return 0
	}
	return 1
}

// newEra is N3: one counter for all named leases and all nodes, which only grows.
func (s *State) newEra() (Result, error) {
	if s.reg.eras == maxEra {
		return s.unchanged(CodeFull), nil
	}
	s.reg.eras++
	r := s.unchanged(CodeDone)
	r.Count = s.reg.eras
	return r, nil
}

// maxEra: eras are the upper halves of 64-bit tokens.
const maxEra = 1<<32 - 1
