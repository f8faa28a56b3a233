package resp

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"tenure/kv"
	"tenure/server/service"
	"tenure/server/slow"
)

// once sends a command under a key of its own, and returns the reply.
func (s *session) once(key, command string) string {
	s.t.Helper()
	s.send(fmt.Sprintf("TENURE.ONCE %s 1 %s", key, command))
	return s.reply()
}

// A retry gets the reply of the first copy, also if the node makes another step of it by then: the time to live until a
// moment has become shorter, or the moment has passed.
func TestARetryGetsTheReplyOfTheFirstCopy(t *testing.T) {
	soon := time.Now().Add(50 * time.Millisecond)
	var commands []string
	for _, at := range []time.Time{time.Now().Add(time.Hour), soon, time.Now().Add(-time.Hour)} {
		for _, key := range []string{"there", "none"} {
			for _, options := range []string{"", " NX", " XX", " GET", " NX GET", " XX GET", " IFEQ v", " IFEQ w", " IFEQ w GET"} {
				commands = append(commands, fmt.Sprintf("SET %s w PXAT %d%s", key, at.UnixMilli(), options))
			}
			commands = append(commands, fmt.Sprintf("SET %s w EXAT %d", key, at.Unix()),
				fmt.Sprintf("EXPIREAT %s %d", key, at.Unix()), fmt.Sprintf("PEXPIREAT %s %d", key, at.UnixMilli()),
				fmt.Sprintf("GETEX %s EXAT %d", key, at.Unix()), fmt.Sprintf("GETEX %s PXAT %d", key, at.UnixMilli()))
		}
	}
	commands = append(commands, "SET there w EX 3600", "EXPIRE there 9", "EXPIRE there -1", "APPEND there x", "INCR n",
		"MSET a 1 b 2", "MSETNX a 1 b 2", "GETDEL there", "DEL there none", "RENAME there other", "GETEX there PERSIST")
	var retries []func()
	for i, command := range commands {
		f := newFake(t)
		f.apply(t, kv.Command{Op: kv.OpSet, Key: "there", Value: []byte("v")})
		s := dial(t, start(t, f, Config{Config: service.Config{MaxValueBytes: 1 << 10}}))
		first := s.once("key", command)
		if strings.HasPrefix(first, "-") && !strings.HasPrefix(first, "-ERR syntax") {
			t.Errorf("%s: %s", command, first)
		}
		revision := f.state.Revision()
		other := dial(t, start(t, f, Config{Config: service.Config{MaxValueBytes: 1<<10 + i}})) // a node with another setting
		retries = append(retries, func() {
			for _, s := range []*session{s, other} {
				if again := s.once("key", command); again != first || f.state.Revision() != revision {
					t.Errorf("%s: %s, and once more %s, at revision %d and %d", command, first, again, revision, f.state.Revision())
				}
			}
		})
	}
	time.Sleep(time.Until(soon) + 2*time.Millisecond)
	for _, retry := range retries {
		retry()
	}
}

// A moment that has passed ends a key also behind TENURE.ONCE: it gets the shortest time to live.
func TestOnceUntilAMomentThatHasPassed(t *testing.T) {
	f := newFake(t)
	f.apply(t, kv.Command{Op: kv.OpSet, Key: "there", Value: []byte("v")})
	s := dial(t, start(t, f, Config{}))
	s.send("TENURE.ONCE refused 1 SET k v PXAT 1 NX XX", "SET l v PXAT 1")
	s.reply()
	s.reply()
	s.want("EXISTS l", "0")
	for i, command := range []string{"SET k v PXAT 1", "EXPIREAT there 0", "PEXPIREAT there -5", "GETEX there EXAT 1"} {
		if got := s.once(fmt.Sprint(i), command); strings.HasPrefix(got, "-") {
			t.Errorf("%s: %s", command, got)
		}
		key := strings.Fields(command)[1]
		if e, _, err := f.state.Get(key); err != nil || e.TTL != shortest {
			t.Errorf("%s: %+v, %v", command, e, err)
		}
	}
}

// The commands under one key are the same if they were sent so, byte for byte.
func TestOnceComparesWhatWasSent(t *testing.T) {
	f := newFake(t)
	s := dial(t, start(t, f, Config{}))
	if got := s.once("key", "SET k v EX 9"); got != "OK" {
		t.Fatal(got)
	}
	for _, other := range []string{"SET k v EX 8", "SET k v", "SET l v EX 9", "SET k vEX 9", "SET k v PX 9", "SETEX k 9 v", "DEL k"} {
		if got := s.once("key", other); !strings.HasPrefix(got, "-NOTONCE ") && !strings.HasPrefix(got, "-ERR syntax") {
			t.Errorf("%s: %s", other, got)
		}
	}
	if got := s.once("key", "SET k v EX 9"); got != "OK" {
		t.Error(got)
	}
}

// The error of a retry whose reply was too large to be kept tells a command that was applied from one that was not.
func TestARetryWhoseReplyIsNotRemembered(t *testing.T) {
	large := strings.Repeat("x", kv.MaxRememberedBody+1)
	for command, want := range map[string]string{
		"GETDEL job":                       "-APPLIED ",
		"SET job v GET":                    "-APPLIED ",
		"SET job v IFEQ " + large + " GET": "-APPLIED ",
		"SET job v IFEQ other GET":         "-NOTONCE ",
		"SET job v NX GET":                 "-NOTONCE ",
		"GETEX job PERSIST":                "-NOTONCE ",
		"GETEX job EX 9":                   "-APPLIED ",
	} {
		g := newGuarded(t)
		g.set("job", large)
		s := g.as(root)
		before := g.state.Revision()
		if got := s.once("key", command); got != large {
			t.Fatalf("%.20s: %.40s", command, got)
		}
		changed := g.state.Revision() != before
		got := s.once("key", command)
		if !strings.HasPrefix(got, want) || changed != (want == "-APPLIED ") {
			t.Errorf("%.20s: changed %v; and once more: %s", command, changed, got)
		}
		if line, done := g.lines(2)[1], `"outcome":"done"`; strings.Contains(line, done) != changed {
			t.Error(line)
		}
	}
}

// forgetful is a fake that does not know any more whether it has applied a command.
type forgetful struct{ *fake }

func (forgetful) Write(time.Duration, kv.Command, *slow.Write) (kv.Result, error) {
	return kv.Result{Code: kv.CodeKeyTooOld}, nil
}

// WAIT does not vouch for a write of which nobody knows whether it was applied.
func TestWaitAfterAForgottenKey(t *testing.T) {
	f := newFake(t)
	s := dial(t, start(t, f, Config{}))
	s.want("TENURE.ONCE a 1 SET k v", "OK")
	s.want("WAIT 0 0", "1")
	s = dial(t, start(t, forgetful{f}, Config{}))
	s.wantPrefix("-UNKNOWN", "TENURE.ONCE a 1 SET k v")
	s.want("WAIT 0 0", "0")
}
