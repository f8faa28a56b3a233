package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestBadConfiguration pins each message: one line with the problem and its remedy. The exit code is 78, the server is
// not called, and nothing is touched.
func TestBadConfiguration(t *testing.T) {
	two := "1=127.0.0.1:8300,2=127.0.0.1:8301"
	eight := "1=h:1,2=h:2,3=h:3,4=h:4,5=h:5,6=h:6,7=h:7,8=h:8"
	for _, c := range []struct {
		args, env, want string
	}{
		{"--bogus", "", "unknown flag: --bogus; see kvnode --help"},
		{"--leas-time 1s", "", "unknown flag: --leas-time; see kvnode --help; did you mean --lease-time?"},
		{"deev", "", `"deev" is not a command of kvnode; see kvnode --help; did you mean dev?`},
		{"--id 7", "", "--id 7: a node without --cluster runs alone, as node 1; list all nodes with --cluster, or " +
			"this one " +
			"only with --cluster 7=127.0.0.1:8300, or join a cluster with --join"},
		{"--peer 127.0.0.1:9", "KVNODE_ID=7",
			"KVNODE_ID 7: a node without --cluster runs alone, as node 1; list all nodes " +
				"with --cluster, or this one only with --cluster 7=127.0.0.1:9, or join a cluster with --join"},
		{"--id", "", "flag needs an argument: --id; see kvnode --help"},
		{"serve", "", `"serve" is not a command of kvnode; see kvnode --help`},
		{"", "KVNODE_LEASE=1s", "KVNODE_LEASE is not a setting; unset it, or see kvnode --help for the names; did " +
			"you mean KVNODE_LEASE_TIME or KVNODE_LEASE_MARGIN?"},
		{"", "KVNODE_lease_time=1s",
			"KVNODE_lease_time is not a setting; unset it, or see kvnode --help for the names; did you mean " +
				"KVNODE_LEASE_TIME?"},
		{"", "KVNODE_HELP=1", "KVNODE_HELP is not a setting; unset it, or see kvnode --help for the names"},
		{"", "KVNODE_ID=x", `KVNODE_ID: "x" is not a node id; use a number from 1 to 65535`},

		{"--rejoin", "", "--rejoin: is for a node that is started with --cluster; one that joins with --join takes a place " +
			"again with --replace"},
		{"--join h:1 --peer h:2 --client h:3", "KVNODE_REJOIN=true", "KVNODE_REJOIN: is for a node that is started with " +
			"--cluster; one that joins with --join takes a place again with --replace"},
		{"--id 0", "", `--id: "0" is not a node id; use a number from 1 to 65535`},
		{"--id 65536", "", `--id: "65536" is not a node id; use a number from 1 to 65535`},
		{"--cluster 127.0.0.1:8300", "",
			`--cluster: "127.0.0.1:8300" is not ID=HOST:PORT; write it like 1=10.0.0.1:8300,2=10.0.0.2:8300`},
		{"--cluster 1=h:8300,", "", `--cluster: "" is not ID=HOST:PORT; write it like 1=10.0.0.1:8300,2=10.0.0.2:8300`},
		{"--cluster 1=h", "", `--cluster: "h" is not HOST:PORT; write it like 127.0.0.1:8300 or [::1]:8300`},
		{"--cluster 1=h:x", "", `--cluster: "h:x" has no port number; use one from 1 to 65535, as in 127.0.0.1:8300`},
		{"--cluster 1=:8300", "",
			`--cluster: ":8300" is not an address that others can reach; give the host and the port of node 1`},
		{"--cluster 1=0.0.0.0:8300", "",
			`--cluster: "0.0.0.0:8300" is not an address that others can reach; give the host and the port of node 1`},
		{"--cluster 1=h:0", "", `--cluster: "h:0" is not an address that others can reach; give the host and the ` +
			`port of ` +
			`node 1`},
		{"--id 1 --cluster " + eight, "", "--cluster: lists 8 nodes; list at most 7"},
		{"--id 1 --cluster 1=h:1,1=h:2", "", "--cluster: lists node 1 twice; give each node its own number"},
		{"--id 1 --cluster 1=h:1,2=h:1", "", "--cluster: nodes 1 and 2 have the same address h:1; give each its own"},
		{"--cluster " + two, "", "--cluster: lists 2 nodes; say with --id which of them this one is"},
		{"--id 3", "KVNODE_CLUSTER=" + two,
			"--id 3: is not in KVNODE_CLUSTER, which lists 1, 2; add 3=HOST:PORT to it or use one of those"},
		{"--data=", "", "--data: is empty; name a directory"},

		{"--lease-time 5", "", `--lease-time: "5" is not a length of time; write it with its unit, like 500ms or 2s`},
		{"--lease-time -1s", "", `--lease-time: "-1s" is negative; use 0 or more`},
		{"--lease-time 20ms", "", "--lease-time 20ms: lease-time >= 50ms must hold; use 500ms"},
		{"--lease-time 31s", "", "--lease-time 31s: lease-time <= max-lease-time must hold, and --max-lease-time is " +
			"30s; lower the first or raise the second"},
		{"--max-lease-time 2h", "", "--max-lease-time 2h0m0s: max-lease-time <= 1h0m0s must hold; use 30s"},
		{"--session-ttl-min 1ms", "", "--session-ttl-min 1ms: 100ms <= session-ttl-min <= 24h0m0s must hold; use 10s"},
		{"--lease-margin 2m", "", "--lease-margin 2m0s: lease-margin <= 1m0s must hold; use 10ms"},
		{"--clock-drift 11%", "",
			`--clock-drift: "11%" is out of bounds: 0 <= drift <= 10% must hold; 1% suits every sound clock`},
		{"--clock-drift -0.01", "",
			`--clock-drift: "-0.01" is out of bounds: 0 <= drift <= 10% must hold; 1% suits every sound clock`},
		{"--clock-drift x", "", `--clock-drift: "x" is not a rate; write it like 0.01 or 1%`},

		{"--max-value-bytes 0", "", "--max-value-bytes 0: 1 <= max-value-bytes <= 16777216 must hold; use 512KiB"},
		{"--max-value-bytes 17MiB", "",
			"--max-value-bytes 17825792: 1 <= max-value-bytes <= 16777216 must hold; use 512KiB"},
		{"--max-connections 0", "", "--max-connections 0: 1 <= max-connections <= 1048576 must hold"},
		{"--max-requests 16385", "", "--max-requests 16385: 1 <= max-requests <= 16384 must hold"},
		{"--max-connections 100 --reserved-for-operators 51", "", "--reserved-for-operators 51: must be at most 50, half of " +
			"the smaller of max-connections and max-requests"},
		{"--request-rate-mode on", "", `--request-rate-mode: "on" is not a mode; use off, permissive or enforcing`},
		{"--request-rate 0", "", "--request-rate 0: 1 <= request-rate <= 1048576 must hold"},
		{"--max-header-bytes 1KiB", "", "--max-header-bytes 1024: 16384 <= max-header-bytes <= 1048576 must hold; use 64KiB"},
		{"--body-timeout 2m", "", "--body-timeout 2m0s: 0 < body-timeout <= 1m0s must hold"},
		{"--max-leases 0", "", "--max-leases 0: 1 <= max-leases <= 268435456 must hold; use 2000000"},
		{"--max-leases many", "", `--max-leases: "many" is not a whole number; write it like 3`},
		{"--watch-history-bytes 65535", "",
			"--watch-history-bytes 65535: 65536 <= watch-history-bytes <= 1073741824 must hold; use 4MiB"},
		{"", "KVNODE_WATCH_HISTORY_BYTES=2GiB",
			"KVNODE_WATCH_HISTORY_BYTES 2147483648: 65536 <= watch-history-bytes <= 1073741824 must hold; use 4MiB"},
		{"--quota-bytes 10Gig", "", `--quota-bytes: "10Gig" is not a size; write it like 1048576, 512KiB or 10GiB`},
		{"--quota-bytes 9999999TiB", "",
			`--quota-bytes: "9999999TiB" is not a size; write it like 1048576, 512KiB or 10GiB`},

		{"--client=", "", "--client: is empty; use 127.0.0.1:8500"},
		{"--client a\x1b:8500", "", `--client: "a\x1b:8500": "a\x1b" is no name of a host: one has letters, digits, dots, - and _`},
		{"--advertise-peer $(id):1", "", `--advertise-peer: "$(id):1": "$(id)" is no name of a host: one has letters, digits, dots, - and _`},
		{"--client 8500", "", `--client: "8500" is not HOST:PORT; write it like 127.0.0.1:8300 or [::1]:8300`},
		{"--client 127.0.0.1:8300 --peer 127.0.0.1:8300", "",
			"--peer 127.0.0.1:8300: is the address of --client too; give each its own"},
		{"--client 0.0.0.0:8500", "",
			"--client 0.0.0.0:8500: may be reachable from other machines, and whoever reaches it could read and write; " +
				"give --tls-cert, --tls-key and --acl, use a loopback address, or accept it with --insecure"},
		{"--client :8500 --acl", "", "--client :8500: may be reachable from other machines, and tokens could be read on " +
			"the way; give --tls-cert and --tls-key, use a loopback address, or accept it with --insecure"},
		{"--audit-keep 3", "", "--audit-keep: it is about a file; name one with --audit FILE"},
		{"--audit - --audit-file-bytes 1MiB", "", "--audit-file-bytes: it is about a file; name one with --audit FILE"},
		{"--audit a --audit-file-bytes 1KiB", "", "--audit: files of 1024 bytes: must be at least 65536"},
		{"--audit a", "KVNODE_AUDIT_KEEP=10001", "--audit: 10001 old files: must be from 0 to 10000"},
		{"--admin 10.0.0.1:1", "",
			"--admin 10.0.0.1:1: may be reachable from other machines, and there is no TLS; use a loopback address, " +
				"or accept it with --insecure"},
		{"--redis 10.0.0.1:1 --tls-cert c --tls-key k --tls-client-ca a --tls-require-client-cert", "",
			"--redis 10.0.0.1:1: may be reachable from other machines, and whoever reaches it could read and write; " +
				"give --acl, use a loopback address, or accept it with --insecure"},
		{"--redis 10.0.0.1:1 --acl", "",
			"--redis 10.0.0.1:1: may be reachable from other machines, and tokens could be read on the way; " +
				"give --tls-cert and --tls-key, use a loopback address, or accept it with --insecure"},
		{"--id 1 --cluster 1=10.0.0.1:1,2=10.0.0.2:1", "",
			"this node's address in --cluster 10.0.0.1:1: may be reachable from other machines, and there is no TLS; " +
				"give --tls-cert, --tls-key and --tls-ca, use a loopback address, or accept it with --insecure"},
		{"--join 8300", "", `--join: "8300" is not HOST:PORT; write it like 127.0.0.1:8300 or [::1]:8300`},
		{"--join 0.0.0.0:8300", "",
			`--join: "0.0.0.0:8300" is not an address that others can reach; give a host and a port, like 10.0.0.1:8300`},
		{"--join 127.0.0.1:8300", "", "--join 127.0.0.1:8300: is this node's own address; give that of a member"},
		{"--join m:1 --advertise-peer m:1", "KVNODE_PEER=127.0.0.1:1",
			"--join m:1: is this node's own address; give that of a member"},
		{"--join m:1 --cluster 1=h:1", "", "--join: excludes --cluster, since the cluster tells a node that joins who " +
			"its members are; leave out one of them"},
		{"--join m:1", "KVNODE_ID=4", "--join: the cluster gives a node that joins its id; leave out KVNODE_ID"},
		{"--replace node-2", "", "--replace: says as what a node joins a cluster; give a member's address with --join"},
		{"", "KVNODE_SPARE=true", "KVNODE_SPARE: says as what a node joins a cluster; give a member's address with --join"},
		{"--non-voter", "", "--non-voter: says as what a node joins a cluster; give a member's address with --join"},
		{"--join m:1 --replace node-2 --non-voter", "",
			"--replace: makes this node a voter, and --non-voter does not; leave out one of them"},
		{"--join m:1 --replace node-2 --spare", "",
			"--replace: makes this node a voter, and --spare does not; leave out one of them"},
		{"--join m:1 --spare --non-voter", "", "--spare: is a non-voter already; leave out --non-voter"},
		{"--join m:1 --replace-after 1m", "", "--replace-after: is for a spare; add --spare"},
		{"--join m:1 --spare --replace-after 10ms", "",
			"--replace-after 10ms: 1s <= replace-after <= 720h0m0s must hold, or 0 for never; use 10m"},
		{"--join m:1 --peer :8300 --insecure", "",
			"--peer :8300: others cannot reach a node there; say with --advertise-peer HOST:PORT where they can"},
		{"--join m:1 --peer 127.0.0.1:0", "",
			"--peer 127.0.0.1:0: others cannot reach a node there; say with --advertise-peer HOST:PORT where they can"},
		{"--join m:1 --client [::]:8500 --insecure", "",
			"--client [::]:8500: others cannot reach a node there; say with --advertise-client HOST:PORT where they can"},
		{"--join m:1 --peer 10.0.0.1:1", "",
			"--peer 10.0.0.1:1: may be reachable from other machines, and there is no TLS; give --tls-cert, --tls-key " +
				"and --tls-ca, use a loopback address, or accept it with --insecure"},
		{"--advertise-client :8500", "", `--advertise-client: ":8500" is not an address that others can reach; give ` +
			`a host and a port, like 10.0.0.1:8300`},
		{"--log-level loud", "", `--log-level: "loud" is not a level; use trace, debug, info, warn or error`},
		{"", "KVNODE_LOG_FORMAT=xml", `KVNODE_LOG_FORMAT: "xml" is not a format; use json or text`},
		{"--client 10.0.0.1:1 --tls-ca a --tls-cert c --tls-key k", "",
			"--client 10.0.0.1:1: may be reachable from other machines, and whoever reaches it could read and write; give " +
				"--acl, use a loopback address, or accept it with --insecure"},
		{"--tls-ca a --tls-cert c --tls-key k --admin 10.0.0.1:2", "",
			"--admin 10.0.0.1:2: may be reachable from other machines, and there is no TLS; use a loopback address, " +
				"or accept it with --insecure"},
		{"--tls-cert c --tls-key k --peer 10.0.0.1:2", "",
			"--peer 10.0.0.1:2: may be reachable from other machines, and there is no TLS; give --tls-cert, --tls-key " +
				"and --tls-ca, use a loopback address, or accept it with --insecure"},
		{"--tls-cert c", "", "--tls-cert: needs --tls-key too"},
		{"", "KVNODE_PEER_TLS_KEY=k", "KVNODE_PEER_TLS_KEY: needs --peer-tls-cert too"},
		{"--tls-ca a", "", "--tls-ca: nodes that speak TLS need a certificate; add --tls-cert and --tls-key"},
		{"--peer-tls-ca a", "", "--peer-tls-ca: nodes that speak TLS need a certificate; add --tls-cert and --tls-key"},
		{"--peer-tls-cert c --peer-tls-key k", "",
			"--peer-tls-cert: nodes that speak TLS need the authorities of the others; add --tls-ca or --peer-tls-ca"},
		{"--tls-client-ca a", "", "--tls-client-ca: needs TLS for clients; add --tls-cert and --tls-key"},
		{"--tls-cert c --tls-key k --tls-crl l", "",
			"--tls-crl: needs the authorities that have signed its lists; add --tls-ca or --tls-client-ca"},
		{"--health http", "", `--health: "http" is not HOST:PORT; write it like 127.0.0.1:8300 or [::1]:8300`},
		{"--health 10.0.0.1", "", `--health: "10.0.0.1" is not HOST:PORT; write it like 127.0.0.1:8300 or [::1]:8300`},
		{"--health 8500", "", "--health 127.0.0.1:8500: is the address of --client too; give each its own"},
		{"--tls-cert c --tls-key k --tls-require-client-cert", "",
			"--tls-require-client-cert: needs the authorities of clients; add --tls-client-ca"},
		{"--tls-min-version 1.1", "",
			`--tls-min-version: "1.1" is not a version of TLS that is spoken; use 1.3, or 1.2 for old clients`},
		{"--insecure=maybe", "", `--insecure: "maybe" is neither true nor false`},

		{"--config n.ini", "", "--config n.ini: has an unknown format; its name must end in .toml, .yaml or .yml"},
		{"--config none", "",
			"--config none: cannot be read (open none: no such file or directory); name a file that can"},
		{"--config none.ini", "",
			"--config none.ini: cannot be read (open none.ini: no such file or directory); name a file that can"},
		{"--config none.toml", "",
			"--config none.toml: cannot be read (open none.toml: no such file or directory); name a file that can"},
		{"--config unknown.toml", "",
			"lease in unknown.toml is not a setting; remove it, or see kvnode --help for the names; " +
				"did you mean lease-time or lease-margin?"},
		{"", "KVNODE_CONFIG=unknown.yaml",
			"Lease-Time in unknown.yaml is not a setting; remove it, or see kvnode --help for the names; " +
				"did you mean lease-time?"},
		{"--config self.toml", "",
			"config in self.toml is not a setting; remove it, or see kvnode --help for the names"},
		{"--config nested.yaml", "", "data in nested.yaml: is not a single value; write what the flag would be given"},
		{"--config value.yaml", "",
			`lease-time in value.yaml: "5" is not a length of time; write it with its unit, like 500ms or 2s`},

		{"dev --nodes 0", "", "--nodes 0: 1 <= nodes <= 7 must hold; use 3"},
		{"dev --nodes many", "", `--nodes: "many" is not a whole number; write it like 3`},
		{"dev --base-port 65535", "", "--base-port 65535: 3 nodes need ports from 1 to 65535; use a lower one"},
		{"dev --base-port 8302", "",
			"--base-port 8302 and --peer-base-port 8300: their 3 ports overlap; move one of them"},
		{"dev --redis --redis-base-port 8501", "",
			"--base-port 8500 and --redis-base-port 8501: their 3 ports overlap; move one of them"},
		{"dev -- --redis 127.0.0.1:6379", "", "--redis after --: is set by kvnode dev for each node; leave it out"},
		{"dev node", "", `"node": kvnode dev takes no arguments; put flags for the nodes after --`},
		{"dev -- --id=4", "", "--id after --: is set by kvnode dev for each node; leave it out"},
		{"dev -- --lease-time 20ms", "", "--lease-time 20ms: lease-time >= 50ms must hold; use 500ms"},
		{"dev", "KVNODE_X=1", "KVNODE_X is not a setting; unset it, or see kvnode --help for the names"},
	} {
		t.Run(c.args+" "+c.env, func(t *testing.T) {
			files := map[string]string{
				"unknown.toml": "lease = \"1s\"\n", "unknown.yaml": "Lease-Time: 1s\n",
				"self.toml":   "config = \"x.toml\"\n",
				"nested.yaml": "data:\n  dir: x\n", "value.yaml": "lease-time: 5\n", "n.ini": "",
			}
			inEmptyDir(t, files)
			o := command(t, nil, strings.Fields(c.env), strings.Fields(c.args)...)
			if o.code != exitConfig || o.stderr != "kvnode: "+c.want+"\n" || o.stdout != "" || o.config != nil {
				t.Errorf("exit code %d, standard error\n  %swant\n  kvnode: %s", o.code, o.stderr, c.want)
			}
			if left, _ := filepath.Glob("*"); len(left) != len(files) {
				t.Errorf("touched: %v", left)
			}
		})
	}
}

// TestFilesOfWindows: a byte order mark is taken off. UTF-16 is named, unless the format allows it.
func TestFilesOfWindows(t *testing.T) {
	inEmptyDir(t, map[string]string{
		"mark.toml": "\ufeffid = 7\r\n", "mark.yaml": "\ufeffid: 7\r\n", "wide.toml": "\xff\xfei\x00d\x00",
		"wide.yaml": "\xff\xfei\x00d\x00:\x00 \x007\x00", "wide2.yaml": "i\x00d\x00:\x00 \x007\x00",
	})
	for name, want := range map[string]string{"mark.toml": "", "mark.yaml": "", "wide.yaml": "", "wide.toml": "it is UTF-16",
		"wide2.yaml": "it is UTF-16"} {
		values, err := readFile(name)
		if want == "" && (err != nil || fmt.Sprint(values["id"]) != "7") || want != "" && (err == nil || !strings.Contains(err.Error(), want)) {
			t.Errorf("%s: %v %v, want %q", name, values, err, want)
		}
	}
}

// TestMalformedFilesAreOneLine leaves the wording to the decoders.
func TestMalformedFilesAreOneLine(t *testing.T) {
	inEmptyDir(t, map[string]string{
		"a.toml": "id = \n", "b.toml": "id = 1\nid = 2\n", "c.yaml": "id: [\n", "d.yaml": "- 1\n- 2\n",
		"e.yaml": "id: 1\nid: 2\n",
		"f.yaml": strings.Repeat("#", maxFileBytes+1),
	})
	names, err := filepath.Glob("*")
	if err != nil || len(names) != 6 {
		t.Fatal(names, err)
	}
	if err := os.Mkdir("g.toml", 0o700); err != nil {
		t.Fatal(err)
	}
	for _, name := range append(names, "g.toml") {
		o := command(t, nil, nil, "--config", name)
		if o.code != exitConfig || strings.Count(o.stderr, "\n") != 1 ||
			!strings.HasPrefix(o.stderr, "kvnode: --config "+name+": ") {
			t.Errorf("%s: exit code %d, %q", name, o.code, o.stderr)
		}
	}
}
