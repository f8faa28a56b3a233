package kv

import (
	"errors"
	"testing"
)

func newEra(run string) Command { return Command{Op: OpNewEra, IdemKey: run, Base: 1} }

// N3: one counter for all runs of all nodes; a copy of a command gives no second era; it survives a checkpoint.
func TestErasOnlyGrow(t *testing.T) {
	m := newMachine(t, DefaultLimits)
	m.want(newEra("run 1"), Result{Code: CodeDone, Revision: 1, Count: 1})
	m.want(newEra("run 2"), Result{Code: CodeDone, Revision: 1, Count: 2})
	m.want(newEra("run 1"), Result{Code: CodeDone, Revision: 1, Count: 1})
	before := m.digest()
	m.takeCheckpoint()
	m.reopen()
	if m.digest() != before {
		t.Error("the checkpoint changed the state")
	}
	m.want(newEra("run 3"), Result{Code: CodeDone, Revision: 1, Count: 3})
	if m.digest() == before {
		t.Error("the digest does not tell states of different eras apart")
	}
}

func TestErasEnd(t *testing.T) {
	m := newMachine(t, DefaultLimits)
	m.exec.reg.fences.eras = maxEra - 1
	m.want(newEra("run 1"), Result{Code: CodeDone, Revision: 1, Count: maxEra})
	m.want(newEra("run 2"), Result{Code: CodeFull, Revision: 1})
}

func TestAnEraNamesItsRun(t *testing.T) {
	c := Command{Op: OpNewEra}
	if err := c.Validate(); !errors.Is(err, ErrCommand) {
		t.Errorf("an era for nobody: %v", err)
	}
}
