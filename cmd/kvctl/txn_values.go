package main

import (
	"strings"

	"tenure/client"
)

// txnValues reports for each entry whether its operation returns values, so that an empty value can be told from none.
func txnValues(ops []client.TxnOp, entries []client.Entry) []bool {
	m := txnMatch{ops: ops, entries: entries, failed: map[[2]int]bool{}, hasValue: make([]bool, len(entries))}
	if !m.from(0, 0) {
		for i := range m.hasValue {
			m.hasValue[i] = true // not understood: leave nothing out
		}
	}
	return m.hasValue
}

// txnMatch finds which entries belong to which operation: an answer does not tell. How many entries get-tree returned
// is found by trying, since the entries of the next operation can begin with its prefix too.
type txnMatch struct {
	ops      []client.TxnOp
	entries  []client.Entry
	failed   map[[2]int]bool // an operation and an entry from which there is no match
	hasValue []bool
}

// from reports whether the operations from op on can have returned the entries from first on, and records which have
// values. A get-tree is given as many entries as possible.
func (m *txnMatch) from(op, first int) bool {
	if op == len(m.ops) {
		return first == len(m.entries)
	}
	if m.failed[[2]int{op, first}] {
		return false
	}
	least, most, valued := m.returned(&m.ops[op], first)
	for n := most; n >= least; n-- {
		if m.from(op+1, first+n) {
			for i := range n {
				m.hasValue[first+i] = valued
			}
			return true
		}
	}
	m.failed[[2]int{op, first}] = true
	return false
}

// returned tells how many of the entries from first on op can have returned, and whether with values. If most is below
// least, it cannot have returned them.
func (m *txnMatch) returned(op *client.TxnOp, first int) (least, most int, valued bool) {
	rest := m.entries[first:]
	switch op.Verb {
	case client.TxnDelete, client.TxnDeleteCAS, client.TxnDeleteTree, client.TxnDeleteTreeCAS,
		client.TxnCheckNotExists:
		return 0, 0, false
	case client.TxnGetTree:
		for most < len(rest) && strings.HasPrefix(rest[most].Key, op.Key) &&
			(most == 0 || rest[most].Key > rest[most-1].Key) {
			most++
		}
		return 0, most, true
	case client.TxnGet, client.TxnGetOrEmpty, client.TxnAdd:
		valued = true
	}
	key := op.Key
	if op.Verb == client.TxnRename {
		key = op.NewKey
	}
	if len(rest) == 0 || rest[0].Key != key || !valued && len(rest[0].Value) > 0 {
		return 1, 0, valued
	}
	return 1, 1, valued
}
