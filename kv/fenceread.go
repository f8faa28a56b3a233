package kv

// Fence is the largest token of the fence of that name: a command with a smaller one is refused. known is false if none of
// its own is kept: then it is the floor of its kind. name must be a valid one (ValidateFence).
func (v *Snapshot) Fence(name string) (token uint64, known bool) {
	if token, known = v.reg.fences.Get(name); known {
		return token, true
	}
	return v.reg.floors[fenceKind(name)], false
}
