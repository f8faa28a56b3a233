package replica

import (
	"tenure/multipaxos"
)

// apply applies chosen entries in slot order, up to a bounded number of bytes. An error is damage: the node must stop.
func (l *Log) apply() error {
	from := multipaxos.Slot(l.state.Applied() + 1)
	if l.core.Chosen() < from {
		return nil
	}
	entries, err := l.core.ChosenEntries(from, l.cfg.ApplyBytes)
	if err != nil {
		return err
	}
	level := l.state.Level()
	for _, e := range entries {
		if err := l.applyEntry(e); err != nil {
			return err
		}
		l.checkpoints.applied(e)
		l.compareHere()
		l.epoch.applied(e)
	}
	l.core.Applied(multipaxos.Slot(l.state.Applied()))
	if l.state.Level() > level {
		l.WantCheckpoint() // from which a release that does not know the level sees that it must not run here
	}
	return nil
}

// applyEntry applies a chosen entry: the record of the members, or a batch of commands.
func (l *Log) applyEntry(e multipaxos.Entry) error {
	if len(e.Value) > 0 && e.Value[0] == tagMembers {
		l.timers.over(l.batches.apply(e, nil)) // who proposed a batch in this slot has lost it
		return l.adopt(e)
	}
	commands, err := batchOf(e)
	if err != nil {
		return err
	}
	results, err := l.state.Apply(uint64(e.Slot), commands)
	if err != nil {
		return err
	}
	l.timers.over(l.batches.apply(e, results))
	return nil
}
