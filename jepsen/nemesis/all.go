package nemesis

import (
	"context"
	"fmt"
	"strings"
)

// All returns the nemeses in the order of the matrix.
func All() []Nemesis {
	links := Needs{Links: true}
	clocks := Needs{Links: true, Clocks: true}
	drift := []string{"--clock-drift", driftFlag}
	shortLeases := []string{"--max-lease-time", "2s"} // every change of the voters waits for the longest one
	return []Nemesis{
		{Name: "none", Says: "no trouble", MinOps: 100,
			Run: func(ctx context.Context, _ *Bed) error { <-ctx.Done(); return nil }},
		{Name: "kill", Says: "SIGKILL of a minority, often the master", MinOps: 20, MinFaults: 2, MinMasters: 1,
			Run: kill},
		{Name: "kill-all", Says: "SIGKILL of all nodes at once", MinOps: 5, MinFaults: 1.5, MinMasters: 1.5,
			Run: killAll},
		{Name: "pause", Says: "SIGSTOP of a minority for one to five lease times", MinOps: 20, MinFaults: 2,
			MinMasters: 0.5, Run: pauses},
		{Name: "partition-master", Says: "the master is cut from all others", Needs: links, MinOps: 20, MinFaults: 2,
			MinMasters: 1.5,
			Run:        partition("partition-master", masterAlone)},
		{Name: "partition-majority", Says: "a random minority is cut off", Needs: links, MinOps: 20, MinFaults: 2,
			Run: partition("partition-majority", halves)},
		{Name: "partition-ring", Says: "each node sees only its neighbours (of three: the master's link with one " +
			"other is cut)", Needs: links,
			MinOps: 20, MinFaults: 2, Run: partition("partition-ring", ring)},
		{Name: "partition-one-way", Says: "one node is mute, or deaf", Needs: links, MinOps: 20, MinFaults: 2,
			Run: partition("partition-one-way", oneWay)},
		{Name: "loss", Says: "30 % of the packets between nodes are lost", Needs: Needs{Links: true, Loss: true},
			MinOps: 5, MinFaults: 1.5, Run: loss},
		{Name: "slow", Says: "everything between nodes is 20 to 110 ms late", Needs: Needs{Delay: true}, MinOps: 10,
			MinFaults: 1.5, Run: slow},
		{Name: "clock-rate", Says: "clock rates err by 4.9 % where 5 % are allowed, and the master is cut off",
			Needs: clocks, Flags: drift,
			MinOps: 20, MinFaults: 5, MinMasters: 1, Run: rates},
		{Name: "clock-jump", Says: "clocks jump by 40 ms where the margin is 100 ms, and the master is cut off",
			Needs: clocks,
			Flags: []string{"--lease-margin", marginFlag}, MinOps: 20, MinFaults: 5, MinMasters: 1, Run: jumps},
		{Name: "clock-wild", Says: "clocks err by up to 50 % and 3 s, beyond every bound: writes and consistent " +
			"reads must hold", Needs: clocks,
			ConsistentOnly: true, MinOps: 5, MinFaults: 5, Run: wild},
		{Name: "full-disk", Says: "one node has no space on its disk", Needs: Needs{Small: true}, MinOps: 20,
			MinFaults: 1, Run: fullDisk},
		{Name: "failing-fsync", Says: "syncs of one node fail: it must end", Needs: Needs{Faulty: true}, MinOps: 20,
			MinFaults: 1, Run: failingSync},
		{Name: "lying-fsync", Says: "one node's disk forgets what it said was synced; the others keep what they have",
			Needs:  Needs{Faulty: true},
			MinOps: 20, MinFaults: 0.5, Run: lyingSync},
		{Name: "bit-flips", Says: "bits of one node's files are flipped: it must notice at its start", MinOps: 20,
			MinFaults: 0.5, Run: flips},
		{Name: "rolling", Says: "SIGTERM of each node in turn", MinOps: 20, MinFaults: 2, MinMasters: 0.5,
			Run: rolling},
		{Name: "overload", Says: "more large writes at a time than nodes queue", MinOps: 5, MinFaults: 1,
			Run: overload},
		{Name: "cert-rotate", Says: "all certificates and the authority are renewed, file by file", Needs: Needs{TLS: true},
			MinOps: 20, MinFaults: 3, Run: rotateCerts},
		{Name: "cert-expire", Says: "one node's certificate expires, is another's, or none: open connections go on",
			Needs: Needs{TLS: true}, MinOps: 20, MinFaults: 1, Run: expireCerts},
		{Name: "cert-revoke", Says: "certificates are revoked: one that was copied, or that a node still has, and all " +
			"refuse who shows it", Needs: Needs{TLS: true}, MinOps: 20, MinFaults: 1, Run: revokeCerts},
		{Name: "token-rotate", Says: "the clients get new tokens through one node, and the old ones are deleted " +
			"through another", Needs: Needs{ACL: true}, MinOps: 20, MinFaults: 2, Run: rotateTokens},
		{Name: "token-expire", Says: "the clients' tokens expire, each after they got the next one", Needs: Needs{ACL: true},
			MinOps: 20, MinFaults: 1, Run: expireTokens},
		{Name: "token-revoke", Says: "tokens in use through all nodes are deleted, while one is stopped or dead: no " +
			"later write under them is done", Needs: Needs{ACL: true}, MinOps: 20, MinFaults: 1.5, Run: revokeTokens},
		{Name: "members", Says: "nodes join, leave, lose their disks and are replaced", Needs: Needs{Spares: memberSpares},
			Flags: shortLeases, MinOps: 20, MinFaults: 1.5, MinChanges: 1.5, Run: members},
		{Name: "members-kill", Says: "the same, beside SIGKILL of a minority", Needs: Needs{Spares: memberSpares},
			Flags: shortLeases, MinOps: 10, MinFaults: 2, MinChanges: 0.7, Run: membersAnd(killBeside)},
		{Name: "members-partition", Says: "the same, while a random minority is cut off",
			Needs:  Needs{Links: true, Spares: memberSpares},
			Flags:  shortLeases,
			MinOps: 10, MinFaults: 2, MinChanges: 0.7, Run: membersAnd(cutBeside)},
	}
}

// ByName returns the nemesis with that name.
func ByName(name string) (Nemesis, error) {
	var names []string
	for _, n := range All() {
		if n.Name == name {
			return n, nil
		}
		names = append(names, n.Name)
	}
	return Nemesis{}, fmt.Errorf("there is no nemesis %q; there are %s", name, strings.Join(names, ", "))
}
