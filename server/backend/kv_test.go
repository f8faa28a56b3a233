package backend

import (
	"errors"
	"testing"

	"tenure/kv"
	"tenure/server/service"
)

// A verdict that no copy remembers says nothing of an earlier copy.
func TestAVerdictOnOneOfSeveralCopies(t *testing.T) {
	keyed := kv.Command{Op: kv.OpSet, Key: "k", IdemKey: "w"}
	renewal := kv.Command{Op: kv.OpSessionRenew}
	for _, c := range []struct {
		command    kv.Command
		code, want kv.Code
		unknown    bool
	}{
		{keyed, kv.CodeDone, kv.CodeDone, false},
		{keyed, kv.CodeCondition, kv.CodeCondition, false},
		{keyed, kv.CodeKeyReused, kv.CodeKeyReused, false},
		{keyed, kv.CodeDecideAgain, kv.CodeDecideAgain, false},
		{keyed, kv.CodeLevel, kv.CodeLevel, true},
		{keyed, kv.CodeBaseAhead, kv.CodeBaseAhead, true},
		{keyed, kv.CodeMalformed, kv.CodeMalformed, true},
		{renewal, kv.CodeNoSession, kv.CodeNoSession, false},
		{renewal, kv.CodeDecideAgain, kv.CodeDecideInDoubt, false},
	} {
		r := kv.Result{Code: c.code}
		if err := inDoubt(&c.command, &r); r.Code != c.want || errors.Is(err, service.ErrUnknown) != c.unknown {
			t.Errorf("operation %d, %v: %v, %v", c.command.Op, c.code, r.Code, err)
		}
	}
}
