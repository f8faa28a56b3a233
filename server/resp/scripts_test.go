package resp

import (
	"fmt"
	"strings"
	"testing"
)

// The hashes are those of the libraries: compat runs the libraries themselves.
const (
	redsyncDelete  = "e950836ed1e694540c503ef9972b8de518044d3b"
	redsyncTouchNX = "b6b55c439e02c6f52ffb8be7ec8c0d0ac816ea79"
	prolongSHA     = "a7aba3bc5d6e99b3003da8b9d80a63b9f4092ecf"
	obtainSHA      = "80a1b5f2cfccec3b7119ba7721d2127682b691a7"
	pttlSHA        = "6484da7d58920897fdc22b7f9afd1a3d47524ea8"
	extendSHA      = "a4e8783852e6b949f9ef3a97212805108459a890"
	lockAllSHA     = "96da70f7716f27d278a5218544df37fd8b0a5e4c"
	prolongAllSHA  = "aed6f382e410db8ba7926d4e5e9aab410bf2a78a"
	unlockAllSHA   = "e4612211c9f8f51c257e26e056b0a654b3187242"
)

func TestScriptsOfLocks(t *testing.T) {
	s := dial(t, start(t, newFake(t), Config{}))
	for _, c := range []struct{ sha, args, want string }{
		{redsyncDelete, "1 l me", "-1"},
		{redsyncTouchNX, "1 l me 60000", "1"}, // it was free
		{redsyncTouchNX, "1 l me 60000", "1"}, // it is mine
		{redsyncTouchNX, "1 l other 60000", "0"},
		{prolongSHA, "1 l me 90000", "1"},
		{prolongSHA, "1 l other 1000", "0"},
		{pttlSHA, "1 l other", "-3"},
		{pttlSHA, "1 l me", "90000"},
		{extendSHA, "1 l other 1000 0", "0"},
		{extendSHA, "1 l me 10000 0", "1"},
		{pttlSHA, "1 l me", "100000"},
		{extendSHA, "1 l me 5000 1", "1"},
		{pttlSHA, "1 l me", "5000"},
		{redsyncDelete, "1 l other", "0"},
		{redsyncDelete, "1 l me", "1"},
		{extendSHA, "1 l me 1000 0", "0"},
		{obtainSHA, "1 o tok1 3 60000", "OK"},
		{obtainSHA, "1 o tok2 3 60000", "OK"}, // the same beginning
		{obtainSHA, "1 o other 3 60000", "nil"},
		{lockAllSHA, "3 a b c me 60000", "3"},
		{lockAllSHA, "2 c d me 60000", "0"},
		{prolongAllSHA, "3 a b c me 70000", "3"},
		{prolongAllSHA, "2 a o me 70000", "0"},
		{unlockAllSHA, "4 a b d o me", "2"},
		{unlockAllSHA, "1 c me", "1"},
	} {
		s.want("evalsha "+c.sha+" "+c.args, c.want)
	}
	s.want("exists a b c d", "0")
}

func TestOtherScriptsAreRefused(t *testing.T) {
	s := dial(t, start(t, newFake(t), Config{}))
	s.want("evalsha "+strings.Repeat("0", 40)+" 0", "-"+errNoScript)
	s.want("eval 'return 1' 0", "-"+errNoLua)
	s.want("script load 'return 1'", "-"+errNoLua)
	s.want("script exists "+prolongSHA+" "+strings.Repeat("0", 40), "[1 0]")
	s.want("evalsha "+prolongSHA+" 2 k", "-ERR Number of keys can't be greater than number of args")
	s.want("evalsha "+prolongSHA+" -1 k", "-ERR Number of keys can't be negative")
	s.want("evalsha "+prolongSHA+" 0 k", "-ERR the script of a lock needs more keys or arguments than it was given")
	s.want("evalsha "+prolongSHA+" 1 k v x", "-ERR invalid expire time in the script of a lock")
}

// A lock has one holder, however many clients try at the same time.
func TestOneHolderOfALock(t *testing.T) {
	server := start(t, newFake(t), Config{})
	for round := range 20 {
		won := make(chan string)
		for i := range 4 {
			s := dial(t, server)
			go func() {
				s.send(fmt.Sprintf("evalsha %s 1 lock%d me%d 3 60000", obtainSHA, round, i))
				won <- s.reply()
			}()
		}
		n := 0
		for range 4 {
			if <-won == "OK" {
				n++
			}
		}
		if n != 1 {
			t.Fatalf("round %d: %d holders", round, n)
		}
	}
}
