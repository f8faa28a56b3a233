package nemesis

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"tenure/api"
	"tenure/jepsen/cluster"
	"tenure/jepsen/history"
)

// intruders go on writing under a token whatever happens to it, one through each node, over a connection that stays
// open.
// Each key is written once, with a name that says under which token.
type intruders struct {
	bed    *Bed
	token  cluster.Token
	prefix string
	serial atomic.Int64
	ended  atomic.Bool // the end of the token was acknowledged
	done   []atomic.Int64
	denied []atomic.Int64 // by place, of those that began after that
	cancel context.CancelFunc
	all    sync.WaitGroup
}

const (
	intruderTimeout = 500 * ms // then the next request is sent, also to a node that is stopped: it will find both
	intruderRest    = 2 * time.Millisecond
	// intruderClient is the number of the first intruder in the history: above those of the clients.
	intruderClient = 1000
)

// intrude has one intruder write through each node until stop.
func (b *Bed) intrude(token cluster.Token) *intruders {
	ctx, cancel := context.WithCancel(context.Background())
	nodes := b.Cluster.Nodes()
	i := &intruders{bed: b, token: token, prefix: history.RevokedPrefix + token.Accessor + "/", cancel: cancel,
		done: make([]atomic.Int64, len(nodes)), denied: make([]atomic.Int64, len(nodes))}
	for place, n := range nodes {
		i.all.Go(func() { i.work(ctx, place, b.Cluster.Endpoint(n)) })
	}
	return i
}

func (i *intruders) work(ctx context.Context, place int, endpoint string) {
	c := &http.Client{Transport: &http.Transport{MaxConnsPerHost: 1}, Timeout: intruderTimeout}
	defer c.CloseIdleConnections()
	for ctx.Err() == nil {
		i.write(c, place, endpoint)
		cluster.Pause(ctx, intruderRest)
	}
}

func (i *intruders) write(c *http.Client, place int, endpoint string) {
	op := history.Op{Client: intruderClient + place, Kind: history.Put, Call: i.bed.History.Now(), Value: "v",
		Key: fmt.Sprint(i.prefix, i.serial.Add(1))}
	after := i.ended.Load()
	status, code, text := i.put(c, endpoint+api.PathKV+op.Key, op.Value)
	op.Return = i.bed.History.Now()
	switch {
	case status == http.StatusOK && text == "true":
		op.Outcome = history.OK
		i.done[place].Add(1)
	case code == api.CodeDenied || code == api.CodeUnknownToken:
		op.Outcome, op.Denied = history.Fail, true
		if after {
			i.denied[place].Add(1)
		}
	case code == api.CodeNotApplied || code == api.CodeOverloaded || code == api.CodeNotReady:
		op.Outcome = history.Fail
	default:
		op.Outcome = history.Info
	}
	if op.Outcome != history.OK {
		op.Error = fmt.Sprintf("status %d: %.100s", status, text)
	}
	i.bed.History.Add(op)
}

func (i *intruders) put(c *http.Client, where, value string) (status int, code api.Code, text string) {
	req, err := http.NewRequest(http.MethodPut, where, strings.NewReader(value))
	if err != nil {
		return 0, "", err.Error()
	}
	req.Header.Set(api.HeaderToken, i.token.Secret)
	rsp, err := c.Do(req)
	if err != nil {
		return 0, "", err.Error()
	}
	defer rsp.Body.Close()
	body, err := io.ReadAll(io.LimitReader(rsp.Body, 1<<10))
	if err != nil {
		return 0, "", err.Error()
	}
	return rsp.StatusCode, api.Code(rsp.Header.Get(api.HeaderError)), string(body)
}

// written waits until every node has done a write.
func (i *intruders) written() error {
	return i.each(i.done, "takes no write under a token that was just made")
}

// over records that the token has ended, with the revision of its deletion, or 0 if it has expired.
func (i *intruders) over(call time.Duration, revision uint64) {
	i.bed.History.Add(history.Op{Client: intruderClient - 1, Kind: history.Revoke, Key: i.prefix, Outcome: history.OK,
		Result: revision, Call: call, Return: i.bed.History.Now()})
	i.ended.Store(true)
}

// refused waits until every node has refused a write that began after the token had ended.
func (i *intruders) refused() error {
	return i.each(i.denied, "refuses nothing under a token that has ended")
}

// stop ends the intruders, if there are any, and returns what they were told, in words.
func (i *intruders) stop() string {
	if i == nil {
		return ""
	}
	i.cancel()
	i.all.Wait()
	return fmt.Sprintf("%d writes before, %d refused after", sum(i.done), sum(i.denied))
}

func sum(counts []atomic.Int64) (n int64) {
	for i := range counts {
		n += counts[i].Load()
	}
	return n
}

func (i *intruders) each(counts []atomic.Int64, fault string) error {
	for end := time.Now().Add(recovery); ; time.Sleep(5 * ms) {
		missing := 0
		for place := range counts {
			if counts[place].Load() == 0 {
				missing = place + 1
			}
		}
		if missing == 0 {
			return nil
		}
		if time.Now().After(end) {
			return fmt.Errorf("for %v node %d %s", recovery, missing, fault)
		}
	}
}
