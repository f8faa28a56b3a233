package cluster

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"syscall"
	"time"

	"tenure/client"
	"tenure/internal/certs"
	"tenure/jepsen/scrape"
)

// clusterName is the name of the cluster in its certificates.
const clusterName = "jepsen"

// Certificates are a cluster's certificates, as an operator has them: the authority and everything that it signs in a
// directory of its own, and copies with the nodes and with the clients. Its methods are for one goroutine.
type Certificates struct {
	Authority *certs.Dir
	dir       string
	places    int
}

// newCertificates makes the authority, and the files of the nodes and of the clients.
func newCertificates(dir string, network Network, places int) (*Certificates, error) {
	c := &Certificates{dir: dir, places: places}
	var err error
	if c.Authority, err = certs.Init(c.Made(), clusterName, time.Now(), certs.AuthorityValidity); err != nil {
		return nil, err
	}
	issue := func(id certs.Identity, hosts ...string) {
		if err == nil {
			r := certs.Request{Identity: id, Hosts: hosts, Validity: certs.LeafValidity}
			_, err = c.Authority.Issue(r, "", time.Now())
		}
	}
	for id := 1; id <= places; id++ {
		address, _, _ := network.Addresses(id)
		host, _, split := net.SplitHostPort(address)
		if split != nil {
			return nil, split
		}
		issue(certs.Identity{Role: certs.RoleNode, Name: nodeName(id)}, host)
	}
	issue(certs.Identity{Role: certs.RoleClient, Name: clusterName})
	if err == nil {
		_, _, err = c.Authority.Revoke(nil, certs.ListValidity, time.Now())
	}
	for place := 0; place <= places && err == nil; place++ {
		if err = os.MkdirAll(c.Of(place), 0o755); err == nil {
			err = errors.Join(c.GiveBundle(place), c.GivePair(place))
		}
	}
	return c, err
}

func nodeName(id int) string { return "node-" + strconv.Itoa(id) }

// Made returns the authority's directory.
func (c *Certificates) Made() string { return filepath.Join(c.dir, "ca") }

func (c *Certificates) made(name string) string { return filepath.Join(c.Made(), name) }

// Of returns the directory of the files of node id, or with 0 that of the clients.
func (c *Certificates) Of(id int) string {
	if id == 0 {
		return filepath.Join(c.dir, "clients")
	}
	return filepath.Join(c.dir, nodeName(id))
}

// Pair returns the certificate and key with node id, or with 0 with the clients.
func (c *Certificates) Pair(id int) (cert, key string) {
	return filepath.Join(c.Of(id), "cert.pem"), filepath.Join(c.Of(id), "key.pem")
}

// pair returns the authority's files for node id, or with 0 for the clients.
func (c *Certificates) pair(id int) string {
	if id == 0 {
		return c.made("client-" + clusterName + ".pem")
	}
	return c.made("node-" + nodeName(id) + ".pem")
}

func (c *Certificates) bundle(id int) string { return filepath.Join(c.Of(id), certs.BundleName) }

func (c *Certificates) list(id int) string { return filepath.Join(c.Of(id), certs.ListName) }

// Flags returns the flags of a node with these files.
func (c *Certificates) Flags(id int) []string {
	cert, key := c.Pair(id)
	bundle := c.bundle(id)
	return []string{"--tls-cert", cert, "--tls-key", key, "--tls-ca", bundle,
		"--tls-client-ca", bundle, "--tls-crl", c.list(id), "--tls-require-client-cert"}
}

// Client returns what clients need to know.
func (c *Certificates) Client() *client.TLS {
	if c == nil {
		return nil
	}
	cert, key := c.Pair(0)
	return &client.TLS{CAFile: c.bundle(0), CertFile: cert, KeyFile: key}
}

// secure makes the certificates of a cluster that is to have some.
func (c *Cluster) secure() error {
	if c.cfg.Spares > 0 {
		return errors.New("nodes that join have no certificates here")
	}
	made, err := newCertificates(filepath.Join(c.cfg.Dir, "certs"), c.network, c.cfg.Nodes)
	if err != nil {
		return err
	}
	dial, err := made.Client().Dialler()
	c.certs, c.http.Transport = made, &http.Transport{DialTLSContext: dial, DisableKeepAlives: true}
	return err
}

// Certificates returns those of the cluster, nil without TLS.
func (c *Cluster) Certificates() *Certificates { return c.certs }

// TLS returns what clients need to know, nil without TLS.
func (c *Cluster) TLS() *client.TLS { return c.certs.Client() }

// Renew makes the certificate of node id, or with 0 of the clients, anew. Nobody has it yet.
func (c *Certificates) Renew(id int) error {
	_, err := c.Authority.Renew(c.pair(id), 0, time.Now())
	return err
}

// GivePair copies the certificate and the key to node id, or with 0 to the clients.
func (c *Certificates) GivePair(id int) error {
	return c.Put(id, c.pair(id), certs.KeyOf(c.pair(id)))
}

// Put copies a certificate and a key to node id, or with 0 to the clients.
func (c *Certificates) Put(id int, cert, key string) error {
	ownCert, ownKey := c.Pair(id)
	return errors.Join(give(cert, ownCert), give(key, ownKey))
}

// GiveBundle copies the authorities to node id, or with 0 to the clients, and before them the lists, of which none may
// be of an authority that is gone.
func (c *Certificates) GiveBundle(id int) error {
	return errors.Join(c.GiveList(id), give(c.made(certs.BundleName), c.bundle(id)))
}

// GiveList copies the lists of revoked certificates to node id.
func (c *Certificates) GiveList(id int) error { return give(c.made(certs.ListName), c.list(id)) }

// give replaces a file, as scp and mv do.
func give(from, to string) error {
	text, err := os.ReadFile(from)
	if err == nil {
		err = os.WriteFile(to+".new", text, 0o600)
	}
	if err == nil {
		err = os.Rename(to+".new", to)
	}
	return err
}

// Hangup tells a node to read its files again.
func (n *Node) Hangup() error {
	pid := n.PID()
	if pid == 0 {
		return fmt.Errorf("node %d does not run", n.ID)
	}
	return syscall.Kill(pid, syscall.SIGHUP)
}

// Shows returns the certificate that the node shows to a new client now, whatever it is worth.
func (n *Node) Shows(ctx context.Context) (*x509.Certificate, error) {
	d := tls.Dialer{NetDialer: &net.Dialer{Timeout: time.Second}, Config: &tls.Config{InsecureSkipVerify: true}}
	c, err := d.DialContext(ctx, "tcp", n.Client)
	if err != nil {
		return nil, err
	}
	defer c.Close()
	return c.(*tls.Conn).ConnectionState().PeerCertificates[0], nil
}

// Leaf returns the certificate that node id has in its files, or with 0 the clients.
func (c *Certificates) Leaf(id int) (*x509.Certificate, error) {
	cert, key := c.Pair(id)
	f, err := certs.Load(certs.Paths{Cert: cert, Key: key}, nil)
	if err != nil {
		return nil, err
	}
	return f.Certificate().Leaf, nil
}

// Reread waits until the node has handled its changed files: it has read them, or found them invalid. before is the
// result of Readings before the change. It returns whether they are in use.
func (c *Cluster) Reread(ctx context.Context, n *Node, before [2]int) (inUse bool, err error) {
	for {
		now, err := c.Readings(ctx, n)
		switch {
		case err == nil && now[0] > before[0]:
			return true, nil
		case err == nil && now[1] > before[1]:
			return false, nil
		}
		if !Pause(ctx, lookEvery) {
			return false, fmt.Errorf("node %d does not read its files again: %w", n.ID, errors.Join(err, ctx.Err()))
		}
	}
}

// Readings returns how often changed files of TLS came into use at a node, and how often they were of no use.
func (c *Cluster) Readings(ctx context.Context, n *Node) (out [2]int, err error) {
	text, err := c.get(ctx, n, "/metrics")
	if err != nil {
		return out, err
	}
	for i, name := range [...]string{"tenure_tls_reloads_total ", "tenure_tls_reload_failures_total "} {
		numbers, err := scrape.Numbers(text, name)
		if err != nil {
			return out, fmt.Errorf("the metrics of node %d: %w", n.ID, err)
		}
		out[i] = int(numbers[0])
	}
	return out, nil
}
