package resp

import (
	"fmt"
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
	if refusal := pairsRefusal(&step); refusal != "" {
		b.fail(refusal)
		return
	}
	b.one(step, reply)
}

// pairsRefusal returns why a command that writes several keys is not taken, or "".
func pairsRefusal(step *kv.Command) string {
	if n := len(step.Value) + len(step.Test); n > kv.MaxValueBytes {
		return fmt.Sprintf("ERR the keys and values of one command have about %d bytes together: at most %d can be written at "+
			"once: use several commands", n, kv.MaxValueBytes)
	}
	return ""
}
