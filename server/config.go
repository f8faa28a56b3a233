package server

import (
	"time"

	"github.com/rs/zerolog"

	"tenure/internal/ballot"
)

// Address is where a member of the static list listens for its peers.
type Address struct {
	Node ballot.NodeID
	Addr string // host:port
}

// Config is fixed for a run of a node. See api.md's section on kvnode for the flags that fill it.
type Config struct {
	Node          ballot.NodeID
	Cluster       []Address // the static list, with this node in it; one entry founds itself
	Data          string    // data directory, created if missing
	ClientAddr    string    // HTTP
	PeerAddr      string    // peers; may be empty for a cluster of one
	AdminAddr     string    // pprof; empty is off
	LeaseTime     time.Duration
	MaxLeaseTime  time.Duration
	ClockDriftPPM int64 // ρ in parts per million
	LeaseMargin   time.Duration
	MaxValueBytes int
	QuotaBytes    int64 // 0: none
	Insecure      bool  // listeners beyond loopback are allowed
	Version       string
	Logger        zerolog.Logger
}
