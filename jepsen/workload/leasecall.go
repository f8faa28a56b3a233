package workload

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"time"

	"tenure/internal/leasehold"
	"tenure/jepsen/history"
)

// acquisition is one attempt to own a name, and what comes of it, as its client knows it.
type acquisition struct {
	name, owner, id string
	ttl             time.Duration
	grant           string // the newest
	hold            leasehold.Hold
}

// leaseAsk is the body of a request.
type leaseAsk struct {
	Name        string `json:",omitempty"` // in a batch
	Owner       string
	TTL         string `json:",omitempty"`
	Acquisition string `json:",omitempty"`
	Grant       string `json:",omitempty"`
	Wait        string `json:",omitempty"`
}

// leaseGrant is the answer to one that was granted; Error and Lost are of one in a batch that was not.
type leaseGrant struct {
	Name, Owner, Grant, TTL, Error string
	Token                          uint64
	Lost                           bool
}

func (a *acquisition) op(kind history.Kind) history.Op {
	return history.Op{Kind: kind, Key: a.name, Extra: history.Extra{Acquisition: a.id, TTL: a.ttl}}
}

// ask has one operation on the lease done. What it grants counts only as the hold says, by the times that are recorded.
func (w *worker) ask(a *acquisition, op history.Op, f func(context.Context, *history.Op, *leaseGrant) error) history.Op {
	var g leaseGrant
	op = w.do(op, func(ctx context.Context, op *history.Op) error { return f(ctx, op, &g) })
	a.granted(op, g)
	return op
}

func (a *acquisition) granted(op history.Op, g leaseGrant) {
	if !op.Grants() {
		return
	}
	a.hold.Take(op.Return, leasehold.Reply{Asked: op.Call, TTL: op.TTL, Token: op.Token, Renewal: op.Kind == history.LeaseRenew})
	a.grant = g.Grant
}

// acquireLease asks for the lease, and waits for so long while somebody else owns it. An answer that takes longer than that
// and the lease together could not count.
func (w *worker) acquireLease(a *acquisition, wait time.Duration) history.Op {
	op, body := a.op(history.LeaseAcquire), leaseAsk{Owner: a.owner, TTL: a.ttl.String(), Acquisition: a.id}
	if wait > 0 {
		op.Mode, body.Wait = "waiting", wait.String()
	}
	return w.ask(a, op, func(ctx context.Context, op *history.Op, g *leaseGrant) error {
		ctx, cancel := context.WithTimeout(ctx, wait+a.ttl)
		defer cancel()
		said, err := w.leaseRequest(ctx, a.name, "acquire", body)
		switch {
		case err != nil:
			return err
		case said.status == http.StatusConflict:
			var busy struct{ RetryAfter string }
			if json.Unmarshal(said.body, &busy) != nil || busy.RetryAfter == "" {
				return unexpected(said)
			}
			return nil
		}
		return a.answered(said, op, g)
	})
}

// renewLease asks once, at one node, and for no longer than patience.
func (w *worker) renewLease(a *acquisition, patience time.Duration) history.Op {
	return w.ask(a, a.op(history.LeaseRenew), func(ctx context.Context, op *history.Op, g *leaseGrant) error {
		ctx, cancel := context.WithTimeout(ctx, patience)
		defer cancel()
		said, err := w.leaseRequest(ctx, a.name, "renew", leaseAsk{Owner: a.owner, Grant: a.grant, TTL: a.ttl.String()})
		switch {
		case err != nil:
			return err
		case said.status == http.StatusConflict:
			op.Absent = true
			return nil
		}
		return a.answered(said, op, g)
	})
}

// batchClients keeps the clients apart that the answers of a batch are filed under: a client has one operation at a time.
const batchClients = 1000

// renewLeases renews them all in one request.
func (w *worker) renewLeases(mine []*acquisition, patience time.Duration) {
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	var asks []leaseAsk
	for _, a := range mine {
		asks = append(asks, leaseAsk{Name: a.name, Owner: a.owner, Grant: a.grant, TTL: a.ttl.String()})
	}
	body, err := json.Marshal(asks)
	if err != nil {
		panic(err) // texts and numbers
	}
	call := w.rec.Now()
	said, err := w.raw.request(ctx, http.MethodPost, "/v1/leases/renew", body)
	grants := make([]leaseGrant, len(mine))
	if err == nil && (said.status != http.StatusOK || json.Unmarshal(said.body, &grants) != nil || len(grants) != len(mine)) {
		err, grants = unexpected(said), make([]leaseGrant, len(mine))
	}
	end := w.rec.Now()
	for i, a := range mine {
		op, failed := a.op(history.LeaseRenew), err
		op.Client, op.Call, op.Return = w.id+i*batchClients, call, end
		switch g := grants[i]; {
		case failed != nil:
		case g.Lost:
			op.Absent = true
		case g.Error != "":
			failed = fmt.Errorf("%w: %s", errUnknown, g.Error)
		default:
			failed = a.echoed(g, &op)
		}
		if op.Outcome = outcome(failed); failed != nil {
			op.Error = fmt.Sprintf("%.200s", failed)
		}
		a.granted(op, grants[i])
		w.rec.Add(op)
	}
}

// releaseLease stops owning, and then says so.
func (w *worker) releaseLease(a *acquisition) history.Op {
	a.hold.Release()
	body := leaseAsk{Owner: a.owner, Grant: a.grant}
	if a.grant == "" {
		body.Acquisition = a.id
	}
	return w.do(a.op(history.LeaseRelease), func(ctx context.Context, op *history.Op) error {
		said, err := w.leaseRequest(ctx, a.name, "release", body)
		if err == nil && (said.status != http.StatusOK || !said.says("true")) {
			err = unexpected(said)
		}
		return err
	})
}

func (w *worker) leaseRequest(ctx context.Context, name, verb string, body leaseAsk) (answer, error) {
	text, err := json.Marshal(body)
	if err != nil {
		return answer{}, err
	}
	return w.raw.request(ctx, http.MethodPost, (&url.URL{Path: "/v1/lease/" + name + "/" + verb}).EscapedPath(), text)
}

// answered takes in a grant.
func (a *acquisition) answered(said answer, op *history.Op, g *leaseGrant) error {
	if said.status != http.StatusOK || json.Unmarshal(said.body, g) != nil {
		return unexpected(said)
	}
	return a.echoed(*g, op)
}

// echoed checks that the grant is of what was asked for.
func (a *acquisition) echoed(g leaseGrant, op *history.Op) error {
	ttl, err := time.ParseDuration(g.TTL)
	if err != nil || ttl != a.ttl || g.Name != a.name || g.Owner != a.owner || g.Grant == "" || g.Token == 0 {
		return fmt.Errorf("%w: %+v is no grant of %s to %s for %v", errUnknown, g, a.name, a.owner, a.ttl)
	}
	op.Matched, op.Token = true, g.Token
	return nil
}
