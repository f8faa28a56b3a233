package cluster

import (
	"bufio"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strings"

	"tenure/internal/freeport"
)

// loopback is plain 127.0.0.1 with free ports.
type loopback struct {
	client, peer []string
}

func newLoopback(nodes int) (*loopback, error) {
	first, err := freeport.Run(2 * nodes)
	if err != nil {
		return nil, err
	}
	l := &loopback{}
	for i := range nodes {
		l.client = append(l.client, freeport.Address(first+i))
		l.peer = append(l.peer, freeport.Address(first+nodes+i))
	}
	return l, nil
}

// Addresses are on ports that were free a moment ago.
func (l *loopback) Addresses(id int) (client, peer, listed string) {
	return l.client[id-1], l.peer[id-1], l.peer[id-1]
}

// Command is argv: nothing special.
func (l *loopback) Command(_ int, argv []string) []string { return argv }

// Flags: none.
func (l *loopback) Flags() []string { return nil }

// Close has nothing to do.
func (l *loopback) Close() error { return nil }

// redisPort is where nodes with an address of their own listen for clients of Redis.
const redisPort = "6379"

// redisAddresses returns where the nodes in all places listen for clients of Redis, "" if they do not.
func redisAddresses(cfg Config, to Network) ([]string, error) {
	out := make([]string, cfg.Nodes+cfg.Spares)
	if !cfg.Redis {
		return out, nil
	}
	first, err := freeport.Run(len(out))
	if err != nil {
		return nil, err
	}
	for i := range out {
		client, _, _ := to.Addresses(i + 1)
		host, _, err := net.SplitHostPort(client)
		if err != nil {
			return nil, err
		}
		if out[i] = net.JoinHostPort(host, redisPort); net.ParseIP(host).IsLoopback() {
			out[i] = freeport.Address(first + i)
		}
	}
	return out, nil
}

// holds tells whether process pid has the TCP socket whose local port on 127.0.0.1 is port. Any user may ask that of
// its own processes.
func holds(pid, port int) bool {
	inode := inodeOf(port)
	if inode == "" {
		return false
	}
	dir := fmt.Sprintf("/proc/%d/fd", pid)
	files, err := os.ReadDir(dir)
	if err != nil {
		return false
	}
	for _, f := range files {
		if to, err := os.Readlink(filepath.Join(dir, f.Name())); err == nil && to == "socket:["+inode+"]" {
			return true
		}
	}
	return false
}

// inodeOf is the inode of the established socket with this local port, "" if there is none.
func inodeOf(port int) string {
	f, err := os.Open("/proc/net/tcp")
	if err != nil {
		return ""
	}
	defer f.Close()
	local := fmt.Sprintf("0100007F:%04X", port)
	const established, inodeColumn = "01", 9
	for s := bufio.NewScanner(f); s.Scan(); {
		if c := strings.Fields(s.Text()); len(c) > inodeColumn && c[1] == local && c[3] == established {
			return c[inodeColumn]
		}
	}
	return ""
}
