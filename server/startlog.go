package server

import (
	"cmp"
	"path/filepath"
	"time"

	"github.com/rs/zerolog"

	"tenure/storage"
)

// logStart writes the line with which a node starts: all that tells one node of a machine, and one start of it, from
// another. A start that its data directory forbids is left to the error that says so.
func (c Config) logStart() {
	id, _, err := storage.ReadIdentity(c.Data)
	if err != nil || c.checkIdentity(id) != nil {
		return
	}
	cluster := "none yet"
	if id.Formed {
		cluster = id.Cluster.String()
	}
	line := c.Logger.Info().Str("version", c.Version).Str("revision", c.Revision).
		Uint64("node", uint64(cmp.Or(c.Node, id.Node))).Str("cluster", cluster).Str("data", c.absoluteData()).
		Str("client", c.ClientAddr).Str("peer", c.PeerAddr)
	c.otherAddresses(line).Any("settings", c.Settings).Msg("starting")
}

// otherAddresses adds to a line the addresses that not every node has.
func (c Config) otherAddresses(line *zerolog.Event) *zerolog.Event {
	for _, a := range []struct{ name, addr string }{
		{"advertise_peer", c.PeerAdvertise}, {"advertise_client", c.ClientAdvertise}, {"redis", c.RedisAddr},
		{"admin", c.AdminAddr}, {"health", c.HealthAddr},
	} {
		if a.addr != "" {
			line.Str(a.name, a.addr)
		}
	}
	return line
}

// logEnd writes the line with which a node that was told to stop ends, if it has done so in order.
func (c Config) logEnd(began time.Time) {
	id, _, _ := storage.ReadIdentity(c.Data) // only told; what cannot be read is seen at the next start
	c.Logger.Info().Str("version", c.Version).Uint64("node", uint64(cmp.Or(c.Node, id.Node))).
		Stringer("cluster", id.Cluster).Str("data", c.absoluteData()).Dur("uptime_ms", time.Since(began)).
		Msg("stopped in order")
}

// logFounded warns that this run has founded an empty cluster: the operator may have mistyped --data.
func (n *node) logFounded() {
	n.log.Warn().Stringer("cluster", n.store.Identity().Cluster).Str("data", n.cfg.absoluteData()).
		Msg("FOUNDED A NEW, EMPTY CLUSTER in " + n.cfg.absoluteData() + ": if this node has data elsewhere, stop it, and " +
			"start it with that directory as --data")
}

// absoluteData returns the path of the data directory from the root, as far as that can be found out.
func (c Config) absoluteData() string {
	if path, err := filepath.Abs(c.Data); err == nil {
		return path
	}
	return c.Data
}
