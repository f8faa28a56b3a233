package cluster

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"sync"
	"syscall"
)

// Network connects the nodes. Nodes are named by their ids, from 1.
type Network interface {
	// Addresses are where node id listens for clients and for peers, and the peer address that the others are told.
	Addresses(id int) (client, peer, listed string)
	// Command returns the command line that runs argv in node id's place.
	Command(id int, argv []string) []string
	// Flags are for every node.
	Flags() []string
	// Close removes what was made, after the nodes have ended.
	Close() error
}

// Links is a network in which traffic between nodes can be cut. Clients reach all nodes always.
type Links interface {
	// Cut stops what the first node of each way sends to the second, until Heal.
	Cut(ways ...Way) error
	// Heal ends all cuts, losses and delays.
	Heal() error
	// Stopped counts what was held back so far, packets or pieces of a stream, to show that a cut had an effect.
	Stopped() (int, error)
}

// Way is one direction between two nodes.
type Way struct{ From, To int }

const (
	bridgePrefix = "tnjbr" // with a number: the bridge; its number is that of the subnet 10.213.N.0/24
	nsPrefix     = "tnj"
	maxNetworks  = 250
	hostByte     = 254 // the harness's address in a subnet; nodes have their ids
)

// Namespaces gives each node a network namespace of its own on one bridge. It needs root, ip, nft and nsenter.
type Namespaces struct {
	number, nodes int

	mu      sync.Mutex
	cuts    map[Way]bool
	percent int // of packets between nodes that are lost
	stopped int // by rules that are no more
}

// NamespacesAvailable returns an error that tells why Namespaces do not work on this machine, or nil.
func NamespacesAvailable() error {
	if os.Geteuid() != 0 {
		return errors.New("network namespaces need root")
	}
	for _, tool := range []string{"ip", "nft", "nsenter"} {
		if _, err := exec.LookPath(tool); err != nil {
			return fmt.Errorf("network namespaces need %s: %w", tool, err)
		}
	}
	return nil
}

// NewNamespaces makes a bridge and a namespace for each node. First it removes what a harness that was killed has left.
func NewNamespaces(nodes int) (*Namespaces, error) {
	if err := NamespacesAvailable(); err != nil {
		return nil, err
	}
	sweep()
	n := &Namespaces{nodes: nodes, cuts: map[Way]bool{}}
	for ; n.number < maxNetworks; n.number++ {
		if err := command("ip", "link", "add", n.bridge(), "type", "bridge"); err == nil {
			break
		} else if n.number == maxNetworks-1 {
			return nil, err
		}
	}
	if err := n.up(); err != nil {
		return nil, errors.Join(err, n.Close())
	}
	return n, nil
}

func (n *Namespaces) up() error {
	steps := [][]string{
		{"ip", "link", "set", n.bridge(), "alias", fmt.Sprint(os.Getpid())},
		{"ip", "addr", "add", n.address(hostByte) + "/24", "dev", n.bridge()},
		{"ip", "link", "set", n.bridge(), "up"},
	}
	for id := 1; id <= n.nodes; id++ {
		ns, link := n.namespace(id), fmt.Sprintf("%sv%d-%d", nsPrefix, n.number, id)
		steps = append(steps, [][]string{
			{"ip", "netns", "add", ns},
			{"ip", "link", "add", link, "type", "veth", "peer", "name", "eth0", "netns", ns},
			{"ip", "link", "set", link, "master", n.bridge(), "up"},
			{"ip", "-n", ns, "addr", "add", n.address(id) + "/24", "dev", "eth0"},
			{"ip", "-n", ns, "link", "set", "eth0", "up"},
			{"ip", "-n", ns, "link", "set", "lo", "up"},
		}...)
	}
	for _, s := range steps {
		if err := command(s...); err != nil {
			return err
		}
	}
	return nil
}

func (n *Namespaces) bridge() string          { return bridgePrefix + strconv.Itoa(n.number) }
func (n *Namespaces) namespace(id int) string { return fmt.Sprintf("%s%d-%d", nsPrefix, n.number, id) }
func (n *Namespaces) address(b int) string    { return fmt.Sprintf("10.213.%d.%d", n.number, b) }

// Addresses: all nodes use the same ports.
func (n *Namespaces) Addresses(id int) (client, peer, listed string) {
	return n.address(id) + ":8500", n.address(id) + ":8300", n.address(id) + ":8300"
}

// Command runs argv in the node's namespace, in the same process.
func (n *Namespaces) Command(id int, argv []string) []string {
	return append([]string{"nsenter", "--net=/run/netns/" + n.namespace(id)}, argv...)
}

// Flags: the addresses are not on loopback.
func (n *Namespaces) Flags() []string { return []string{"--insecure"} }

// Close removes namespaces and bridge.
func (n *Namespaces) Close() error { return takeDown(n.number) }

// Cut drops packets as they come in. An established connection sees silence, as with a broken cable.
func (n *Namespaces) Cut(ways ...Way) error {
	n.mu.Lock()
	defer n.mu.Unlock()
	for _, w := range ways {
		n.cuts[w] = true
	}
	return n.apply()
}

// Lose drops so many percent of the packets between nodes, at random.
func (n *Namespaces) Lose(percent int) error {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.percent = percent
	return n.apply()
}

// Heal removes all rules.
func (n *Namespaces) Heal() error {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.cuts, n.percent = map[Way]bool{}, 0
	return n.apply()
}

// Stopped is the number of packets dropped.
func (n *Namespaces) Stopped() (int, error) {
	n.mu.Lock()
	defer n.mu.Unlock()
	total := n.stopped
	for id := 1; id <= n.nodes; id++ {
		count, err := n.dropped(id)
		if err != nil {
			return 0, err
		}
		total += count
	}
	return total, nil
}

// apply makes each namespace's rules what they should be. The rules go with their counters, which are read before.
func (n *Namespaces) apply() error {
	for id := 1; id <= n.nodes; id++ {
		count, err := n.dropped(id)
		if err != nil {
			return err
		}
		var b strings.Builder
		b.WriteString("table inet tenure {}\ndelete table inet tenure\ntable inet tenure {\nchain input {\n" +
			"type filter hook input priority 0; policy accept;\n")
		for from := 1; from <= n.nodes; from++ {
			if n.cuts[Way{from, id}] {
				fmt.Fprintf(&b, "ip saddr %s counter drop\n", n.address(from))
			} else if n.percent > 0 && from != id {
				fmt.Fprintf(&b, "ip saddr %s numgen random mod 100 < %d counter drop\n", n.address(from), n.percent)
			}
		}
		b.WriteString("}\n}\n")
		if err := n.nft(id, b.String()); err != nil {
			return err
		}
		n.stopped += count
	}
	return nil
}

func (n *Namespaces) nft(id int, rules string) error {
	argv := n.Command(id, []string{"nft", "-f", "-"})
	cmd := exec.Command(argv[0], argv[1:]...)
	cmd.Stdin = strings.NewReader(rules)
	if text, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("nft for node %d: %w\n%s\n%s", id, err, text, rules)
	}
	return nil
}

// dropped sums the counters of a node's rules.
func (n *Namespaces) dropped(id int) (int, error) {
	argv := n.Command(id, []string{"nft", "-j", "list", "ruleset"})
	out, err := exec.Command(argv[0], argv[1:]...).Output()
	if err != nil {
		return 0, fmt.Errorf("nft list for node %d: %w", id, err)
	}
	var list struct {
		Nftables []struct {
			Rule struct {
				Expr []struct {
					Counter struct {
						Packets int `json:"packets"`
					} `json:"counter"`
				} `json:"expr"`
			} `json:"rule"`
		} `json:"nftables"`
	}
	if err := json.Unmarshal(out, &list); err != nil {
		return 0, fmt.Errorf("nft list for node %d: %w", id, err)
	}
	total := 0
	for _, item := range list.Nftables {
		for _, e := range item.Rule.Expr {
			total += e.Counter.Packets
		}
	}
	return total, nil
}

// sweep removes the networks of harnesses that have ended.
func sweep() {
	for number := range maxNetworks {
		bridge := bridgePrefix + strconv.Itoa(number)
		alias, err := os.ReadFile("/sys/class/net/" + bridge + "/ifalias")
		if err != nil {
			continue
		}
		owner, err := strconv.Atoi(strings.TrimSpace(string(alias)))
		if err != nil || syscall.Kill(owner, 0) == nil {
			continue // being put up now, or in use
		}
		_ = takeDown(number)
	}
}

// takeDown ends the processes in a network's namespaces, and removes the namespaces and the bridge.
func takeDown(number int) error {
	var failed error
	// The links first: a namespace's own go with it, but only some time after.
	links, _ := os.ReadDir("/sys/class/net")
	for _, e := range links {
		if strings.HasPrefix(e.Name(), fmt.Sprintf("%sv%d-", nsPrefix, number)) {
			failed = errors.Join(failed, command("ip", "link", "del", e.Name()))
		}
	}
	names, _ := os.ReadDir("/run/netns")
	for _, e := range names {
		if !strings.HasPrefix(e.Name(), fmt.Sprintf("%s%d-", nsPrefix, number)) {
			continue
		}
		out, _ := exec.Command("ip", "netns", "pids", e.Name()).Output()
		for _, field := range strings.Fields(string(out)) {
			if pid, err := strconv.Atoi(field); err == nil && pid > 1 {
				_ = syscall.Kill(pid, syscall.SIGKILL)
			}
		}
		failed = errors.Join(failed, command("ip", "netns", "del", e.Name()))
	}
	return errors.Join(failed, command("ip", "link", "del", bridgePrefix+strconv.Itoa(number)))
}

func command(argv ...string) error {
	if text, err := exec.Command(argv[0], argv[1:]...).CombinedOutput(); err != nil {
		return fmt.Errorf("%s: %w: %s", strings.Join(argv, " "), err, strings.TrimSpace(string(text)))
	}
	return nil
}
