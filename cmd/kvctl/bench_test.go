package main

import (
	"encoding/json"
	"maps"
	"slices"
	"strings"
	"testing"

	"tenure/client/clienttest"
	"tenure/cmd/kvctl/bench"
)

func TestBenchUsage(t *testing.T) {
	c := start(t, 1)
	for _, x := range []struct{ line, err string }{
		{"bench", "put, get, mixed, cas"},
		{"bench lots", "no command \"lots\""},
		{"bench put extra", "extra"},
		{"bench put --clients 0", "--clients 0"},
		{"bench put --clients 17000", "--clients 17000"},
		{"bench put --clients 4 --conns 5", "--conns 5"},
		{"bench put --keys 0", "--keys 0"},
		{"bench put --value-size -1", "--value-size -1"},
		{"bench put --value-size 64MiB", "--value-size"},
		{"bench put --duration 0s", "--duration 0s"},
		{"bench put --duration ten", "--duration"},
		{"bench put --warmup -1s", "--warmup -1s"},
		{"bench put --rate -5", "--rate -5"},
		{"bench put --rate 2000000", "--rate"},
		{"bench put --mode stale", "unknown flag: --mode"},
		{"bench put --stale", "only writes"},
		{"bench get --mode fast", "--mode \"fast\""},
		{"bench get --mode stale --consistent", "contradict"},
		{"bench get --stale --consistent", "contradict"},
		{"bench mixed --read-share 1.5", "--read-share 1.5"},
		{"bench get --spread two", "--spread \"two\""},
		{"bench get --near me", "--near \"me\""},
		{"bench lease --near all", "unknown flag: --near"},
		{"bench get --prefix a?b", "--prefix"},
		{"bench get --timeout 0s", "--timeout 0s"},
		{"bench lease --keys 5", "unknown flag: --keys"},
		{"bench lease --ttl 1ms", "--ttl 1ms"},
		{"bench keepalive --keys 2000000", "--keys 2000000"},
		{"bench keepalive --stale", "only writes"},
		{"bench get --endpoints https://127.0.0.1:1,http://127.0.0.1:1", "TLS with all endpoints or with none"},
	} {
		o := kvctl(t, c, "", strings.Fields(x.line)...)
		if o.code != exitUsage || o.out != "" || !strings.Contains(o.errOut, x.err) {
			t.Errorf("kvctl %s: exit %d, %q, %q; want exit 2 and %q", x.line, o.code, o.out, o.errOut, x.err)
		}
	}
}

func startPlain(t *testing.T, nodes int) *clienttest.Cluster {
	c := start(t, nodes)
	c.AcceptPlain()
	return c
}

// benchLine is a short run; what it measures is of no interest.
func benchLine(op string) []string {
	return strings.Fields("bench " + op + " --json --clients 3 --keys 5 --value-size 10 --duration 400ms --warmup 10ms")
}

// The names are what scripts and plots read.
func TestBenchJSON(t *testing.T) {
	c := startPlain(t, 2)
	common := strings.Fields("client_cpu_us_per_op clients conns endpoints errors keys max_ms mean_ms near nodes op " +
		"ops ops_per_s p50_ms p90_ms p999_ms p99_ms rate seconds seed value_size")
	for op, more := range map[string][]string{
		"put": nil, "cas": nil, "get": {"mode"}, "mixed": {"mode", "read_share", "reads", "writes"},
	} {
		o := kvctl(t, c, "", benchLine(op)...)
		if o.code != exitDone || o.errOut != "" {
			t.Fatalf("%s: exit %d, %q", op, o.code, o.errOut)
		}
		got := decode[map[string]json.RawMessage](t, o.out)
		delete(got, "errors_by_kind") // conflicts of cas
		want := slices.Sorted(slices.Values(append(more, common...)))
		if names := slices.Sorted(maps.Keys(got)); !slices.Equal(names, want) {
			t.Errorf("%s: has %v, want %v", op, names, want)
		}
		r := decode[bench.Result](t, o.out)
		if r.Op != op || r.Ops == 0 || r.Nodes != 2 || r.Clients != 3 || r.Keys != 5 || r.ValueSize != 10 ||
			r.Seconds != 0.4 || r.P50 <= 0 || r.Max < r.P50 {
			t.Errorf("%s: %+v", op, r)
		}
	}
}

// TestBenchLeases: each acquisition is of a new name, and a renewal of what the run has acquired itself, also after it
// was lost.
func TestBenchLeases(t *testing.T) {
	c := start(t, 2)
	for op, more := range map[string][]string{"lease": nil, "keepalive": {"--keys", "5"}} {
		line := strings.Fields("bench " + op + " --clients 3 --duration 400ms --warmup 10ms --ttl 20s --prefix b/" +
			op + "/ --json")
		o := kvctl(t, c, "", append(line, more...)...)
		r := decode[bench.Result](t, o.out)
		if o.code != exitDone || o.errOut != "" || r.Op != op || r.Ops == 0 || r.Errors != 0 || r.TTLMS != 20_000 ||
			r.Mode != "" {
			t.Errorf("%s: exit %d, %+v, %q", op, o.code, r, o.errOut)
		}
		held := 0
		for _, name := range c.Leases() {
			if strings.HasPrefix(name, "b/"+op+"/") {
				held++
			}
		}
		if op == "keepalive" && (held != 5 || c.LeaseRequests("renew") < int(r.Ops)) || op == "lease" &&
			held < int(r.Ops) {
			t.Errorf("%s: %d operations, %d leases, %d renewals", op, r.Ops, held, c.LeaseRequests("renew"))
		}
	}
	c.Inject(func(r clienttest.Request) clienttest.Fault {
		if strings.HasSuffix(r.Path, "/renew") && c.LeaseRequests("renew")%10 == 9 {
			for _, name := range c.Leases() {
				c.EndLease(name)
			}
		}
		return clienttest.None
	})
	o := kvctl(t, c, "", strings.Fields("bench keepalive --keys 1 --clients 1 --duration 400ms --warmup 10ms "+
		"--prefix lost/")...)
	if !strings.Contains(o.out, "keepalive, closed loop: 1 client, 2 endpoints, 1 lease for 10s\n") ||
		!strings.Contains(o.out, "condition failed") || o.code != exitDone {
		t.Errorf("exit %d, %q, %q", o.code, o.out, o.errOut)
	}
}

func TestBenchModes(t *testing.T) {
	c := startPlain(t, 2)
	for flag, want := range map[string]string{"--mode=stale": bench.Stale, "--stale": bench.Stale,
		"--consistent": bench.Consistent, "--spread=one": bench.Default} {
		o := kvctl(t, c, "", append(benchLine("get"), flag)...)
		r := decode[bench.Result](t, o.out)
		if o.code != exitDone || r.Mode != want || r.Errors != 0 || (flag == "--spread=one") != (r.Nodes == 1) {
			t.Errorf("%s: %+v, %q", flag, r, o.errOut)
		}
	}
}

func TestBenchText(t *testing.T) {
	c := startPlain(t, 1)
	args := slices.DeleteFunc(benchLine("mixed"), func(s string) bool { return s == "--json" })
	o := kvctl(t, c, "", append(args, "--rate", "500")...)
	for _, want := range []string{"mixed, open loop at 500/s: 3 clients, 1 endpoint, 5 keys of 10 B, default reads\n",
		"P99.9", "reads", "writes", "no errors\n"} {
		if !strings.Contains(o.out, want) {
			t.Errorf("%q is not in %q", want, o.out)
		}
	}
	if o.code != exitDone || o.errOut != "" {
		t.Errorf("exit %d, %q", o.code, o.errOut)
	}
}

// Every run says which nodes have answered, and where the master was.
func TestBenchSaysWhere(t *testing.T) {
	c := startPlain(t, 3)
	c.SetMaster(2)
	for _, x := range []struct{ line, want string }{
		{"put --fill", "connected to node 2 (master)\n"},
		{"mixed --read-share 0.5",
			"connected to node 1, node 2 (master), node 3 for reads, to node 2 (master) for writes\n"},
		{"mixed --near all", "connected to node 2 (master)\n"},
		{"mixed --near none", "connected to node 1, node 2 (master), node 3\n"},
		{"put --spread one", "connected to node 1\n"},
		{"put --spread one --near writes", "connected to node 1\n"}, // it knows no other endpoint
		{"lease", "connected to node 1, node 2 (master), node 3\n"},
	} {
		line := "bench " + x.line + " --clients 6 --duration 400ms --warmup 100ms"
		if !strings.HasPrefix(x.line, "lease") {
			line += " --keys 5 --value-size 10"
		}
		o := kvctl(t, c, "", strings.Fields(line)...)
		if _, rest, _ := strings.Cut(o.out, "\n"); !strings.HasPrefix(rest, x.want) || o.code != exitDone {
			t.Errorf("%s: exit %d, %q, %q; want %q", x.line, o.code, o.out, o.errOut, x.want)
		}
	}
}

// Nobody there: nothing is measured.
func TestBenchWithoutANode(t *testing.T) {
	c := startPlain(t, 1)
	o := kvctl(t, c, "", append(benchLine("get"), "--fill=false", "--endpoints", "http://127.0.0.1:1")...)
	if o.code != exitFailed || o.out != "" || !strings.Contains(o.errOut, "every endpoint refuses connections") {
		t.Errorf("exit %d, %q, %q", o.code, o.out, o.errOut)
	}
}

// Every request fails: the failures are counted, and the exit code tells.
func TestBenchOfFailures(t *testing.T) {
	c := startPlain(t, 1)
	c.Inject(func(r clienttest.Request) clienttest.Fault {
		if strings.HasPrefix(r.Path, "/v1/kv/") {
			return clienttest.Busy
		}
		return clienttest.None
	})
	o := kvctl(t, c, "", append(benchLine("get"), "--fill=false")...)
	r := decode[bench.Result](t, o.out)
	if o.code != exitFailed || r.Ops != 0 || len(r.ErrorsByKind) != 1 ||
		!strings.Contains(o.errOut, "no operation succeeded") {
		t.Errorf("exit %d, %+v, %q", o.code, r, o.errOut)
	}
}

// Verbs that are in the test harness now say so, whatever is given with them.
func TestBenchSweepHasMoved(t *testing.T) {
	c := start(t, 1)
	for line, where := range map[string]string{"bench sweep": "go run ./jepsen sweep --help",
		"bench sweep keys --points 1": "go run ./jepsen sweep --help",
		"bench plot x.json":           "go run ./jepsen sweep draw --help"} {
		o := kvctl(t, c, "", strings.Fields(line)...)
		if o.code != exitUsage || o.out != "" || !strings.Contains(o.errOut, where) {
			t.Errorf("kvctl %s: exit %d, %q, %q; want exit 2 and %q", line, o.code, o.out, o.errOut, where)
		}
	}
}
