package quorum

import "tenure/kv" // want "leaves only"

// N is a number.
const N = 1

var _ = kv.Kv
