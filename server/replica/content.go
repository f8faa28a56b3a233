package replica

import "tenure/multipaxos"

// Content returns what a chosen entry holds, for what reads a log without being a node: a batch of commands, or the
// record of the cluster's members, or neither. An error wraps ErrValue.
func Content(e multipaxos.Entry) (commands, record []byte, err error) {
	if len(e.Value) > 0 && e.Value[0] == tagMembers {
		return nil, e.Value[1:], nil
	}
	commands, err = batchOf(e)
	return commands, nil, err
}
