package nemesis

import (
	"bytes"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"time"

	"tenure/client"
	"tenure/internal/certs"
	"tenure/jepsen/cluster"
)

// revokeCerts revokes certificates: one of which somebody has a copy, after its owner got another one, or one that a
// node has in use. Then nobody takes it any more.
func revokeCerts(ctx context.Context, b *Bed) error {
	dir, err := os.MkdirTemp("", "tenure-certs-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	for i := 0; ctx.Err() == nil; i++ {
		stolen := stolenPair{filepath.Join(dir, fmt.Sprint(i, ".pem")), filepath.Join(dir, fmt.Sprint(i, "-key.pem"))}
		switch n := b.pick(ctx, 1)[0]; i % 3 {
		case 0:
			err = b.revokeCopy(0, stolen)
		case 1:
			err = b.revokeCopy(n.ID, stolen)
		default:
			err = b.revokeInUse(ctx, n, stolen)
		}
		if err != nil {
			return err
		}
		cluster.Pause(ctx, b.between(200*ms, 1000*ms))
	}
	return nil
}

// stolenPair is a copy of a certificate and its key.
type stolenPair struct{ cert, key string }

// revokeCopy revokes the certificate of node place, or with 0 of the clients, of which there is a copy. Its owner has
// another one by then.
func (b *Bed) revokeCopy(place int, stolen stolenPair) error {
	end := b.Log.begin("revoke a copy", place)
	c := b.Cluster.Certificates()
	if err := errors.Join(stolen.take(c, place), c.Renew(place)); err != nil {
		return err
	}
	if place == 0 {
		if err := c.GivePair(0); err != nil {
			return err
		}
	} else if inUse, err := b.give(b.Cluster.Node(place), c.GivePair); err != nil || !inUse {
		return fmt.Errorf("node %d does not use its new certificate: %w", place, err)
	}
	if err := b.revokeCert(stolen, place != 0); err != nil {
		return err
	}
	end("all refuse it")
	return nil
}

// revokeInUse revokes the certificate that n has in use: the others cut n off until it has another one.
func (b *Bed) revokeInUse(ctx context.Context, n *cluster.Node, stolen stolenPair) error {
	end := b.Log.begin("revoke", n.ID)
	c := b.Cluster.Certificates()
	if err := stolen.take(c, n.ID); err != nil {
		return err
	}
	if err := b.revokeCert(stolen, true); err != nil {
		return err
	}
	cluster.Pause(ctx, b.between(300*ms, 1500*ms))
	if err := errors.Join(c.Renew(n.ID), c.GivePair(n.ID), n.Hangup()); err != nil {
		return err
	}
	if err := b.ready(n); err != nil {
		return fmt.Errorf("after its revoked certificate was renewed: %w", err)
	}
	end("all refused it, and with another one it is ready")
	return nil
}

// take copies the pair of node place, or with 0 of the clients.
func (s stolenPair) take(c *cluster.Certificates, place int) error {
	cert, key := c.Pair(place)
	for from, to := range map[string]string{cert: s.cert, key: s.key} {
		text, err := os.ReadFile(from)
		if err == nil {
			err = os.WriteFile(to, text, 0o600)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// revokeCert puts a certificate on the list, gives that to all nodes, and shows it to each of them.
func (b *Bed) revokeCert(stolen stolenPair, ofNode bool) error {
	c := b.Cluster.Certificates()
	if _, _, err := c.Authority.Revoke([]string{stolen.cert}, certs.ListValidity, time.Now()); err != nil {
		return err
	}
	for _, n := range b.Cluster.Nodes() {
		if inUse, err := b.give(n, c.GiveList); err != nil || !inUse {
			return fmt.Errorf("node %d does not use a list of revoked certificates: %w", n.ID, err)
		}
	}
	for _, n := range b.Cluster.Nodes() {
		err := b.refusesClient(n, stolen)
		if ofNode {
			err = errors.Join(err, refusesPeer(n, stolen))
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// refusesClient tries to be a client of n with a certificate that is revoked.
func (b *Bed) refusesClient(n *cluster.Node, stolen stolenPair) error {
	own := b.Cluster.TLS()
	dial, err := (&client.TLS{CAFile: own.CAFile, CertFile: stolen.cert, KeyFile: stolen.key}).Dialler()
	if err != nil {
		return err
	}
	t := &http.Transport{DialTLSContext: dial, DisableKeepAlives: true}
	if live(&http.Client{Transport: t, Timeout: 5 * time.Second}, b.Cluster.Endpoint(n)) == nil {
		return fmt.Errorf("node %d answers a client whose certificate is revoked", n.ID)
	}
	return nil
}

// refusesPeer tries to be a peer of n with a certificate that is revoked. A node that takes it waits for a first frame;
// one that does not says why.
func refusesPeer(n *cluster.Node, stolen stolenPair) error {
	pair, err := tls.LoadX509KeyPair(stolen.cert, stolen.key)
	if err != nil {
		return err
	}
	d := tls.Dialer{NetDialer: &net.Dialer{Timeout: time.Second},
		Config: &tls.Config{InsecureSkipVerify: true, Certificates: []tls.Certificate{pair}}}
	c, err := d.Dial("tcp", n.Peer)
	if err != nil {
		return nil // refused, or it does not listen
	}
	defer c.Close()
	_ = c.SetReadDeadline(time.Now().Add(2 * time.Second))
	if said, err := io.ReadAll(io.LimitReader(c, 4096)); !bytes.Contains(said, []byte("revoked")) {
		return fmt.Errorf("node %d does not refuse a peer whose certificate is revoked: %q, %w", n.ID, said, err)
	}
	return nil
}
