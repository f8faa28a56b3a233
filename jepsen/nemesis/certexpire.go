package nemesis

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"time"

	"tenure/api"
	"tenure/client"
	"tenure/internal/certs"
	"tenure/jepsen/cluster"
)

// expireCerts gives one node after the other a certificate that soon expires, or files of no use, and renews them
// later.
func expireCerts(ctx context.Context, b *Bed) error {
	dir, err := os.MkdirTemp("", "tenure-certs-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	for i := 0; ctx.Err() == nil; i++ {
		n := b.pick(ctx, 1)[0]
		c := b.Cluster.Certificates()
		if i%3 == 1 {
			err = b.uselessCert(n, filepath.Join(dir, fmt.Sprint(i)))
		} else {
			err = b.expiredCert(ctx, n, filepath.Join(dir, fmt.Sprint(i)))
		}
		if err != nil {
			return err
		}
		end := b.Log.begin("renew", n.ID)
		if err := c.Renew(n.ID); err != nil {
			return err
		}
		if err := errors.Join(c.GivePair(n.ID), n.Hangup()); err != nil {
			return err
		}
		if err := b.ready(n); err != nil {
			return fmt.Errorf("after its certificate was renewed: %w", err)
		}
		end("it is ready")
		cluster.Pause(ctx, b.between(200*ms, 1000*ms))
	}
	return nil
}

// soonExpired is how long a certificate that is to expire is valid from when it is made.
const soonExpired = 1500 * ms

// expiredCert lets the certificate of n expire: the connections that are open go on, and new ones are refused. Every
// other time n is then killed and started, so that all its connections are new.
func (b *Bed) expiredCert(ctx context.Context, n *cluster.Node, dir string) error {
	end := b.Log.begin("expire", n.ID)
	open, err := b.openConnection(n)
	if err != nil {
		return err
	}
	defer open.CloseIdleConnections()
	const validity = time.Minute // the shortest
	leaf, err := b.Cluster.Certificates().Leaf(n.ID)
	if err != nil {
		return err
	}
	w, err := b.issue(n.Name(), certs.Hosts(leaf), dir, validity, time.Now().Add(soonExpired-validity))
	if err != nil {
		return err
	}
	inUse, err := b.give(n, func(place int) error { return b.Cluster.Certificates().Put(place, w.Cert, w.Key) })
	if err != nil || !inUse {
		return fmt.Errorf("node %d does not use a certificate that is valid: %w", n.ID, err)
	}
	cluster.Pause(context.Background(), time.Until(w.Leaf.NotAfter)+time.Second) // certificates count in seconds
	also := ""
	if b.Random.IntN(2) == 0 {
		if err := errors.Join(n.Kill(), n.Start()); err != nil {
			return err
		}
		also = "killed and started, "
	} else if err := live(open, b.Cluster.Endpoint(n)); err != nil {
		return fmt.Errorf("the certificate of node %d has expired, and a connection that was open is of no use: %w",
			n.ID, err)
	}
	refused, err := b.refusal(n)
	if err != nil {
		return err
	}
	cluster.Pause(ctx, b.between(300*ms, 1500*ms))
	end(fmt.Sprintf("%snew connections are refused: %.120v", also, refused))
	return nil
}

// refusal returns why a client refuses n, whose certificate has expired. It waits until n listens, even beyond the end
// of the run: a node that has only just been started does not know SIGHUP yet, and would end.
func (b *Bed) refusal(n *cluster.Node) (why, err error) {
	for end := time.Now().Add(recovery); ; cluster.Pause(context.Background(), 20*ms) {
		fresh, err := b.openConnection(n)
		switch {
		case err == nil:
			fresh.CloseIdleConnections()
			return nil, fmt.Errorf("node %d shows a certificate that has expired, and is believed", n.ID)
		case errors.Is(err, client.ErrTLS):
			return err, nil
		case time.Now().After(end):
			return nil, fmt.Errorf("node %d does not listen: %w", n.ID, err)
		}
	}
}

// uselessCert replaces the files of n by those of another node, or by a key that fits no certificate: n must continue
// with its old ones.
func (b *Bed) uselessCert(n *cluster.Node, dir string) error {
	end := b.Log.begin("useless", n.ID)
	before, err := n.Shows(context.Background())
	if err != nil {
		return err
	}
	w, err := b.issue("other", []string{"localhost"}, dir, time.Hour, time.Now())
	if err != nil {
		return err
	}
	c := b.Cluster.Certificates()
	inUse, err := b.give(n, func(place int) error {
		if b.Random.IntN(2) == 0 {
			return c.Put(place, w.Cert, w.Key)
		}
		_, key := c.Pair(0)
		return c.Put(place, w.Cert, key)
	})
	if err != nil || inUse {
		return fmt.Errorf("node %d uses files that are not its own: %w", n.ID, err)
	}
	if now, err := n.Shows(context.Background()); err != nil || !now.Equal(before) {
		return fmt.Errorf("node %d does not go on with its certificate: %w", n.ID, err)
	}
	end("it goes on with those of before, and says so")
	return nil
}

// issue makes files in a directory that is no node's.
func (b *Bed) issue(name string, hosts []string, dir string, validity time.Duration, at time.Time) (
	certs.Written, error) {
	node := certs.Identity{Role: certs.RoleNode, Name: name}
	return b.Cluster.Certificates().Authority.Issue(
		certs.Request{Identity: node, Hosts: hosts, Validity: validity}, dir, at)
}

// openConnection returns a client with one connection to n, over which it has asked once.
func (b *Bed) openConnection(n *cluster.Node) (*http.Client, error) {
	dial, err := b.Cluster.TLS().Dialler()
	if err != nil {
		return nil, err
	}
	c := &http.Client{Transport: &http.Transport{DialTLSContext: dial, MaxConnsPerHost: 1}, Timeout: 5 * time.Second}
	return c, live(c, b.Cluster.Endpoint(n))
}

// live asks a node whether it is alive.
func live(c *http.Client, endpoint string) error {
	rsp, err := c.Get(endpoint + api.PathHealthLive)
	if err != nil {
		return err
	}
	defer rsp.Body.Close()
	_, _ = io.Copy(io.Discard, rsp.Body) // or the connection is used once
	if rsp.StatusCode != http.StatusOK {
		return fmt.Errorf("status %d", rsp.StatusCode)
	}
	return nil
}
