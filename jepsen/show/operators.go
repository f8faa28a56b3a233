package show

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/http/httputil"
	"strings"
	"sync"
	"time"

	"tenure/api"
	"tenure/client"
	"tenure/jepsen/cluster"
)

// operators has the answer to each operation on the members get lost, two operators ask for two changes at once, and
// leaves a client with addresses of which none is a member's any more.
func operators(ctx context.Context, s *stage) error {
	c, err := startNew(ctx, cluster.Config{Binaries: s.bin, Dir: s.dir, Nodes: 3, Spares: 3, Flags: []string{shortLeases}})
	if err != nil {
		return err
	}
	defer c.Stop(2 * time.Second)
	old, err := client.New(client.Config{Endpoints: c.Endpoints()[:3], Timeout: 20 * time.Second, AttemptTimeout: time.Second})
	if err != nil {
		return err
	}
	defer old.Close()
	if _, err := old.Set(ctx, "before", []byte("members of before"), client.WriteOptions{}); err != nil {
		return err
	}
	for i, n := range c.Free() {
		c.Prepare(n, c.Node(1), fmt.Sprintf("new-%d", i+1), pick(i == 2, "--non-voter")...)
		if err := n.Start(); err != nil {
			return err
		}
		if err := awaitMembers(ctx, old, "one member more", func(l client.MemberList) bool {
			return len(l.Members) == 4+i
		}); err != nil { // so that it has the number of its place
			return err
		}
	}
	if err := awaitMembers(ctx, old, "three new members", func(l client.MemberList) bool {
		return count(l, func(m client.Member) bool { return m.Lag == 0 }) == 6 && l.Settled == l.Number &&
			count(l, func(m client.Member) bool { return m.Voter }) == 5
	}); err != nil {
		return err
	}
	o := &operator{seen: map[string]bool{}, all: old}
	defer o.Close()
	if o.endpoint, err = o.Serve("http://"+c.Node(4).Client, o.lossy); err != nil {
		return err
	}
	if err := o.lostAnswers(ctx, s); err != nil {
		return err
	}
	if err := o.twoAtOnce(ctx, s); err != nil {
		return err
	}
	return deadAddresses(ctx, s, c, old)
}

func pick(is bool, flags ...string) []string {
	if is {
		return flags
	}
	return nil
}

// operator asks for operations by a proxy that drops the first answer to each.
type operator struct {
	cluster.HTTPProxies
	endpoint string
	all      *client.Client

	mu   sync.Mutex
	seen map[string]bool // operations of which an answer was dropped
}

func (o *operator) lossy(p *httputil.ReverseProxy) http.Handler {
	p.ModifyResponse = func(r *http.Response) error {
		id := r.Request.Header.Get(operationHeader)
		o.mu.Lock()
		first := id != "" && !o.seen[id]
		o.seen[id] = true
		o.mu.Unlock()
		if first {
			panic(http.ErrAbortHandler)
		}
		return nil
	}
	return p
}

// operationHeader tells the proxy which operation a request is of.
const operationHeader = "X-Operation"

// post asks for an operation once.
func (o *operator) post(ctx context.Context, path, id string, body api.MemberRequest) (int, string, error) {
	if path != api.PathMembersDrain {
		body.Operation = id
	}
	text, err := json.Marshal(body)
	if err != nil {
		return 0, "", err
	}
	ctx, cancel := context.WithTimeout(ctx, 20*time.Second)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, o.endpoint+path, strings.NewReader(string(text)))
	if err != nil {
		return 0, "", err
	}
	req.Header.Set(operationHeader, id)
	rsp, err := http.DefaultClient.Do(req)
	if err != nil {
		return 0, "", err
	}
	defer rsp.Body.Close()
	return rsp.StatusCode, rsp.Header.Get(api.HeaderError), nil
}

// lostAnswers asks for an operation of each kind, loses the answer, and asks again with the same id: it is done once.
// That a node is added is asked for by the node, which did so to get here.
func (o *operator) lostAnswers(ctx context.Context, s *stage) error {
	for _, x := range []struct {
		id, path string
		body     api.MemberRequest
	}{
		{"update", api.PathMembersUpdate, api.MemberRequest{Node: 5, Name: "renamed"}},
		{"promote", api.PathMembersPromote, api.MemberRequest{Node: 6}},
		{"replace", api.PathMembersReplace, api.MemberRequest{Node: 5}},
		{"replace", api.PathMembersCancel, api.MemberRequest{}},
		{"drain", api.PathMembersDrain, api.MemberRequest{Node: 6}},
		{"remove", api.PathMembersRemove, api.MemberRequest{Node: 3}},
	} {
		before, err := o.all.Members().List(ctx)
		if err != nil {
			return err
		}
		if x.path == api.PathMembersCancel {
			o.mu.Lock()
			o.seen[x.id] = false
			o.mu.Unlock()
		}
		if code, text, err := o.post(ctx, x.path, x.id, x.body); err == nil {
			return fmt.Errorf("%s: the answer was not lost: %d %s", x.id, code, text)
		}
		if code, text, err := o.post(ctx, x.path, x.id, x.body); err != nil || code != http.StatusOK {
			return fmt.Errorf("%s, asked for again: %d %s %w", x.id, code, text, err)
		}
		if err := o.once(ctx, x.path, x.id, before); err != nil {
			return fmt.Errorf("%s: %w", x.id, err)
		}
	}
	s.say("update, promote, replace, cancel, drain and remove: the first answer to each was lost, and each was done once")
	return nil
}

// once waits until an operation has ended, unless it waits for a node, and checks that it was begun once.
func (o *operator) once(ctx context.Context, path, id string, before client.MemberList) error {
	return awaitMembers(ctx, o.all, "one end of the operation "+id, func(l client.MemberList) bool {
		found := 0
		for _, op := range l.Operations {
			ended := op.State == client.OperationDone || op.State == client.OperationCancelled
			if op.ID == id && (ended || path == api.PathMembersReplace) {
				found++
			}
		}
		switch path {
		case api.PathMembersDrain:
			return len(l.Operations) == len(before.Operations)
		case api.PathMembersCancel:
			return found == 1 && len(l.Operations) == len(before.Operations)
		}
		return found == 1 && len(l.Operations) == len(before.Operations)+1 && l.Settled == l.Number ||
			path == api.PathMembersReplace && found == 1
	})
}

// twoAtOnce has two operators remove two voters at the same time. One of them is told what runs, and comes again.
func (o *operator) twoAtOnce(ctx context.Context, s *stage) error {
	busy := make(chan int, 2)
	errs := make(chan error, 2)
	o.seen["remove-1"], o.seen["remove-2"] = true, true // no answer is lost: they meet
	for _, node := range []uint64{1, 2} {
		go func() {
			times, id := 0, fmt.Sprintf("remove-%d", node)
			for end := time.Now().Add(comesBack); ; cluster.Pause(ctx, 100*time.Millisecond) {
				code, text, err := o.post(ctx, api.PathMembersRemove, id, api.MemberRequest{Node: node})
				switch {
				case err != nil:
					busy <- times
					errs <- err
					return
				case code == http.StatusOK:
					busy <- times
					errs <- nil
					return
				case code == http.StatusConflict && text == string(api.CodeMemberBusy):
					times++
				default:
					busy <- times
					errs <- fmt.Errorf("%s: %d %s", id, code, text)
					return
				}
				if time.Now().After(end) || ctx.Err() != nil {
					busy <- times
					errs <- fmt.Errorf("%s: not begun after %v", id, comesBack)
					return
				}
			}
		}()
	}
	refused := <-busy + <-busy
	if err := errors.Join(<-errs, <-errs); err != nil {
		return err
	}
	if err := awaitMembers(ctx, o.all, "neither node 1 nor node 2", func(l client.MemberList) bool {
		return count(l, func(m client.Member) bool { return m.Node <= 2 }) == 0 && l.Settled == l.Number
	}); err != nil {
		return err
	}
	if refused == 0 {
		return errors.New("nobody was told that another operation runs: they were not there at once")
	}
	s.say("two operators removed nodes 1 and 2 at once: one was told %d times that the other's operation runs; both are done",
		refused)
	return nil
}

// deadAddresses checks that a client goes on whose addresses are all those of nodes that were removed and have ended.
func deadAddresses(ctx context.Context, s *stage, c *cluster.Cluster, old *client.Client) error {
	for i := 1; i <= 3; i++ {
		for end := time.Now().Add(comesBack); c.Node(i).Running(); cluster.Pause(ctx, 50*time.Millisecond) {
			if time.Now().After(end) {
				return fmt.Errorf("node %d was removed and runs yet", i)
			}
		}
	}
	begin := time.Now()
	if _, err := old.Set(ctx, "after", []byte("other members"), client.WriteOptions{}); err != nil {
		return fmt.Errorf("a client with the addresses of before: %w", err)
	}
	e, _, err := old.Get(ctx, "before", client.ReadOptions{})
	if err != nil || string(e.Value) != "members of before" {
		return fmt.Errorf("a client with the addresses of before reads %q, %w", e.Value, err)
	}
	s.say("all three addresses of a client are dead: it wrote and read %.2f s later", time.Since(begin).Seconds())
	return nil
}
