package dev

import (
	"fmt"
	"io"
	"net"
	"path/filepath"
	"strings"
	"time"

	"tenure/api"
	"tenure/internal/certs"
	"tenure/internal/devcluster"
	"tenure/internal/shown"
)

// teller writes reports for people.
type teller struct {
	out   io.Writer
	o     Options
	dir   string
	redis string // the address of a node for clients of Redis; "": none listens for them
}

// line writes a line. What nodes say of themselves may be part of it.
func (t *teller) line(format string, args ...any) {
	fmt.Fprintf(shown.Writer(t.out), format+"\n", args...)
}

// say writes an event with its time.
func (t *teller) say(format string, args ...any) {
	t.line("%s  %s", time.Now().Format("15:04:05.000"), fmt.Sprintf(format, args...))
}

func (t *teller) started(members []*member) {
	t.line("%d nodes started; all their data and logs are in %s\n", len(members), t.dir)
	t.line("%6s  %8s  %-22s %-22s %s", "node", "pid", "clients", "peers", "data")
	for _, m := range members {
		n := m.node
		t.line("%6d  %8d  %-22s %-22s %s", n.ID, n.PID, n.Client, n.Peer, n.Data)
	}
	t.line("")
}

func (t *teller) waiting(took time.Duration, missing []string) {
	t.say("not ready after %v; %s", took.Round(time.Second), strings.Join(missing, "; "))
}

func (t *teller) ready(took time.Duration, master int) {
	t.say("ready after %.1f s: node %d is master", took.Seconds(), master)
	ctl := shown.Word(t.o.Kvctl)
	if t.o.BasePort != 8500 || t.o.Nodes > 3 {
		var eps []string
		for i := range t.o.Nodes {
			eps = append(eps, loopback(t.o.BasePort+i))
		}
		ctl += " --endpoints " + strings.Join(eps, ",")
	}
	t.line("\nTo try it, in another terminal:\n")
	if t.o.ACL {
		t.line("  export TENURE_HTTP_TOKEN_FILE=%s", shown.Word(devcluster.TokenFile(t.dir)))
	}
	if t.o.TLS {
		path := filepath.Join(t.dir, devcluster.TLSDir)
		t.line("  export TENURE_CACERT=%s", shown.Word(filepath.Join(path, certs.BundleName)))
		t.line("  export TENURE_CLIENT_CERT=%s", shown.Word(filepath.Join(path, "client-dev.pem")))
		t.line("  export TENURE_CLIENT_KEY=%s\n", shown.Word(filepath.Join(path, "client-dev-key.pem")))
	} else if t.o.ACL {
		t.line("")
	}
	t.line("  %s set hello world", ctl)
	t.line("  %s get hello", ctl)
	t.line("  %s status --watch", ctl)
	if t.redis != "" {
		t.line("  %s", t.redisCommand())
	}
	t.line("  %s      # the master; another node takes over", t.devCommand("kill", master))
	t.line("  %s     # start it again", t.devCommand("start", master))
	t.line("\nIn a browser: %s%s\n", t.page(), api.PathUI)
	t.line("Ctrl-C stops all nodes.\n")
}

// page returns the address of the first node for browsers, without a path.
func (t *teller) page() string {
	scheme := "http"
	if t.o.TLS {
		scheme = "https"
	}
	return scheme + "://" + loopback(t.o.BasePort)
}

// redisCommand returns how to call redis-cli.
func (t *teller) redisCommand() string {
	_, port, err := net.SplitHostPort(t.redis)
	if err != nil {
		port = t.redis
	}
	command := "redis-cli -p " + port
	if t.o.TLS {
		command += " --tls --cacert " + shown.Word(filepath.Join(t.dir, devcluster.TLSDir, certs.BundleName))
	}
	if t.o.ACL {
		command += ` -a "$(cat ` + shown.Word(devcluster.TokenFile(t.dir)) + `)" --no-auth-warning`
	}
	return command
}

// devCommand returns the kvctl command that does something to a node.
func (t *teller) devCommand(do string, id int) string {
	data := ""
	if usual, err := filepath.Abs(devcluster.DefaultDir); err != nil || usual != t.dir {
		data = " --data " + shown.Word(t.dir)
	}
	return fmt.Sprintf("%s dev %s %d%s", shown.Word(t.o.Kvctl), do, id, data)
}

// died reports the end of a node; how is "" if another process started it.
func (t *teller) died(m *member, pid int, how string) {
	if how != "" {
		how = ": " + how
	}
	t.say("node %d (pid %d) has ended%s; start it again with: %s", m.node.ID, pid, how,
		t.devCommand("start", m.node.ID))
	lines := devcluster.LogTail(m.node.Log, 0)
	if m.child != nil {
		lines = m.child.LogTail()
	}
	if len(lines) == 0 || lines[0] == "" {
		return
	}
	t.line("    the end of %s:", m.node.Log)
	for _, l := range lines {
		t.line("    | %s", l)
	}
}
