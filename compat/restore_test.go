package compat

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/hashicorp/consul/api"

	"tenure/jepsen/cluster"
)

// stateKeys is how many keys of plantState have the same value; a mixture of two states has two.
const stateKeys = 200

// plantState gives all keys one value, in transactions, and returns a snapshot of that.
func plantState(t *testing.T, n *cluster.Node, value string) []byte {
	t.Helper()
	client := dial(t, n)
	for at := 0; at < stateKeys; at += 50 {
		var ops api.TxnOps
		for i := at; i < at+50; i++ {
			ops = append(ops, &api.TxnOp{KV: &api.KVTxnOp{Verb: api.KVSet, Key: fmt.Sprintf("state/%03d", i),
				Value: bytes.Repeat([]byte(value), 4000), Flags: 42}})
		}
		ok, _, _, err := client.Txn().Txn(ops, nil)
		must(t, err)
		if !ok {
			t.Fatal("a transaction was not done")
		}
	}
	body, _, err := client.Snapshot().Save(nil)
	must(t, err)
	defer body.Close()
	snapshot, err := io.ReadAll(body)
	must(t, err)
	return snapshot
}

// stateOf returns the value that all keys have.
func stateOf(t *testing.T, n *cluster.Node) string {
	t.Helper()
	pairs, _, err := dial(t, n).KV().List("state/", &api.QueryOptions{RequireConsistent: true})
	must(t, err)
	if len(pairs) != stateKeys {
		t.Fatalf("%d keys", len(pairs))
	}
	for _, p := range pairs {
		if !bytes.Equal(p.Value, pairs[0].Value) || p.Flags != 42 || p.ModifyIndex == 0 {
			t.Fatalf("a mixture: %s has %.3s, %s has %.3s", pairs[0].Key, pairs[0].Value, p.Key, p.Value)
		}
	}
	return string(pairs[0].Value[:1])
}

// uploaded is the answer to an upload.
type uploaded struct {
	status   int
	code     string
	revision uint64
	err      error
}

func (u *uploaded) String() string { return fmt.Sprintf("%d %s %v", u.status, u.code, u.err) }

// upload puts a snapshot through n.
func upload(ctx context.Context, n *cluster.Node, snapshot []byte) (u uploaded) {
	req, err := http.NewRequestWithContext(ctx, http.MethodPut, "http://"+n.Client+"/v1/snapshot", bytes.NewReader(snapshot))
	if err != nil {
		return uploaded{err: err}
	}
	rsp, err := http.DefaultClient.Do(req)
	if err != nil {
		return uploaded{err: err}
	}
	defer rsp.Body.Close()
	_, u.err = io.Copy(io.Discard, io.LimitReader(rsp.Body, 1<<20))
	u.status, u.code = rsp.StatusCode, rsp.Header.Get("X-Tenure-Error")
	u.revision, _ = strconv.ParseUint(rsp.Header.Get("X-Tenure-Index"), 10, 64)
	return u
}

// TestSnapshotRestore restores through each node with Consul's client: keys, flags, locks and sessions are those of the
// snapshot, what came later is gone, and no index falls.
func TestSnapshotRestore(t *testing.T) {
	c := start(t)
	client := dial(t, c.Node(1))
	session, _, err := client.Session().Create(&api.SessionEntry{Name: "holder", TTL: "60s", Behavior: "delete"}, nil)
	must(t, err)
	locked, _, err := client.KV().Acquire(&api.KVPair{Key: "locked", Session: session, Flags: 7}, nil)
	must(t, err)
	if !locked {
		t.Fatal("not locked")
	}
	snapshot := plantState(t, c.Node(1), "a")
	for _, n := range c.Nodes() {
		plantState(t, n, "b")
		via := dial(t, n)
		_, err := via.Session().Destroy(session, nil)
		must(t, err)
		_, err = via.KV().Put(&api.KVPair{Key: "later"}, nil)
		must(t, err)
		before, _, err := via.KV().Get("later", nil)
		must(t, err)
		must(t, via.Snapshot().Restore(nil, bytes.NewReader(snapshot)))
		if got := stateOf(t, n); got != "a" {
			t.Errorf("state %s", got)
		}
		later, _, err := via.KV().Get("later", nil)
		must(t, err)
		lock, _, err := via.KV().Get("locked", nil)
		must(t, err)
		held, _, err := via.Session().Info(session, nil)
		must(t, err)
		if later != nil || lock == nil || lock.Session != session || lock.Flags != 7 || lock.LockIndex != 1 ||
			lock.ModifyIndex <= before.ModifyIndex {
			t.Errorf("later %+v, locked %+v after index %d", later, lock, before.ModifyIndex)
		}
		if held == nil || held.Name != "holder" || held.TTL != "60s" || held.Behavior != "delete" {
			t.Errorf("session %+v", held)
		}
	}
	if err := client.Snapshot().Restore(nil, strings.NewReader("no snapshot")); err == nil {
		t.Error("no snapshot was restored")
	}
	if got := stateOf(t, c.Node(2)); got != "a" {
		t.Errorf("state %s after a refusal", got)
	}
}

// TestTwoUploadsAtOnce: the state is that of the last successful upload, whole. An upload that did not succeed is
// reported as not applied, or as unknown, since the other one has moved the floor of the remembered keys.
func TestTwoUploadsAtOnce(t *testing.T) {
	c := start(t)
	states := []string{"a", "b"}
	var snapshots [][]byte
	for _, s := range states {
		snapshots = append(snapshots, plantState(t, c.Node(1), s))
	}
	ctx := within(t, 2*time.Minute)
	for round := range 6 {
		var answers [2]uploaded
		done := make(chan int, len(answers))
		for i := range answers {
			n := c.Node(1 + (round+i*(round%2))%3) // through one node, or through two
			go func() {
				answers[i] = upload(ctx, n, snapshots[i])
				done <- i
			}()
		}
		for range answers {
			<-done
		}
		want, newest, unknown := "", uint64(0), false
		for i, u := range answers {
			switch {
			case u.err == nil && u.status == http.StatusOK && u.revision > 0:
				if u.revision > newest {
					want, newest = states[i], u.revision
				}
			case u.err == nil && u.status == http.StatusServiceUnavailable && u.code == "overloaded":
			case u.err == nil && u.status == http.StatusGatewayTimeout && u.code == "key-too-old": // perhaps
				unknown = true
			default:
				t.Errorf("round %d: %s", round, &u)
			}
		}
		if got := stateOf(t, c.Node(3)); !unknown && (want == "" || got != want) {
			t.Errorf("round %d: state %q, want %q: %s, %s", round, got, want, &answers[0], &answers[1])
		}
	}
}

// TestAnUploadThatBreaksOff changes nothing, and is in nobody's way.
func TestAnUploadThatBreaksOff(t *testing.T) {
	c := start(t)
	snapshot := plantState(t, c.Node(1), "a")
	plantState(t, c.Node(1), "b")
	for _, sent := range []int{0, 1, len(snapshot) / 2, len(snapshot) - 1} {
		conn, err := net.Dial("tcp", c.Node(2).Client)
		must(t, err)
		_, err = fmt.Fprintf(conn, "PUT /v1/snapshot HTTP/1.1\r\nHost: %s\r\nContent-Length: %d\r\n\r\n%s", c.Node(2).Client,
			len(snapshot), snapshot[:sent])
		must(t, err)
		must(t, conn.Close())
		if got := stateOf(t, c.Node(2)); got != "b" {
			t.Errorf("state %s after %d bytes of %d", got, sent, len(snapshot))
		}
	}
	eventually(t, func() bool { // its node may still be reading the last one
		u := upload(within(t, startFor), c.Node(2), snapshot)
		return u.status == http.StatusOK
	})
	if got := stateOf(t, c.Node(1)); got != "a" {
		t.Errorf("state %s", got)
	}
}

// TestAnUploadWhileTheMasterIsKilled: 200 has replaced the state, 503 has not, 504 may have; none leaves a mixture.
func TestAnUploadWhileTheMasterIsKilled(t *testing.T) {
	c := start(t)
	a := plantState(t, c.Node(1), "a")
	plantState(t, c.Node(1), "b")
	killed := map[string]int{}
	for round := range 4 {
		master, others := roles(t, c)
		answer := make(chan uploaded, 1)
		ctx := within(t, time.Minute)
		go func() { answer <- upload(ctx, others[0], a) }()
		time.Sleep(time.Duration(round) * 8 * time.Millisecond) // into reading, pieces or the install
		must(t, master.Kill())
		u := <-answer
		roles(t, c)
		got := stateOf(t, others[1])
		killed[fmt.Sprint(u.status, " ", u.code, " ", got)]++
		switch {
		case u.err == nil && u.status == http.StatusOK && got == "a":
		case u.err == nil && u.status == http.StatusServiceUnavailable && got == "b":
		case u.err == nil && u.status == http.StatusGatewayTimeout:
		default:
			t.Errorf("round %d: %s, state %s", round, &u, got)
		}
		must(t, master.Start())
		must(t, c.WaitReady(within(t, startFor), c.Nodes()...))
		plantState(t, others[1], "b")
	}
	t.Logf("answers and states: %v", killed)
}
