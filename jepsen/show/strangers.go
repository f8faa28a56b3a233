package show

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"tenure/client"
	"tenure/internal/certs"
	"tenure/jepsen/cluster"
)

// stranger is how node 3 is started with what is not its own.
type stranger struct {
	what  string
	files certs.Paths // zero: without TLS
	node  string      // what node 3 says, and ends; "": it runs, and
	peers string      // what the others say of it
}

func strangers(ctx context.Context, s *stage) error {
	c, err := s.secured(ctx)
	if err != nil {
		return err
	}
	defer c.Stop(2 * time.Second)
	all, err := connect(c, 10*time.Second)
	if err != nil {
		return err
	}
	defer all.Close()
	list, err := theStrangers(c, filepath.Join(s.dir, "strangers"))
	if err != nil {
		return err
	}
	own := c.Node(3).Args
	for _, x := range list {
		if err := x.comes(ctx, s, c, all); err != nil {
			return fmt.Errorf("%s: %w", x.what, err)
		}
	}
	c.Node(3).Args = own
	if err := start(ctx, c); err != nil {
		return fmt.Errorf("with its own certificate: %w", err)
	}
	s.say("with its own certificate it is ready, and has what was written meanwhile")
	return nil
}

// theStrangers makes the files.
func theStrangers(c *cluster.Cluster, dir string) ([]stranger, error) {
	now, bundle := time.Now(), filepath.Join(c.Certificates().Of(3), certs.BundleName)
	other, err := certs.Init(filepath.Join(dir, "other"), "jepsen", now, certs.AuthorityValidity)
	test, err2 := certs.Init(filepath.Join(dir, "test"), "test", now, certs.AuthorityValidity)
	if err := errors.Join(err, err2); err != nil {
		return nil, err
	}
	n := 0
	issue := func(by *certs.Dir, role certs.Role, name string, at time.Time) (p certs.Paths) {
		n++
		r := certs.Request{Identity: certs.Identity{Role: role, Name: name}, Validity: time.Hour}
		if role == certs.RoleNode {
			r.Hosts = []string{"127.0.0.1"}
		}
		w, failed := by.Issue(r, filepath.Join(dir, fmt.Sprint(n)), at)
		err = errors.Join(err, failed)
		return certs.Paths{Cert: w.Cert, Key: w.Key, CA: bundle}
	}
	// A stranger of another authority trusts that and ours: else it would not start.
	trusting := func(p certs.Paths, authority string) certs.Paths {
		var both []byte
		for _, name := range []string{bundle, filepath.Join(dir, authority, certs.BundleName)} {
			b, failed := os.ReadFile(name)
			both, err = append(both, b...), errors.Join(err, failed)
		}
		p.CA = filepath.Join(dir, authority+"-and-ours.pem")
		err = errors.Join(err, os.WriteFile(p.CA, both, 0o600))
		return p
	}
	ours, node := c.Certificates().Authority, certs.RoleNode
	const unknown = "none of the authorities that are known here has signed it"
	list := []stranger{
		{"a client's", issue(ours, certs.RoleClient, "node-3", now), "a node needs one of role node", ""},
		{"another node's", issue(ours, node, "node-2", now), "and the members know this node as node-3", ""},
		{"an expired one", issue(ours, node, "node-3", now.Add(-2*time.Hour)), "", "it expired on"},
		{"one that is not yet valid", issue(ours, node, "node-3", now.Add(time.Hour)), "", "it is not valid before"},
		{"one that it does not trust itself", issue(other, node, "node-3", now), "has signed the certificate in", ""},
		{"one of an unknown authority", trusting(issue(other, node, "node-3", now), "other"), "", unknown},
		{"another cluster's", trusting(issue(test, node, "node-3", now), "test"), "", unknown},
		{"none, without TLS", certs.Paths{}, "", "the node at 127.0.0.1 does not"},
	}
	return list, err
}

// comes starts node 3 as a stranger. The two others must refuse it, and serve.
func (x stranger) comes(ctx context.Context, s *stage, c *cluster.Cluster, all *client.Client) error {
	n := c.Node(3)
	if n.Running() {
		if err := n.Kill(); err != nil {
			return err
		}
	}
	n.Args = x.args(n.Args)
	said, by := x.peers, c.Node(1)
	if x.node != "" {
		said, by = x.node, n
	}
	from := by.LogSize()
	if err := n.Start(); err != nil {
		return err
	}
	if x.node != "" {
		if err := n.Wait(20 * time.Second); err == nil {
			return errors.New("it ends without an error")
		}
	}
	line, err := awaitLine(ctx, by, from, said)
	if err != nil {
		return err
	}
	s.say("%s: %s", x.what, line)
	if _, err := all.Set(ctx, "during/"+x.what, []byte("v"), client.WriteOptions{}); err != nil {
		return fmt.Errorf("the two others do not serve: %w", err)
	}
	if n.Running() {
		return n.Kill()
	}
	return nil
}

// args returns the arguments of node 3 with other files, or without those of cluster.Certificates.Flags.
func (x stranger) args(args []string) []string {
	out := slices.Clone(args)
	for i := range out {
		switch out[i] {
		case "--tls-cert":
			out[i+1] = x.files.Cert
		case "--tls-key":
			out[i+1] = x.files.Key
		case "--tls-ca":
			out[i+1] = x.files.CA
		}
	}
	if (x.files == certs.Paths{}) {
		first := slices.Index(out, "--tls-cert")
		return slices.Delete(out, first, slices.Index(out, "--tls-require-client-cert")+1)
	}
	return out
}

// awaitLine returns the first line of a node's log that has the words, and was written after the first so many bytes.
func awaitLine(ctx context.Context, n *cluster.Node, from int64, words string) (string, error) {
	for end := time.Now().Add(20 * time.Second); ; cluster.Pause(ctx, 10*time.Millisecond) {
		for line := range strings.Lines(n.LogFrom(from)) {
			if i := strings.Index(line, words); i >= 0 {
				return strings.TrimSpace(line[max(0, i-80):min(len(line), i+len(words)+80)]), nil
			}
		}
		if time.Now().After(end) || ctx.Err() != nil {
			return "", fmt.Errorf("%s does not say %q", n.Log, words)
		}
	}
}
