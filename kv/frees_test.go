package kv

import "testing"

// Every operation is in exactly one of these, so that a new one cannot be forgotten.
var (
	freeing = []Op{OpDelete, OpPrune, OpSessionDestroy, OpSessionRenew, OpDropFence, OpEndSession,
		OpEndKey, OpEndDelay, OpNewEra, OpLevel, OpQuota, OpDropStaged, OpDropPolicy, OpDropToken, OpEndToken, OpBootstrap}
	reading = []Op{OpGet, OpGetOrEmpty, OpGetTree, OpCheckIndex, OpCheckSession, OpCheckNotExists, OpCheckValue,
		OpCheckUnchanged, OpFetch, OpMeasure}
	taking = []Op{OpSet, OpAdd, OpRename, OpSetTTL, OpSessionCreate, OpStage, OpInstall, OpPutPolicy,
		OpPutToken, OpAppend, OpPutAll}
	containing = []Op{OpTransaction, OpSequence}
)

func TestWhatEveryOperationDoesWhileSpaceIsShort(t *testing.T) {
	seen := map[Op]int{}
	for _, class := range []struct {
		ops               []Op
		frees, goesOnFull bool
	}{{freeing, true, true}, {reading, false, true}, {taking, false, false}} {
		for _, op := range class.ops {
			seen[op]++
			c := Command{Op: op, Key: "k"}
			if c.Frees() != class.frees || c.GoesOnFull() != class.goesOnFull {
				t.Errorf("operation %d: Frees is %v, GoesOnFull is %v", op, c.Frees(), c.GoesOnFull())
			}
			for _, whole := range containing {
				c := Command{Op: whole, Parts: []Part{{Op: OpDelete, Key: "l"}, {Op: op, Key: "k"}}}
				if c.Frees() != class.goesOnFull {
					t.Errorf("operation %d in one of %d beside a delete: Frees is %v", op, whole, c.Frees())
				}
			}
		}
	}
	for _, op := range containing {
		seen[op]++
	}
	for op := range catalogue {
		if is := catalogue[op].named != 0; is && seen[Op(op)] != 1 || !is && seen[Op(op)] != 0 {
			t.Errorf("operation %d is in %d of the lists of this test", op, seen[Op(op)])
		}
	}
}
