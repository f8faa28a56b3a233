package kv

import "tenure/multipaxos" // want "leaves only"

var _ multipaxos.Fine

// Kv is a number.
const Kv = 1
