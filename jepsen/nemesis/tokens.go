package nemesis

import (
	"context"
	"errors"
	"time"

	"tenure/jepsen/cluster"
)

const (
	tokenTTL   = 4 * time.Second // of one that is to expire
	tokenSpare = 2 * time.Second // so long before that the clients get the next one
)

// rotateTokens gives the clients a new token, made through one node, and deletes the one before through another, again
// and again, while somebody goes on with the old one.
func rotateTokens(ctx context.Context, b *Bed) error {
	var old *intruders
	defer func() { old.stop() }()
	for ctx.Err() == nil {
		nodes := b.pick(ctx, 2)
		end := b.Log.begin("token-rotate", ids(nodes)...)
		next, err := b.handOutToken(nodes[0], 0)
		if err != nil {
			return err
		}
		if old != nil {
			err = b.revoke(old, nodes[1])
			if err = errors.Join(err, old.refused()); err != nil {
				next.stop()
				return err
			}
			end(old.stop())
		}
		old = next
		cluster.Pause(ctx, b.between(50*ms, 300*ms))
	}
	return nil
}

// handOutToken makes a token for the clients through a node, gives it to them, and has intruders use it through all.
func (b *Bed) handOutToken(through *cluster.Node, ttl time.Duration) (*intruders, error) {
	t := b.Cluster.Tokens()
	token, err := t.Make(context.Background(), through, ttl)
	if err == nil {
		err = t.Give(token.Secret)
	}
	if err != nil {
		return nil, err
	}
	i := b.intrude(token)
	if err := i.written(); err != nil {
		i.stop()
		return nil, err
	}
	return i, nil
}

// revoke deletes the token of intruders through a node. When it returns, all nodes must refuse them.
func (b *Bed) revoke(i *intruders, through *cluster.Node) error {
	call := b.History.Now()
	revision, err := b.Cluster.Tokens().Revoke(context.Background(), through, i.token.Accessor)
	if err == nil {
		i.over(call, revision)
	}
	return err
}

// expireTokens gives the clients tokens of short life, each a while before the one before expires, with which somebody
// goes on. At the end they get one for good.
func expireTokens(ctx context.Context, b *Bed) error {
	var old *intruders
	defer func() { old.stop() }()
	for last := false; !last; {
		last = ctx.Err() != nil
		ttl := tokenTTL
		if last {
			ttl = 0
		}
		node := b.pick(context.Background(), 1)[0]
		end := b.Log.begin("token-expire", node.ID)
		next, err := b.handOutToken(node, ttl)
		if err != nil {
			return err
		}
		if old != nil {
			cluster.Pause(context.Background(), time.Until(old.token.Expires))
			old.over(b.History.Now(), 0)
			if err := old.refused(); err != nil {
				next.stop()
				return err
			}
			end(old.stop())
		}
		old = next
		cluster.Pause(ctx, time.Until(next.token.Expires)-tokenSpare)
	}
	return nil
}

// revokeTokens makes tokens, has them used through all nodes, and deletes each through one node while another may be
// stopped or dead. When the other one continues, it does not know of the deletion, and finds requests that have waited.
func revokeTokens(ctx context.Context, b *Bed) error {
	for ctx.Err() == nil {
		nodes := b.pick(ctx, 2)
		end := b.Log.begin("token-revoke", ids(nodes)...)
		token, err := b.Cluster.Tokens().Make(context.Background(), nodes[1], 0)
		if err != nil {
			return err
		}
		i := b.intrude(token)
		how, err := b.revokeBehind(i, nodes[0], nodes[1])
		said := i.stop()
		if err = errors.Join(err, b.ready(nodes[0])); err != nil {
			return err
		}
		end(how + said)
		cluster.Pause(ctx, b.between(50*ms, 300*ms))
	}
	return nil
}

// revokeBehind deletes the token of intruders through a node, while another one is stopped or dead every other time.
func (b *Bed) revokeBehind(i *intruders, victim, through *cluster.Node) (how string, err error) {
	if err := i.written(); err != nil {
		return "", err
	}
	var down, up func() error
	switch b.Random.IntN(4) {
	case 0, 1:
		how, down, up = "a node was stopped: ", victim.Pause, victim.Resume
	case 2:
		how, down, up = "a node was dead: ", victim.Kill, victim.Start
	default:
		down, up = func() error { return nil }, func() error { return nil }
	}
	if err := down(); err != nil {
		return how, err
	}
	err = b.revoke(i, through)
	if how != "" {
		cluster.Pause(context.Background(), b.between(intruderTimeout, 2*intruderTimeout)) // requests gather
	}
	if err = errors.Join(err, up()); err != nil {
		return how, err
	}
	return how, i.refused()
}
