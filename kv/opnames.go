package kv

import (
	"fmt"
	"iter"
	"strings"
)

// opNames is what operations are called in audit lines, plans and listings of a log, as in the HTTP API where it has
// them.
var opNames = [...]string{
	OpSet: "set", OpDelete: "delete", OpPrune: "prune", OpAdd: "add", OpTestAndSet: "test-and-set", OpRename: "rename",
	OpRemove: "remove", OpExpire: "expire", OpTransaction: "transaction",
	OpSessionCreate: "create-session", OpSessionDestroy: "destroy-session", OpSessionRenew: "renew-session",
	OpDropFence: "drop-fence", OpEndSession: "end-session", OpEndKey: "end-key", OpEndDelay: "end-lock-delay",
	OpNewEra: "new-era", OpQuota: "quota", OpLevel: "feature-level",
	OpStage: "stage-upload", OpInstall: "install-upload", OpDropStaged: "drop-upload",
	OpPutPolicy: "put-policy", OpDropPolicy: "delete-policy", OpPutToken: "put-token", OpDropToken: "delete-token",
	OpEndToken: "end-token", OpBootstrap: "bootstrap",
	OpPut: "put", OpAppend: "append", OpIncrement: "increment", OpUnlink: "unlink", OpRetime: "set-ttl", OpMove: "move",
	OpFetch: "fetch", OpMeasure: "measure", OpSequence: "sequence", OpPutAll: "put-all",
	OpGet: "get", OpGetOrEmpty: "get-or-empty", OpGetTree: "get-tree", OpCheckIndex: "check-index",
	OpCheckSession: "check-session", OpCheckNotExists: "check-not-exists", OpCheckValue: "check-value",
	OpCheckUnchanged: "check-unchanged",
}

// String returns the name of op, or its number if this release knows no such operation.
func (op Op) String() string {
	if int(op) < len(opNames) && opNames[op] != "" {
		return opNames[op]
	}
	return fmt.Sprintf("operation-%d", uint8(op))
}

// Ops returns the operations that this release knows, those of parts and steps too.
func Ops() iter.Seq[Op] {
	return func(yield func(Op) bool) {
		for op := range Op(len(rules)) {
			if ruleOf(op).named != 0 && !yield(op) {
				return
			}
		}
	}
}

// modeNames is the names of the modes, by bit.
var modeNames = [...]string{"if-absent", "if-present", "if-equal", "keep-ttl", "return", "whole"}

// String returns the names of the modes in m, separated by spaces.
func (m Mode) String() string {
	var names []string
	for i, name := range modeNames {
		if m&(1<<i) != 0 {
			names = append(names, name)
		}
	}
	if rest := m >> len(modeNames) << len(modeNames); rest != 0 {
		names = append(names, fmt.Sprintf("mode-%d", uint8(rest)))
	}
	return strings.Join(names, " ")
}
