package client_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"tenure/client"
	"tenure/client/clienttest"
)

// story is what the methods are used for in TestCommands and against real nodes: each step gives a text, which must be
// want.
func story(t fataler, c *client.Client) {
	t.Helper()
	ctx, o := context.Background(), client.WriteOptions{}
	kind := func(err error) string {
		if err == nil {
			return "done"
		}
		return kindOf(t, err).Error()
	}
	put := func(key, value string) {
		if _, err := c.Set(ctx, key, []byte(value), o); err != nil {
			t.Fatalf("put: %v", err)
		}
	}
	put("n", "40")
	put("a", "x")
	for _, s := range []struct {
		what, want string
		do         func() string
	}{
		{"add", "42 done", func() string { n, _, err := c.Add(ctx, "n", 2, o); return fmt.Sprint(n, " ", kind(err)) }},
		{"add to a text", "0 not a number", func() string { n, _, err := c.Add(ctx, "a", 2, o); return fmt.Sprint(n, " ", kind(err)) }},
		{"add to nothing", "0 not found", func() string { n, _, err := c.Add(ctx, "none", 2, o); return fmt.Sprint(n, " ", kind(err)) }},
		{"test-and-set", "y done", func() string {
			v, _, err := c.TestAndSet(ctx, "a", []byte("x"), []byte("y"), o)
			return string(v) + " " + kind(err)
		}},
		{"test-and-set of another value", "y condition failed", func() string {
			v, _, err := c.TestAndSet(ctx, "a", []byte("x"), []byte("z"), o)
			return string(v) + " " + kind(err)
		}},
		{"rename", "done y", func() string {
			_, err := c.Rename(ctx, "a", "b//c", o)
			e, _, _ := c.Get(ctx, "b//c", client.ReadOptions{})
			return kind(err) + " " + string(e.Value)
		}},
		{"rename of nothing", "not found", func() string { _, err := c.Rename(ctx, "a", "d", o); return kind(err) }},
		{"remove", "y done", func() string {
			e, _, err := c.Remove(ctx, "b//c", o)
			return string(e.Value) + " " + kind(err)
		}},
		{"remove of nothing", " not found", func() string {
			e, _, err := c.Remove(ctx, "b//c", o)
			return string(e.Value) + " " + kind(err)
		}},
		{"expire", "done true", func() string {
			_, err := c.Expire(ctx, "n", time.Hour, o)
			e, _, _ := c.Get(ctx, "n", client.ReadOptions{})
			return fmt.Sprint(kind(err), " ", e.ExpiresIn > 59*time.Minute && e.ExpiresIn <= time.Hour)
		}},
		{"expire never", "done 0s", func() string {
			_, err := c.Expire(ctx, "n", 0, o)
			e, _, _ := c.Get(ctx, "n", client.ReadOptions{})
			return kind(err) + " " + e.ExpiresIn.String()
		}},
		{"put with a TTL", "done true", func() string {
			_, err := c.Set(ctx, "n", []byte("1"), client.WriteOptions{TTL: time.Minute})
			list, _, _ := c.List(ctx, "n", client.ListOptions{})
			return fmt.Sprint(kind(err), " ", len(list) == 1 && list[0].ExpiresIn > 0)
		}},
		{"a TTL where none goes", "invalid request", func() string {
			_, err := c.Delete(ctx, "n", client.WriteOptions{TTL: time.Minute})
			return kind(err)
		}},
		{"transaction", "done 2: n=2 t=", func() string {
			r, err := c.Txn(ctx, []client.TxnOp{
				{Verb: client.TxnAdd, Key: "n", Num: 1}, {Verb: client.TxnSet, Key: "t", Value: []byte("v")},
				{Verb: client.TxnCheckValue, Key: "n", Value: []byte("2")}, {Verb: client.TxnDelete, Key: "none"},
			}, o)
			return txnText(kind(err), r, client.TxnAdd, client.TxnSet)
		}},
		{"transaction that fails", "condition failed [0 2] 2", func() string {
			_, err := c.Txn(ctx, []client.TxnOp{
				{Verb: client.TxnCheckNotExists, Key: "n"}, {Verb: client.TxnSet, Key: "n", Value: nil}, {Verb: client.TxnGet, Key: "none"},
			}, o)
			var failed *client.TxnError
			if !errors.As(err, &failed) {
				return err.Error()
			}
			var ops []int
			for _, f := range failed.Failed {
				ops = append(ops, f.Op)
			}
			e, _, _ := c.Get(ctx, "n", client.ReadOptions{})
			return fmt.Sprint(kind(err), " ", ops, " ", string(e.Value))
		}},
		{"transaction of nothing", "invalid request", func() string { _, err := c.Txn(ctx, nil, o); return kind(err) }},
		{"session", "done worker 20s 1s release", func() string {
			id, err := c.Sessions().Create(ctx, client.SessionOptions{Name: "worker", TTL: 20 * time.Second, LockDelay: time.Second})
			s, _, infoErr := c.Sessions().Info(ctx, id, client.ReadOptions{})
			if infoErr != nil || s.ID != id {
				return fmt.Sprint(infoErr)
			}
			return fmt.Sprint(kind(err), " ", s.Name, " ", s.TTL, " ", s.LockDelay, " ", s.Behavior)
		}},
		{"session with a bad TTL", "invalid request", func() string {
			_, err := c.Sessions().Create(ctx, client.SessionOptions{TTL: time.Millisecond})
			return kind(err)
		}},
		{"locks", "done|condition failed|no such session|done|done|no such session|0 of 2", func() string {
			mine, err1 := c.Sessions().Create(ctx, client.SessionOptions{LockDelay: client.NoLockDelay})
			other, err2 := c.Sessions().Create(ctx, client.SessionOptions{LockDelay: client.NoLockDelay, Node: "here"})
			if err1 != nil || err2 != nil {
				return fmt.Sprint(err1, err2)
			}
			var got []string
			acquire := func(s string) {
				_, err := c.Locks().LockKey(ctx, "lock", []byte(s), s, o)
				got = append(got, kind(err))
			}
			acquire(mine)
			acquire(other)
			acquire("6b0f8b0e-4ce4-4a37-9f4c-1be6a1f4d0aa")
			_, err := c.Locks().UnlockKey(ctx, "lock", nil, mine, o)
			got = append(got, kind(err))
			acquire(other)
			of, _, _ := c.Sessions().ListOf(ctx, "here", client.ReadOptions{})
			for _, s := range []string{mine, other} {
				if _, err := c.Sessions().Renew(ctx, s); err != nil {
					return err.Error()
				}
				if err := c.Sessions().Destroy(ctx, s, o); err != nil {
					return err.Error()
				}
			}
			_, err = c.Sessions().Renew(ctx, mine)
			all, _, listErr := c.Sessions().List(ctx, client.ReadOptions{})
			if listErr != nil || len(of) != 1 || of[0].ID != other {
				return fmt.Sprint(of, listErr)
			}
			return strings.Join(append(got, kind(err), fmt.Sprintf("%d of 2", len(all)-1)), "|")
		}},
	} {
		if got := s.do(); got != s.want {
			t.Fatalf("%s: %q, want %q", s.what, got, s.want)
		}
	}
}

// txnText tells what r shows of writes: their entries without values but for adds.
func txnText(kind string, r client.TxnResult, verbs ...client.Verb) string {
	out := fmt.Sprintf("%s %d:", kind, min(len(r.Entries), len(verbs)))
	for i, e := range r.Entries {
		if i < len(verbs) {
			out += fmt.Sprintf(" %s=%s", e.Key, e.Value)
		}
	}
	return out
}

func TestCommands(t *testing.T) {
	inWorld(t, 2, client.Config{}, func(t *testing.T, w *world) { story(t, w.client) })
}

// TestCommandsAreAppliedOnce: every answer is lost twice, and each command is done once.
func TestCommandsAreAppliedOnce(t *testing.T) {
	inWorld(t, 3, client.Config{}, func(t *testing.T, w *world) {
		ctx, c, o := context.Background(), w.client, client.WriteOptions{}
		w.Set("n", "1")
		w.Set("a", "x")
		var session string
		for i, do := range []func() error{
			func() error {
				n, _, err := c.Add(ctx, "n", 1, o)
				if n != 2 {
					return fmt.Errorf("sum %d, %w", n, err)
				}
				return err
			},
			func() error { _, _, err := c.TestAndSet(ctx, "a", []byte("x"), []byte("y"), o); return err },
			func() error { _, err := c.Rename(ctx, "a", "b", o); return err },
			func() error { _, err := c.Expire(ctx, "b", time.Hour, o); return err },
			func() error {
				e, _, err := c.Remove(ctx, "b", o)
				if string(e.Value) != "y" {
					return fmt.Errorf("removed %q, %w", e.Value, err)
				}
				return err
			},
			func() error {
				_, err := c.Txn(ctx, []client.TxnOp{{Verb: client.TxnAdd, Key: "n", Num: 1}}, o)
				return err
			},
			func() (err error) { session, err = c.Sessions().Create(ctx, client.SessionOptions{}); return err },
			func() error { _, err := c.Locks().LockKey(ctx, "k", nil, session, o); return err },
			func() error { _, err := c.Locks().UnlockKey(ctx, "k", nil, session, o); return err },
			func() error { return c.Sessions().Destroy(ctx, session, o) },
		} {
			w.on(2, writes, clienttest.DropApplied)
			if err := do(); err != nil {
				t.Errorf("write %d: %v", i, err)
			}
			if w.Applied() != 3+i {
				t.Fatalf("write %d: %d writes applied, want %d", i, w.Applied(), 3+i)
			}
		}
	})
}
