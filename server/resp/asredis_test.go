package resp

import (
	"strings"
	"testing"
)

// The answers are those of Redis 7.0.15.
func TestAnswersOfRedis(t *testing.T) {
	for _, c := range []struct{ commands, last string }{
		{"SET k a|GETRANGE k -1 -5", ""},
		{"SET k abc|GETRANGE k -1 -5", ""},
		{"SET k abc|GETRANGE k -5 -1", "abc"},
		{"SET k abc|GETRANGE k -2 -2", "b"},
		{"SET k 007|INCR k", "-" + errNotInteger},
		{"SET k +1|INCR k", "-" + errNotInteger},
		{"SET k -0|INCRBY k 5", "-" + errNotInteger},
		{"SET k 007|INCR k|GET k", "007"},
		{"INCRBY k 007", "-" + errNotInteger},
		{"SET k v EX 1000 EX 2000|TTL k", "2000"},
		{"SET k v EX 2000 PX 1000", "-" + errSyntax},
		{"SET k v EX 1000 KEEPTTL", "-" + errSyntax},
		{"SET k v NX NX", "OK"},
		{"SET k v EX 0 WRONG", "-" + errSyntax},
		{"SET k v EX 0 EX 1000|TTL k", "1000"},
		{"GETEX k EX 0", "nil"},
		{"GETEX k EX text", "nil"},
		{"GETEX k WRONG 1", "-" + errSyntax},
		{"SET k v|GETEX k EX 0", "-ERR invalid expire time in 'getex' command"},
		{"SET k v|GETEX k EX text", "-" + errNotInteger},
		{"SET k v|GETEX k EX 1000 EX 2000|TTL k", "2000"},
		{"SET k v|GETEX k PERSIST EX 10", "-" + errSyntax},
		{"SET k v EX 1000|GETEX k PERSIST|TTL k", "-1"},
		{"EXPIRE k text WRONG", "-ERR Unsupported option WRONG"},
		{"EXPIRE k text", "-" + errNotInteger},
		{"SET k v|MULTI|EXPIREAT k 1 NX|EXISTS k|EXEC", "[1 0]"},
		{"SET k v|MULTI|EXPIREAT k 1 XX|EXISTS k|EXEC", "[0 1]"},
		{"SET k v EX 1000|MULTI|EXPIRE k -1 NX|EXPIRE k -1 XX|EXISTS k|EXEC", "[0 1 0]"},
		{"SET k v EX 1000|PEXPIREAT k 1 NX", "0"},
		{"SELECT text", "-" + errNotInteger},
		{"AUTH default x", "OK"},
		{"AUTH ann x", "-WRONGPASS*"},
		{"EXEC now", "-EXECABORT Transaction discarded because of: wrong number of arguments for 'exec' command"},
		{"MULTI|EXEC now|EXEC", "-ERR EXEC without MULTI"},
	} {
		s := dial(t, start(t, newFake(t), Config{}))
		got := ""
		for command := range strings.SplitSeq(c.commands, "|") {
			s.send(command)
			got = s.reply()
		}
		if want, begins := strings.CutSuffix(c.last, "*"); got != c.last && (!begins || !strings.HasPrefix(got, want)) {
			t.Errorf("%s: %s, want %s", c.commands, got, c.last)
		}
	}
}
