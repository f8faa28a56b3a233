package resp

import (
	"strings"
	"testing"
	"time"

	"tenure/kv"
	"tenure/server/slow"
)

// Commands that are carried out by themselves come behind what the connection has sent before them.
func TestCommandsThatAreAloneKeepTheOrder(t *testing.T) {
	s := dial(t, start(t, newFake(t), Config{}))
	s.send("set k 1", "msetnx k 2 j 2", "incr k", "tenure.fence kv/l:1 incr k", "get k", "tenure.once id 1 incr k",
		"exists k j", "set k a", "watch k", "multi", "get k", "exec", "del k", "tenure.revision k", "get k")
	for i, want := range strings.Fields("OK 0 2 3 3 4 1 OK OK OK QUEUED [a] 1 0 nil") {
		if got := s.reply(); got != want {
			t.Errorf("reply %d is %s, want %s", i, got, want)
		}
	}
}

// late is a node by whose clock all times are over.
type late struct{ *fake }

func (late) Remaining(kv.TimedKind, string) (time.Duration, bool) { return -time.Second, true }

// A key ends by an entry of the log: no node's clock says so before.
func TestAKeyIsThereUntilTheLogSaysOtherwise(t *testing.T) {
	s := dial(t, start(t, late{newFake(t)}, Config{}))
	s.want("set k v px 50", "OK")
	s.want("get k", "v")
	s.want("exists k", "1")
	s.want("set k w nx", "nil")
	s.want("getdel k", "v")
}

// tooOld is a node that has forgotten the idempotency keys of old writes.
type tooOld struct{ *fake }

func (t tooOld) Write(d time.Duration, c kv.Command, took *slow.Write) (kv.Result, error) {
	if c.IdemKey != "" {
		return kv.Result{Code: kv.CodeKeyTooOld}, nil
	}
	return t.fake.Write(d, c, took)
}

func TestABaseThatIsTooOldIsUnknown(t *testing.T) {
	s := dial(t, start(t, tooOld{newFake(t)}, Config{}))
	s.send("tenure.once k 1 incr n")
	if got := s.reply(); !strings.HasPrefix(got, "-UNKNOWN outcome") || !strings.Contains(got, "an earlier one may have been") {
		t.Error(got)
	}
}
