package resp

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"net"
	"slices"
	"strings"
	"testing"
	"time"
)

// words are arguments that mean something to some command, and some that mean trouble.
var words = []string{
	"a", "b", "c/d", "", "0", "1", "-1", "9223372036854775807", "-9223372036854775808", "99999999999999999999",
	"1.5", "nx", "XX", "get", "EX", "px", "EXAT", "pxat", "keepttl", "IFEQ", "persist", "gt", "match", "count",
	"type", "string", "*", "[a-", "\\", "\xff", "a b", "\r\n", "lease/l:7", "lease/l:x", "id", "setname",
	"list", "info", "docs", "load", "exists", "return 1", "numsub", "channels", "3", "2", "auth", "set", "incr",
	"del", "mget", "multi", "exec", "stale", "sync",
}

// uncounted commands reply other than once, or end the connection.
var uncounted = []string{"subscribe", "psubscribe", "unsubscribe", "punsubscribe", "tenure.watch", "quit"}

// pick makes a pipeline of commands out of the numbers that random gives.
func pick(random *rand.Rand, n int, names []string) (commands [][]string) {
	for range n {
		c := []string{names[random.IntN(len(names))]}
		if cmd := table[c[0]]; cmd.arity > 0 && random.IntN(4) > 0 {
			for range cmd.arity - 1 {
				c = append(c, words[random.IntN(len(words))])
			}
		} else {
			for range random.IntN(7) {
				c = append(c, words[random.IntN(len(words))])
			}
		}
		commands = append(commands, c)
	}
	return commands
}

// exchange sends a pipeline, says that nothing more comes, and returns the replies that came until the end.
func exchange(t *testing.T, s *Server, commands [][]string) (replies int) {
	t.Helper()
	nc, err := net.Dial("tcp", s.Addr())
	if err != nil {
		t.Fatal(err)
	}
	defer nc.Close()
	if err := nc.SetDeadline(time.Now().Add(20 * time.Second)); err != nil {
		t.Fatal(err)
	}
	var all bytes.Buffer
	for _, c := range commands {
		fmt.Fprintf(&all, "*%d\r\n", len(c))
		for _, a := range c {
			fmt.Fprintf(&all, "$%d\r\n%s\r\n", len(a), a)
		}
	}
	if _, err := nc.Write(all.Bytes()); err != nil {
		t.Fatal(err)
	}
	if err := nc.(*net.TCPConn).CloseWrite(); err != nil {
		t.Fatal(err)
	}
	in := newSession(t, nc)
	for {
		if _, err := in.in.Peek(1); err != nil {
			return replies
		}
		in.reply() // fails the test unless it is a reply
		replies++
	}
}

// Whatever a client sends, each command gets one reply, and none ends the connection or the process.
func FuzzConnection(f *testing.F) {
	names := slices.DeleteFunc(sortedNames(), func(n string) bool { return slices.Contains(uncounted, n) })
	for seed := range uint64(20) {
		f.Add(seed, uint8(50))
	}
	f.Fuzz(func(t *testing.T, seed uint64, n uint8) {
		_, server := startTold(t, Config{}, testHub)
		commands := pick(rand.New(rand.NewPCG(seed, 0)), int(n), names)
		if got := exchange(t, server, commands); got != len(commands) {
			t.Errorf("%d replies to %d commands: %q", got, len(commands), commands)
		}
	})
}

// With those that are told of changes, replies still come whole.
func FuzzSubscriber(f *testing.F) {
	names := slices.DeleteFunc(sortedNames(), func(n string) bool { return n == "quit" })
	for seed := range uint64(10) {
		f.Add(seed, uint8(50))
	}
	f.Fuzz(func(t *testing.T, seed uint64, n uint8) {
		_, server := startTold(t, Config{}, testHub)
		commands := append([][]string{{"HELLO", "3"}, {"PSUBSCRIBE", "*"}},
			pick(rand.New(rand.NewPCG(seed, 1)), int(n), names)...)
		if got := exchange(t, server, commands); got < 2 {
			t.Errorf("%d replies to %s", got, strings.Join(commands[0], " "))
		}
	})
}
