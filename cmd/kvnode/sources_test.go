package main

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"github.com/spf13/pflag"

	"tenure/server"
)

func TestPrecedence(t *testing.T) {
	const toml, yaml, none = "lease-time = \"300ms\"\n", "lease-time: 300ms\n", ""
	for name, c := range map[string]struct {
		args []string
		env  []string
		file string // of n.toml and n.yaml both, each in its own syntax; "" is no file
		want time.Duration
	}{
		"default":          {nil, nil, none, 500 * time.Millisecond},
		"file":             {nil, nil, toml, 300 * time.Millisecond},
		"env over default": {nil, []string{"KVNODE_LEASE_TIME=200ms"}, none, 200 * time.Millisecond},
		"env over file":    {nil, []string{"KVNODE_LEASE_TIME=200ms"}, toml, 200 * time.Millisecond},
		"flag over env": {[]string{"--lease-time", "100ms"}, []string{"KVNODE_LEASE_TIME=200ms"}, none,
			100 * time.Millisecond},
		"flag over all": {[]string{"--lease-time", "100ms"}, []string{"KVNODE_LEASE_TIME=200ms"}, toml,
			100 * time.Millisecond},
		"flag at its default": {[]string{"--lease-time", "500ms"}, []string{"KVNODE_LEASE_TIME=200ms"}, toml,
			500 * time.Millisecond},
		"overridden nonsense": {[]string{"--lease-time", "100ms"}, []string{"KVNODE_LEASE_TIME=soon"}, toml,
			100 * time.Millisecond},
	} {
		t.Run(name, func(t *testing.T) {
			inEmptyDir(t, map[string]string{"n.toml": toml, "n.yaml": yaml})
			kinds := [][]string{nil}
			if c.file != none {
				kinds = [][]string{{"--config", "n.toml"}, {"--config=n.yaml"}}
			}
			for _, kind := range kinds {
				o := command(t, nil, c.env, append(kind, c.args...)...)
				if o.config == nil || o.config.LeaseTime != c.want {
					t.Errorf("%v: %+v", kind, o)
				}
			}
		})
	}
}

func TestEverySettingFromEverySource(t *testing.T) {
	values := map[string]string{
		"id": "2", "cluster": "2=127.0.0.1:8301,1=127.0.0.1:8300", "data": "./d/", "client": "0.0.0.0:80",
		"peer":       ":81",
		"lease-time": "1s", "max-lease-time": "1m", "clock-drift": "0.5%", "lease-margin": "20ms",
		"max-value-bytes": "1MiB", "quota-bytes": "10GiB", "admin": "127.0.0.1:82", "log-level": "warn",
		"log-format": "console", "insecure": "true", "guardian": "false", "session-ttl-min": "2s",
		"watch-history-bytes": "64KiB", "max-leases": "1234", "batch-scheduling": "false", "adapt-processors": "false",
		"realtime": "true", "monitor-slack": "1ms",
		"node-name": "rack 7",
	}
	want := server.Config{
		Node: 2, NodeName: "rack 7",
		Cluster: []server.Address{{Node: 1, Addr: "127.0.0.1:8300"}, {Node: 2, Addr: "127.0.0.1:8301"}},
		Data:    "d", ClientAddr: "0.0.0.0:80", PeerAddr: ":81", AdminAddr: "127.0.0.1:82",
		LeaseTime: time.Second, MaxLeaseTime: time.Minute, ClockDriftPPM: 5000, LeaseMargin: 20 * time.Millisecond,
		MaxValueBytes: 1 << 20, QuotaBytes: 10 << 30, Insecure: true, SessionTTLMin: 2 * time.Second,
		WatchHistoryBytes: 64 << 10, MaxLeases: 1234,
		NoGuardian: "switched off by --guardian=false",
	}
	var args, env []string
	toml, yaml := "", ""
	newSettings().flags.VisitAll(func(f *pflag.Flag) {
		v, ok := values[f.Name]
		if !ok && f.Name != "config" {
			t.Errorf("no value for %s in this test", f.Name)
		}
		if f.Name == "config" {
			return
		}
		args = append(args, "--"+f.Name+"="+v)
		env = append(env, envName(f.Name)+"="+v)
		toml += f.Name + " = \"" + v + "\"\n"
		yaml += f.Name + ": \"" + v + "\"\n"
	})
	inEmptyDir(t, map[string]string{"n.toml": toml, "n.yml": yaml})
	for name, o := range map[string]outcome{
		"flags": command(t, nil, nil, args...),
		"env":   command(t, nil, env),
		"toml":  command(t, nil, nil, "--config", "n.toml"),
		"yaml":  command(t, nil, []string{"KVNODE_CONFIG=n.yml"}),
	} {
		if o.config == nil {
			t.Errorf("%s: %s", name, o.stderr)
			continue
		}
		if d := cmp.Diff(want, *o.config,
			cmpopts.IgnoreFields(server.Config{}, "Logger", "Version", "Revision")); d != "" {
			t.Errorf("%s: %s", name, d)
		}
	}
}

func TestFilesMayHoldBareScalarsAndLists(t *testing.T) {
	inEmptyDir(t, map[string]string{
		"n.toml": "id = 2\nclock-drift = 0.02\ninsecure = true\nquota-bytes = 1000\ncluster = [\"1=h:1\", " +
			"\"2=h:2\"]\npeer = \":2\"\n",
		"n.yaml": "id: 2\nclock-drift: 0.02\ninsecure: true\nquota-bytes: 1000\ncluster:\n- 1=h:1\n- 2=h:2\npeer: " +
			"':2'\n",
		"e.yaml": "",
	})
	for _, name := range []string{"n.toml", "n.yaml"} {
		o := command(t, nil, nil, "--config", name)
		if c := o.config; c == nil || c.Node != 2 || c.ClockDriftPPM != 20000 || !c.Insecure || c.QuotaBytes != 1000 ||
			len(c.Cluster) != 2 {
			t.Errorf("%s: %+v", name, o)
		}
	}
	if o := command(t, nil, nil, "--config", "e.yaml"); o.config == nil {
		t.Errorf("empty file: %s", o.stderr)
	}
}

func TestDefaultsOfPeerAndCluster(t *testing.T) {
	inEmptyDir(t, nil)
	three := "1=127.0.0.1:8300,2=127.0.0.1:8301,3=127.0.0.1:8302"
	for name, c := range map[string]struct {
		args []string
		peer string
		own  string // own address in the list
	}{
		"alone":                 {nil, "", "127.0.0.1:8300"},
		"alone with a listener": {[]string{"--peer", "127.0.0.1:9"}, "127.0.0.1:9", "127.0.0.1:9"},
		"alone with another id": {[]string{"--id", "7", "--cluster", "7=127.0.0.1:9"}, "", "127.0.0.1:9"},
		"three":                 {[]string{"--cluster", three, "--id", "2"}, "127.0.0.1:8301", "127.0.0.1:8301"},
		"three, elsewhere": {[]string{"--cluster", three, "--id", "2", "--peer", "127.0.0.1:9"}, "127.0.0.1:9",
			"127.0.0.1:8301"},
	} {
		o := command(t, nil, nil, c.args...)
		if o.config == nil {
			t.Errorf("%s: %s", name, o.stderr)
			continue
		}
		own := ""
		for _, a := range o.config.Cluster {
			if a.Node == o.config.Node {
				own = a.Addr
			}
		}
		if o.config.PeerAddr != c.peer || own != c.own || o.config.Data != "kvnode-data" ||
			o.config.ClientAddr != defaultClient {
			t.Errorf("%s: %+v", name, o.config)
		}
	}
}
