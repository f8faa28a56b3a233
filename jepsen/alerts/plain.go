package alerts

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"time"

	"tenure/client"
	"tenure/jepsen/cluster"
)

// plain is a cluster with an archive, a bound on its clients' requests, and backups twice a day.
type plain struct {
	*bed
	archive string
	backups atomic.Bool // are made
}

func playPlain(ctx context.Context, b *bed) error {
	x := &plain{bed: b, archive: filepath.Join(b.dir, "archive")}
	if err := os.MkdirAll(x.archive, 0o700); err != nil {
		return err
	}
	err := b.start(ctx, cluster.Config{Flags: []string{"--archive", x.archive, "--archive-verify-every", "1m",
		"--limit-loopback", "--request-rate-mode", "enforcing", "--request-rate", "500", "--quota-bytes", "64MiB"}}, nil)
	if err != nil {
		return err
	}
	if err := x.furnish(ctx); err != nil {
		return err
	}
	if err := x.healthy(ctx); err != nil {
		return err
	}
	return b.all(ctx, append(x.nodes(), x.clients()...))
}

// furnish makes one of everything that the dashboard shows.
func (x *plain) furnish(ctx context.Context) error {
	c, err := x.client(0)
	if err != nil {
		return err
	}
	if _, err := c.Sessions().Create(ctx, client.SessionOptions{Name: "dashboard"}); err != nil {
		return err
	}
	held, stop := context.WithCancel(ctx)
	x.atEnd(func() { stop(); c.Close() })
	go func() {
		for held.Err() == nil {
			grant, err := c.Leases().Grant(held, "dashboard", client.LeaseOptions{TTL: 20 * time.Second})
			cluster.Pause(held, 10*time.Second)
			if err == nil {
				_ = c.Leases().Release(held, grant)
			}
		}
	}()
	x.backups.Store(true)
	if err := x.backUp(ctx); err != nil {
		return err
	}
	go func() {
		for held.Err() == nil {
			cluster.Pause(held, daySeconds*time.Second/2)
			if x.backups.Load() {
				_ = x.backUp(held) // a fault may be in its way
			}
		}
	}()
	return x.quota(ctx, 100*loadKeys)
}

// backUp makes a backup in the place of the one before.
func (x *plain) backUp(ctx context.Context) error {
	file := filepath.Join(x.dir, "backup")
	_ = os.Remove(file)
	return x.ctl(ctx, "backup", "create", file)
}

// quota bounds the keys of the load.
func (x *plain) quota(ctx context.Context, keys int) error {
	return x.ctl(ctx, "quota", "set", loadPrefix, "--bytes", "100MiB", "--keys", fmt.Sprint(keys))
}

// healthy watches the cluster while nothing is wrong, and then asks every query of the dashboard.
func (x *plain) healthy(ctx context.Context) error {
	for end := time.Now().Add(x.health); time.Now().Before(end); cluster.Pause(ctx, lookEvery) {
		now, err := x.p.firing(ctx)
		if err != nil {
			return err
		}
		if len(now) > 0 {
			return fmt.Errorf("in health there fires %s", strings.Join(now, ", "))
		}
	}
	n, err := x.p.dashboard(ctx)
	if err != nil {
		return err
	}
	x.say("nothing fired in %v of health, and all %d queries of the dashboard have data", x.health, n)
	return ctx.Err()
}

// nodes are faults of nodes and of copies.
func (x *plain) nodes() []fault {
	var master, follower *cluster.Node
	roles := func(ctx context.Context) (err error) { master, follower, err = x.roles(ctx); return err }
	back := func(ctx context.Context) error { return x.c.Start(ctx) }
	away := x.archive + ".away"
	return []fault{
		{says: "a follower is killed", alerts: []string{"TenureNodeDown", "TenureBareMajority"}, mend: back,
			begin: func(ctx context.Context) error {
				if err := roles(ctx); err != nil {
					return err
				}
				return follower.Kill()
			}},
		{says: "a follower and the master are killed, and clients go on",
			alerts: []string{"TenureNoMaster", "TenureRequestsFail", "TenureArchiveStopped"}, mend: back,
			begin: func(ctx context.Context) error {
				if err := roles(ctx); err != nil {
					return err
				}
				if err := follower.Kill(); err != nil {
					return err
				}
				return master.Kill()
			}},
		{says: "the master hands over six times", alerts: []string{"TenureMasterChangesOften"},
			begin: func(ctx context.Context) error {
				return repeat(6, func() error { return x.ctl(ctx, "master", "transfer") })
			}},
		{says: "a node is restarted five times", alerts: []string{"TenureNodeRestartsOften"},
			begin: func(ctx context.Context) error {
				if err := roles(ctx); err != nil {
					return err
				}
				return repeat(5, func() error {
					if err := follower.Terminate(10 * time.Second); err != nil {
						return err
					}
					defer cluster.Pause(ctx, time.Second) // so that each start is scraped
					return x.c.Start(ctx)
				})
			}},
		{says: "the archive's directory is away, and nobody makes a backup",
			alerts: []string{"TenureArchiveFailing", "TenureArchiveBehind", "TenureArchiveNotVerified", "TenureBackupOld"},
			begin: func(context.Context) error {
				x.backups.Store(false)
				return os.Rename(x.archive, away)
			},
			mend: func(ctx context.Context) error {
				x.backups.Store(true)
				if err := os.RemoveAll(x.archive); err != nil { // it may have been made anew
					return err
				}
				if err := os.Rename(away, x.archive); err != nil {
					return err
				}
				return x.backUp(ctx)
			}},
	}
}

// clients are faults of clients; the last one fills the disk.
func (x *plain) clients() []fault {
	return []fault{
		{says: "the quota of a prefix is lowered to just above its use", alerts: []string{"TenureQuotaNearlyUsed"},
			begin: func(ctx context.Context) error { return x.quota(ctx, loadKeys+50) },
			mend:  func(ctx context.Context) error { return x.quota(ctx, 100*loadKeys) }},
		{says: "clients send without a pause", alerts: []string{"TenureClientsRefused"},
			begin:  func(context.Context) error { return nil },
			during: func(ctx context.Context) error { return x.burst(ctx, 64, 100, 10) }},
		{says: "the quota of the disk is filled", alerts: []string{"TenureDiskFull"},
			begin:  func(context.Context) error { return nil },
			during: func(ctx context.Context) error { return x.burst(ctx, 16, 100_000, 16<<10) },
			mend:   func(ctx context.Context) error { return x.ctl(ctx, "prune", "burst/") }},
	}
}

// repeat calls f n times, a second apart.
func repeat(n int, f func() error) error {
	for range n {
		if err := f(); err != nil {
			return err
		}
		time.Sleep(time.Second)
	}
	return nil
}
