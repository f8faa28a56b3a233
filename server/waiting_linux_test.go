package server

import (
	"bufio"
	"flag"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"runtime"
	"runtime/debug"
	"strconv"
	"strings"
	"testing"
)

// Each waiting query takes two descriptors here, one of them in the process of the clients.
var waiters = flag.Int("waiters", 300, "how many queries TestMemoryOfWaitingQueries lets wait")

// clientsOf is how this program is told to be the clients of a test: "ADDRESS N".
const clientsOf = "TENURE_TEST_WAITING_CLIENTS"

// TestMemoryOfWaitingQueries lets many blocking queries of another process wait on one node, each on a connection and
// for a key of its own, and says what each costs. Then one write wakes one of them, and one prune all.
func TestMemoryOfWaitingQueries(t *testing.T) {
	if where := os.Getenv(clientsOf); where != "" {
		beClients(t, where)
		return
	}
	h := startCluster(t, 1)[0]
	if code, text, _ := h.call(http.MethodPut, "/v1/kv/first", ""); code != 200 {
		t.Fatalf("%d %s", code, text)
	}
	before := memoryNow(t)
	cmd := exec.Command(os.Args[0], "-test.run=^TestMemoryOfWaitingQueries$")
	cmd.Env = append(os.Environ(), clientsOf+"="+h.cfg.ClientAddr+" "+strconv.Itoa(*waiters))
	cmd.Stderr = os.Stderr
	orders, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	said, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	defer func() { _ = orders.Close(); _ = cmd.Wait() }()
	words := bufio.NewScanner(said)
	hear := func(want string) {
		t.Helper()
		if !words.Scan() || words.Text() != want {
			t.Fatalf("the clients said %q, want %q", words.Text(), want)
		}
	}
	hear("all asked")
	h.until(t, "waited on by all", func() bool {
		return strings.Contains(metricsOf(h), fmt.Sprintf("\ntenure_http_waiting %d\n", *waiters))
	})
	after := memoryNow(t)
	per := func(a, b int64) float64 { return float64(b-a) / float64(*waiters) / 1024 }
	t.Logf("%d waiting queries, each: %.1f KiB of heap, %.1f KiB of stacks, %.1f KiB resident", *waiters,
		per(before.heap, after.heap), per(before.stack, after.stack), per(before.resident, after.resident))
	if perQuery := per(before.heap+before.stack, after.heap+after.stack); perQuery > 64 {
		t.Errorf("a waiting query takes %.1f KiB", perQuery)
	}
	if code, text, _ := h.call(http.MethodPut, "/v1/kv/wait/0", "v"); code != 200 {
		t.Fatalf("%d %s", code, text)
	}
	fmt.Fprintln(orders, "one")
	hear("one answered")
	h.until(t, "waited on by the others", func() bool {
		return strings.Contains(metricsOf(h), fmt.Sprintf("\ntenure_http_waiting %d\n", *waiters-1))
	})
	parts := []string{}
	for i := range *waiters {
		parts = append(parts, fmt.Sprintf(`{"KV":{"Verb":"set","Key":"wait/%d"}}`, i))
		if len(parts) == 128 || i == *waiters-1 {
			if code, text, _ := h.call(http.MethodPut, "/v1/txn", "["+strings.Join(parts, ",")+"]"); code != 200 {
				t.Fatalf("%d %s", code, text)
			}
			parts = parts[:0]
		}
	}
	fmt.Fprintln(orders, "all")
	hear("all answered")
}

type memory struct{ heap, stack, resident int64 }

func memoryNow(t *testing.T) memory {
	t.Helper()
	runtime.GC()
	debug.FreeOSMemory()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	status, err := os.ReadFile("/proc/self/status")
	if err != nil {
		t.Fatal(err)
	}
	_, rest, _ := strings.Cut(string(status), "VmRSS:")
	kib, err := strconv.ParseInt(strings.Fields(rest)[0], 10, 64)
	if err != nil {
		t.Fatal(err)
	}
	return memory{heap: int64(m.HeapAlloc), stack: int64(m.StackInuse), resident: kib << 10}
}

// beClients opens the connections, asks on each, and tells what was answered when it is asked to.
func beClients(t *testing.T, where string) {
	addr, count, _ := strings.Cut(where, " ")
	n, err := strconv.Atoi(count)
	if err != nil {
		t.Fatal(err)
	}
	conns := make([]net.Conn, n)
	for i := range conns {
		if conns[i], err = net.Dial("tcp", addr); err != nil {
			t.Fatal(err)
		}
		defer conns[i].Close()
		if _, err := fmt.Fprintf(conns[i], "GET /v1/kv/wait/%d?index=1&wait=10m HTTP/1.1\r\nHost: localhost\r\nUser-Agent: test\r\nAccept-Encoding: gzip\r\n\r\n", i); err != nil {
			t.Fatal(err)
		}
	}
	fmt.Println("all asked")
	answered := func(c net.Conn) {
		r, err := http.ReadResponse(bufio.NewReaderSize(c, 1), nil)
		if err == nil {
			_, err = io.Copy(io.Discard, r.Body)
		}
		if err != nil || r.StatusCode != 200 {
			t.Fatalf("%v %v", r, err)
		}
	}
	orders := bufio.NewScanner(os.Stdin)
	for orders.Scan() {
		if orders.Text() == "one" {
			answered(conns[0])
			fmt.Println("one answered")
			continue
		}
		for _, c := range conns[1:] {
			answered(c)
		}
		fmt.Println("all answered")
	}
}
