package show

import (
	"context"
	"fmt"
	"net/http"
	"os/exec"
	"strings"
	"time"

	"tenure/client"
	"tenure/jepsen/cluster"
)

// foundWithin is how long it may take until a node that differs has ended: two times the distance of comparisons, and
// what a start and its quarantine take.
const foundWithin = 40 * time.Second

// differ changes a value in the state.db of a stopped node, with all checksums right, and starts the node. The others
// find it, it ends and stays out, and kvnode rejoin mends it.
func differ(ctx context.Context, s *stage) error {
	tamper, err := cluster.BuildTamper(ctx, s.dir)
	if err != nil {
		return err
	}
	c, all, done, err := s.clusterAndClient(ctx, shortLeases)
	if err != nil {
		return err
	}
	defer done()
	revision, err := all.Set(ctx, "account", []byte("1000"), client.WriteOptions{})
	if err != nil {
		return err
	}
	victim := c.Node(3)
	limit, cancel := context.WithTimeout(ctx, 30*time.Second)
	defer cancel()
	if err := c.WaitCheckpointed(limit, revision); err != nil {
		return err
	}
	if err := victim.Terminate(10 * time.Second); err != nil {
		return err
	}
	if out, err := exec.CommandContext(ctx, tamper, victim.Data, "account").CombinedOutput(); err != nil {
		return fmt.Errorf("%w: %s", err, out)
	}
	size, began := victim.LogSize(), time.Now()
	if err := victim.Start(); err != nil {
		return err
	}
	if err := victim.Wait(foundWithin); err == nil && victim.Running() {
		return fmt.Errorf("node 3 has another value than the others, and runs after %v", foundWithin)
	}
	took := time.Since(began)
	if text := victim.LogFrom(size); !strings.Contains(text,
		"the state of this node differs from that of the others") {
		return fmt.Errorf("node 3 ended and did not say why: %s", text)
	}
	s.say("node 3, one value of which was changed with right checksums, ended %.1f s after its start and said why",
		took.Seconds())
	size = victim.LogSize()
	if err := victim.Start(); err != nil {
		return err
	}
	if err := victim.Wait(20 * time.Second); err == nil && victim.Running() {
		return fmt.Errorf("node 3 runs again on the same files")
	}
	if text := victim.LogFrom(size); !strings.Contains(text, "kvnode rejoin") {
		return fmt.Errorf("node 3 did not say what to do: %s", text)
	}
	for _, n := range c.Nodes()[:2] {
		code, text, _, err := ask(ctx, http.MethodGet, "http://"+n.Client+"/v1/kv/account?raw", nil)
		if err != nil || code != 200 || text != "1000" {
			return fmt.Errorf("node %d: %d %q, %v", n.ID, code, text, err)
		}
	}
	s.say("it refuses to start again; the two others serve")
	c.Rejoin(victim, c.Node(1))
	if err := victim.Start(); err != nil {
		return err
	}
	if _, err := votes(ctx, c, victim); err != nil {
		return err
	}
	if err := same(ctx, c, ""); err != nil {
		return err
	}
	s.say("kvnode rejoin has rebuilt it from the others: it votes, and all three hold the same")
	return nil
}
