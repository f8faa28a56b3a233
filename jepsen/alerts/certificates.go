package alerts

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"syscall"
	"time"

	"tenure/internal/certs"
	"tenure/internal/faultfs"
	"tenure/jepsen/cluster"
)

// certificates is a cluster with TLS and tokens, whose node 1 writes its audit log to a disk that fails on command.
type certificates struct {
	*bed
	audit *faultfs.FS
}

func playCertificates(ctx context.Context, b *bed) error {
	if err := faultfs.Available(); err != nil {
		b.say("left out: %v", err)
		return nil
	}
	disks, dataDir, unmount, err := cluster.FaultyDisks(filepath.Join(b.dir, "audit"), 1)
	if err != nil {
		return err
	}
	b.atEnd(func() { _ = unmount() }) // a mount that stays fails nothing
	err = b.start(ctx, cluster.Config{TLS: true, ACL: true}, func(c *cluster.Cluster) {
		n := c.Node(1)
		n.Args = append(n.Args, "--audit", filepath.Join(filepath.Dir(dataDir(1)), "audit.json"))
	})
	if err != nil {
		return err
	}
	x := &certificates{bed: b, audit: disks[0]}
	return b.all(ctx, x.faults())
}

func (x *certificates) faults() []fault {
	const node, clients = 2, 0 // places
	renewed := func(place int) func(context.Context) error {
		return func(context.Context) error {
			c := x.c.Certificates()
			if err := c.Renew(place); err != nil {
				return err
			}
			return c.GivePair(place)
		}
	}
	return []fault{
		{says: "the certificate of a node is valid for five days more", alerts: []string{"TenureCertificateExpires"},
			begin: func(context.Context) error {
				return x.short(node, certs.Identity{Role: certs.RoleNode, Name: x.c.Node(node).Name()})
			},
			mend: renewed(node)},
		{says: "the certificate of a client is valid for five days more", alerts: []string{"TenureClientCertificateExpires"},
			begin: func(context.Context) error {
				return x.short(clients, certs.Identity{Role: certs.RoleClient, Name: "jepsen"})
			},
			during: func(ctx context.Context) error {
				defer cluster.Pause(ctx, time.Second)
				return x.visit(ctx)
			},
			mend: func(ctx context.Context) error {
				if err := renewed(clients)(ctx); err != nil {
					return err
				}
				return x.visit(ctx) // a node goes by the newest certificate that it has seen
			}},
		{says: "half a certificate is put in the place of a node's", alerts: []string{"TenureTLSFilesOfNoUse"},
			begin: func(context.Context) error {
				cert, _ := x.c.Certificates().Pair(node)
				text, err := os.ReadFile(cert)
				if err != nil {
					return err
				}
				return os.WriteFile(cert, text[:len(text)/2], 0o600)
			},
			mend: renewed(node)},
		{says: "the disk of the audit log has no space", alerts: []string{"TenureAuditLost"},
			begin: func(context.Context) error { x.audit.SetError(faultfs.Write, syscall.ENOSPC); return nil },
			mend:  func(context.Context) error { x.audit.SetError(faultfs.Write, 0); return nil }},
	}
}

// visit has the clients show their certificate to each node.
func (x *certificates) visit(ctx context.Context) error {
	for _, n := range x.c.Nodes() {
		if _, err := x.c.Status(ctx, n); err != nil {
			return err
		}
	}
	return nil
}

// short gives node place, or with 0 the clients, a certificate that is valid for what counts as five days here.
func (x *certificates) short(place int, id certs.Identity) error {
	c := x.c.Certificates()
	leaf, err := c.Leaf(place)
	if err != nil {
		return err
	}
	dir := filepath.Join(x.dir, fmt.Sprint("short", place))
	w, err := c.Authority.Issue(certs.Request{Identity: id, Hosts: certs.Hosts(leaf),
		Validity: 5 * daySeconds * time.Second}, dir, time.Now())
	if err != nil {
		return err
	}
	return c.Put(place, w.Cert, w.Key)
}
