package kv

import "testing"

func TestEveryOperationAndModeHasAName(t *testing.T) {
	seen := map[string]Op{}
	for op := range Ops() {
		if other, twice := seen[op.String()]; twice || op.String() == "" || op.String() == Op(255).String() ||
			opNames[op] == "" {
			t.Errorf("operation %d is called %q, as %d", op, op, other)
		}
		seen[op.String()] = op
	}
	if NewestLevel > 0 && len(seen) != countRules() {
		t.Errorf("%d operations, and %d rules", len(seen), countRules())
	}
	for op := range opNames {
		if rules[op].named == 0 && opNames[op] != "" {
			t.Errorf("operation %d, of which there is no rule, is called %q", op, opNames[op])
		}
	}
	all := Mode(0)
	for _, modes := range stepModes {
		all |= modes
	}
	if got := all.String(); got != "if-absent if-present if-equal keep-ttl return whole" {
		t.Errorf("%q", got)
	}
	if got := (ModeAbsent | 1<<7).String(); got != "if-absent mode-128" {
		t.Errorf("%q", got)
	}
	if got := Op(200).String(); got != "operation-200" {
		t.Errorf("%q", got)
	}
}

func countRules() (n int) {
	for _, r := range rules {
		if r.named != 0 {
			n++
		}
	}
	return n
}
