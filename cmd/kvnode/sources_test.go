package main

import (
	"crypto/tls"
	"errors"
	"maps"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"github.com/spf13/pflag"

	"tenure/internal/ballot"
	"tenure/internal/certs"
	"tenure/internal/ident"
	"tenure/server"
	"tenure/server/admission"
	"tenure/server/archive"
	"tenure/server/audit"
	"tenure/storage"
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
		"max-value-bytes": "1MiB", "quota-bytes": "10GiB", "admin": "127.0.0.1:82", "redis": "127.0.0.1:83", "redis-flush": "true", "health": ":84", "log-level": "warn",
		"log-format": "text", "insecure": "true", "guardian": "false", "slow-request": "90ms", "session-ttl-min": "2s",
		"watch-history-bytes": "64KiB", "max-leases": "1234", "batch-scheduling": "false", "adapt-processors": "false",
		"realtime": "true", "monitor-slack": "1ms",
		"node-name": "rack 7", "advertise-peer": "peer.example:81", "advertise-client": "client.example:80",
		"archive": "backups", "archive-full-every": "2d", "archive-keep": "90d", "archive-identity": "",
		"archive-recipient":    "age1ql3z7hjy54pw3hyww5ayyfg7zqgvc7w3j2elw8zmrj2kg5sfn9aqmcac8p",
		"archive-verify-every": "36h",
		"join":                 "", "replace": "", "non-voter": "false", "spare": "false", "replace-after": "0",
		"rejoin":        "true",
		"upgrade-after": "7h", "stop-wait": "3s", "allowed-hosts": "kv.example.com,kv1",
		"tls-cert": "/c", "tls-key": "/k", "tls-ca": "/a", "peer-tls-cert": "/pc", "peer-tls-key": "/pk", "peer-tls-ca": "/pa",
		"max-connections": "1000", "max-connections-per-source": "100", "max-requests": "900", "max-requests-per-source": "90",
		"reserved-for-operators": "30", "max-waiting": "800", "max-waiting-per-client": "80", "limit-loopback": "true",
		"request-rate-mode": "enforcing", "request-rate": "70", "request-burst": "700", "max-header-bytes": "32KiB",
		"header-timeout": "3s", "body-timeout": "4s",
		"tls-min-version": "1.2", "tls-client-ca": "/ca", "tls-require-client-cert": "true", "tls-crl": "/crl",
		"acl": "true", "audit": "/audit", "audit-file-bytes": "1MiB", "audit-keep": "3",
	}
	want := server.Config{
		Node: 2, NodeName: "rack 7",
		Cluster: []server.Address{{Node: 1, Addr: "127.0.0.1:8300"}, {Node: 2, Addr: "127.0.0.1:8301"}},
		Data:    "d", ClientAddr: "0.0.0.0:80", PeerAddr: ":81", AdminAddr: "127.0.0.1:82", RedisAddr: "127.0.0.1:83",
		RedisFlush: true, HealthAddr: "127.0.0.1:84",
		FounderWait: server.FounderWait,
		LeaseTime:   time.Second, MaxLeaseTime: time.Minute, ClockDriftPPM: 5000, LeaseMargin: 20 * time.Millisecond,
		MaxValueBytes: 1 << 20, QuotaBytes: 10 << 30, Insecure: true, SlowRequest: 90 * time.Millisecond, SessionTTLMin: 2 * time.Second,
		AllowedHosts: []string{"kv.example.com", "kv1"},
		Limits: server.Limits{Limits: admission.Limits{Conns: 1000, ConnsPerSource: 100, Requests: 900, RequestsPerSource: 90,
			Reserved: 30, WaitingPerClient: 80, Loopback: true,
			Rate: admission.Rate{Mode: admission.Enforcing, PerSecond: 70, Burst: 700}},
			MaxWaiting: 800, MaxHeaderBytes: 32 << 10, HeaderTimeout: 3 * time.Second, BodyTimeout: 4 * time.Second},
		WatchHistoryBytes: 64 << 10, MaxLeases: 1234,
		Rejoin:     true,
		NoGuardian: "switched off by --guardian=false", PeerAdvertise: "peer.example:81",
		ClientAdvertise: "client.example:80", UpgradeAfter: 7 * time.Hour, StopWait: 3 * time.Second,
		TLS: server.TLS{Clients: certs.Paths{Cert: "/c", Key: "/k"}, Peers: certs.Paths{Cert: "/pc", Key: "/pk", CA: "/pa"},
			MinVersion: tls.VersionTLS12, ClientCA: "/ca", ClientCertRequired: true, CRL: "/crl"},
		ACL: true, Audit: audit.Config{Path: "/audit", FileBytes: 1 << 20, Keep: 3},
		Archive: server.Archive{Schedule: archive.Schedule{FullEvery: 48 * time.Hour, Keep: 90 * 24 * time.Hour,
			VerifyEvery: 36 * time.Hour}},
	}
	newSettings().flags.VisitAll(func(f *pflag.Flag) {
		if _, ok := values[f.Name]; !ok && f.Name != "config" {
			t.Errorf("no value for %s in this test", f.Name)
		}
	})
	fromEverySource(t, values, want)

	maps.DeleteFunc(values, func(name, _ string) bool { return name == "id" || name == "cluster" })
	want.Node, want.Cluster = 0, nil
	values["rejoin"], want.Rejoin = "false", false
	values["join"], want.Join = "member.example:8300", "member.example:8300"
	values["replace"], want.Replace = "rack 6", "rack 6"
	fromEverySource(t, values, want)
	values["replace"], want.Replace = "", ""
	values["non-voter"], want.NonVoter = "true", true
	fromEverySource(t, values, want)
	values["non-voter"], want.NonVoter = "false", false
	values["spare"], want.Spare = "true", true
	values["replace-after"], want.ReplaceAfter = "10m", 10*time.Minute
	fromEverySource(t, values, want)
}

// fromEverySource gives the values as flags, as variables and in files of both kinds.
func fromEverySource(t *testing.T, values map[string]string, want server.Config) {
	t.Helper()
	var args, env []string
	toml, yaml := "", ""
	newSettings().flags.VisitAll(func(f *pflag.Flag) {
		v, ok := values[f.Name]
		if !ok {
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
		if x := o.config.Archive.Target; x == nil || filepath.Base(x.String()) != values["archive"] {
			t.Errorf("%s: an archive in %v", name, x)
		}
		if d := cmp.Diff(want, *o.config, cmpopts.IgnoreFields(server.Archive{}, "Target"),
			cmpopts.IgnoreFields(server.Config{}, "Logger", "Version", "Revision", "Reload", "Told", "Settings")); d != "" {
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
		wait time.Duration
	}{
		"alone":                 {nil, "127.0.0.1:8300", "127.0.0.1:8300", 0},
		"alone with a listener": {[]string{"--peer", "127.0.0.1:9"}, "127.0.0.1:9", "127.0.0.1:9", server.FounderWait},
		"alone with another id": {[]string{"--id", "7", "--cluster", "7=127.0.0.1:9"}, "127.0.0.1:9", "127.0.0.1:9", 0},
		"alone beyond loopback": {[]string{"--id", "7", "--cluster", "7=10.0.0.7:9"}, "", "10.0.0.7:9", 0},
		"alone, needed else":    {[]string{"--admin", "127.0.0.1:8300"}, "", "127.0.0.1:8300", 0},
		"three": {[]string{"--cluster", three, "--id", "2"}, "127.0.0.1:8301", "127.0.0.1:8301",
			server.FounderWait},
		"three, elsewhere": {[]string{"--cluster", three, "--id", "2", "--peer", "127.0.0.1:9"}, "127.0.0.1:9",
			"127.0.0.1:8301", server.FounderWait},
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
			o.config.ClientAddr != defaultClient || o.config.FounderWait != c.wait {
			t.Errorf("%s: %+v", name, o.config)
		}
	}
}

func TestAdvertisedAddresses(t *testing.T) {
	inEmptyDir(t, nil)
	for args, want := range map[string]string{
		"": "",
		"--client 0.0.0.0:80 --insecure --id 2 --cluster 1=a:1,2=b:1 --peer :1":                    "b:80",
		"--client :80 --insecure --id 2 --cluster 1=a:1,2=b:1 --peer :1 --advertise-peer c:9":      "c:80",
		"--client [::]:80 --insecure --join m:1 --peer :1 --advertise-peer [::1]:9":                "[::1]:80",
		"--client :80 --insecure --join m:1 --peer :1 --advertise-peer c:9 --advertise-client d:7": "d:7",
		"--client 10.0.0.1:80 --insecure --join m:1 --peer :1 --advertise-peer c:9":                "",
	} {
		o := command(t, nil, nil, strings.Fields(args)...)
		if o.config == nil || o.config.ClientAdvertise != want {
			t.Errorf("%s: %+v, want %q", args, o, want)
		}
	}
}

// TestTheDirectorySaysWhichNodeItIs starts nodes without --id and --cluster.
func TestTheDirectorySaysWhichNodeItIs(t *testing.T) {
	for name, c := range map[string]struct {
		members []ballot.NodeID
		number  uint64
		args    string
		want    server.Config
		text    string
	}{
		"alone": {[]ballot.NodeID{1}, 1, "", server.Config{Node: 1, PeerAddr: defaultPeer,
			Cluster: listed("1=" + defaultPeer)}, ""},
		"alone, another number": {[]ballot.NodeID{7}, 1, "", server.Config{Node: 7, PeerAddr: defaultPeer,
			Cluster: listed("7=" + defaultPeer)}, ""},
		"alone, about to be joined": {[]ballot.NodeID{1}, 1, "--peer 127.0.0.1:9", server.Config{Node: 1,
			PeerAddr: "127.0.0.1:9", Cluster: listed("1=127.0.0.1:9")}, ""},
		"of three": {[]ballot.NodeID{3, 4, 5}, 1, "", server.Config{Node: 3, PeerAddr: defaultPeer}, ""},
		"of three, with its id": {[]ballot.NodeID{3, 4, 5}, 1, "--id 3",
			server.Config{Node: 3, PeerAddr: defaultPeer}, ""},
		"left over": {[]ballot.NodeID{3}, 9, "--peer 127.0.0.1:9", server.Config{Node: 3, PeerAddr: "127.0.0.1:9"}, ""},
		"joined":    {[]ballot.NodeID{4, 5}, 3, "--join m:1", server.Config{Node: 4, PeerAddr: defaultPeer, Join: "m:1"}, ""},
		"with hints": {[]ballot.NodeID{4, 5}, 3, "--cluster 4=127.0.0.1:4,9=h:9", server.Config{Node: 4,
			PeerAddr: "127.0.0.1:4", Cluster: listed("4=127.0.0.1:4,9=h:9")}, ""},
		"with hints for others": {[]ballot.NodeID{4, 5}, 3, "--cluster 5=h:1,9=h:9", server.Config{},
			"--cluster: lists 5, 9, but ./kvnode-data is the data directory of node 4; add 4=HOST:PORT to the list, or " +
				"leave it out"},
	} {
		inEmptyDir(t, nil)
		formed(t, "kvnode-data", c.number, c.members...)
		o := command(t, nil, nil, strings.Fields(c.args)...)
		if c.text != "" {
			if o.code != exitConfig || o.stderr != "kvnode: "+c.text+"\n" {
				t.Errorf("%s: %+v", name, o)
			}
			continue
		}
		if o.config == nil {
			t.Errorf("%s: %s", name, o.stderr)
			continue
		}
		got := server.Config{Node: o.config.Node, Cluster: o.config.Cluster, PeerAddr: o.config.PeerAddr,
			Join: o.config.Join}
		if d := cmp.Diff(c.want, got, cmpopts.IgnoreFields(server.Config{}, "Logger")); d != "" {
			t.Errorf("%s: %s", name, d)
		}
	}
}

func listed(s string) []server.Address {
	list, err := parseCluster(s)
	if err != nil {
		panic(err)
	}
	return list
}

// formed makes the data directory of the first of the members.
func formed(t *testing.T, dir string, number uint64, members ...ballot.NodeID) {
	t.Helper()
	s, err := storage.Open(dir, storage.Options{LogInitialBytes: 64 << 10, JournalBytes: 64 << 10})
	if err != nil {
		t.Fatal(err)
	}
	m := ident.Membership{Number: 1}
	for i, id := range members {
		x := ident.Member{Node: id, Store: s.Identity().Store}
		if i > 0 {
			x.Store[0]++
		}
		m.Members = append(m.Members, x)
	}
	err = errors.Join(s.SetNode(members[0]), s.Found(ident.ClusterID{1}, m))
	if m.Number = number; number > 1 && err == nil {
		err = s.SetMembership(m)
	}
	if err := errors.Join(err, s.Close()); err != nil {
		t.Fatal(err)
	}
}

// Others set variables too: whoever starts the node, to nothing, and Kubernetes for each Service of the name kvnode.
func TestVariablesOfOthers(t *testing.T) {
	inEmptyDir(t, nil)
	for _, c := range []struct {
		environ string
		text    string // in the error, if it is one
	}{
		{environ: "KVNODE_CLUSTER= KVNODE_LEASE_TIME= KVNODE_ACL= KVNODE_NO_SUCH="},
		{environ: "KVNODE_SERVICE_HOST=10.96.0.7 KVNODE_SERVICE_PORT=8500 KVNODE_SERVICE_PORT_HTTP=8500 " +
			"KVNODE_PORT=tcp://10.96.0.7:8500 KVNODE_PORT_8500_TCP=tcp://10.96.0.7:8500 KVNODE_PORT_8500_TCP_PROTO=tcp " +
			"KVNODE_PORT_8500_TCP_PORT=8500 KVNODE_PORT_8500_TCP_ADDR=10.96.0.7"},
		{environ: "KVNODE_PEERS_SERVICE_HOST=10.96.0.8 KVNODE_PEERS_PORT=udp://10.96.0.8:8300"}, // of kvnode-peers
		{environ: "KVNODE_PORT=8500", text: "KVNODE_PORT"},
		{environ: "KVNODE_LEASETIME=1s", text: "KVNODE_LEASE_TIME"},
	} {
		o := command(t, nil, strings.Fields(c.environ))
		switch {
		case c.text != "":
			if o.code != exitConfig || !strings.Contains(o.stderr, c.text) {
				t.Errorf("%s: %+v", c.environ, o)
			}
		case o.code != 0 || o.config == nil || o.config.LeaseTime != 500*time.Millisecond:
			t.Errorf("%s: %+v", c.environ, o)
		case strings.Contains(c.environ, "10.96") &&
			(strings.Count(o.stderr, "\n") != 1 || !strings.Contains(o.stderr, strings.SplitN(c.environ, "=", 2)[0])):
			t.Errorf("%s is not told: %s", c.environ, o.stderr)
		}
	}
}

// The log gets what was given from any source and is no default, and no password.
func TestSettingsForTheLog(t *testing.T) {
	inEmptyDir(t, map[string]string{"kvnode.toml": "quota-bytes = \"1GiB\"\n"})
	o := command(t, nil, []string{"KVNODE_LEASE_TIME=1s", "KVNODE_CLOCK_DRIFT=1%"}, "--config", "kvnode.toml", "--client",
		defaultClient, "--insecure")
	if o.config == nil {
		t.Fatal(o.stderr)
	}
	want := map[string]string{"config": "kvnode.toml", "quota-bytes": "1GiB", "lease-time": "1s", "insecure": "true"}
	if d := cmp.Diff(want, o.config.Settings); d != "" {
		t.Error(d)
	}
	for text, want := range map[string]string{
		"s3://key:secret@bucket/x?region=eu": "s3://key:xxxxx@bucket/x?region=eu",
		"s3://bucket/x?region=eu":            "s3://bucket/x?region=eu",
		"1=a:1,2=b:2":                        "1=a:1,2=b:2",
	} {
		if got := withoutPassword(text); got != want {
			t.Errorf("%s: %s, want %s", text, got, want)
		}
	}
}
