package server

import (
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/rs/zerolog"
)

// A port that is taken is told by its flag and address. The empty data directory stays empty, and the ports that were
// free are free again.
func TestATakenPortLeavesAnEmptyDirectory(t *testing.T) {
	for name, flag := range map[string]string{"clients": "--client", "peers": "--peer", "admin": "--admin"} {
		t.Run(name, func(t *testing.T) {
			taken, err := net.Listen("tcp", "127.0.0.1:0")
			if err != nil {
				t.Fatal(err)
			}
			defer taken.Close()
			cfg := Config{
				Node: 1, Cluster: listOf(1, 2, 3), Data: filepath.Join(t.TempDir(), "data"),
				ClientAddr: freeAddr(t), PeerAddr: freeAddr(t), AdminAddr: freeAddr(t), LeaseTime: time.Second,
				MaxLeaseTime: time.Second, ClockDriftPPM: 10_000, MaxValueBytes: 1 << 20, Logger: zerolog.Nop(),
			}
			if err := os.Mkdir(cfg.Data, 0o700); err != nil {
				t.Fatal(err)
			}
			ports := map[string]*string{"clients": &cfg.ClientAddr, "peers": &cfg.PeerAddr, "admin": &cfg.AdminAddr}
			*ports[name] = taken.Addr().String()
			err = Run(t.Context(), cfg)
			if err == nil || !strings.Contains(err.Error(), flag) || !strings.Contains(err.Error(), taken.Addr().String()) {
				t.Errorf("the error is %v, want %s and %s", err, flag, taken.Addr())
			}
			files, err := os.ReadDir(cfg.Data)
			if err != nil || len(files) != 0 {
				t.Errorf("the directory has %v, %v", files, err)
			}
			for other, addr := range ports {
				if other == name {
					continue
				}
				l, err := net.Listen("tcp", *addr)
				if err != nil {
					t.Errorf("the port of %s was not closed: %v", other, err)
					continue
				}
				_ = l.Close()
			}
		})
	}
}
