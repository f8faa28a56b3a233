package resp

import (
	"strings"

	"tenure/kv"
)

// putPairs is MSET and MSETNX: it writes all keys, in one step, or none.
func (b *batch) putPairs(args [][]byte, mode kv.Mode, reply replyFunc) {
	if len(args)%2 == 0 {
		b.fail("ERR wrong number of arguments for '" + strings.ToLower(string(args[0])) + "' command")
		return
	}
	var keys [][]byte
	for i := 1; i < len(args); i += 2 {
		keys = append(keys, args[i])
	}
	if !b.several(keys) {
		return
	}
	step := kv.Command{Op: kv.OpPutAll, Mode: mode}
	for i := 1; i < len(args); i += 2 {
		step.Value = kv.AppendPair(step.Value, string(args[i]), args[i+1])
	}
	b.one(step, reply)
}
