package client_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"pgregory.net/rapid"

	"tenure/client"
	"tenure/client/clienttest"
)

var kinds = []error{
	client.ErrNotFound, client.ErrCondition, client.ErrNotApplied, client.ErrUnknown, client.ErrKeyReused, client.ErrNoSpace,
	client.ErrTooLarge, client.ErrInvalid, client.ErrForbidden, client.ErrUnavailable, client.ErrNoSession, client.ErrFenced,
	client.ErrNotNumber, client.ErrDropped, client.ErrBusy, client.ErrLost, client.ErrDenied, client.ErrUnknownToken,
	client.ErrFeatureLevel,
}

// kindOf is the one sentinel that err matches.
func kindOf(t fataler, err error) error {
	t.Helper()
	if err == nil {
		return nil
	}
	var found []error
	for _, k := range kinds {
		if errors.Is(err, k) {
			found = append(found, k)
		}
	}
	if len(found) != 1 {
		t.Fatalf("%v matches %v, want exactly one kind", err, found)
	}
	return found[0]
}

// TestWriteOutcomes: one fault at every node for the first tries, and what the caller is told.
func TestWriteOutcomes(t *testing.T) {
	for _, c := range []struct {
		fault   clienttest.Fault
		times   int
		kind    error
		applied int
	}{
		{clienttest.Busy, 1, nil, 1},
		{clienttest.Busy, 5, nil, 1},
		{clienttest.Busy, -1, client.ErrNotApplied, 0},
		{clienttest.BusyLater, 3, nil, 1},
		{clienttest.BusyLater, -1, client.ErrNotApplied, 0},
		{clienttest.Unknown, 2, nil, 1},
		{clienttest.Unknown, -1, client.ErrUnknown, 0},
		{clienttest.UnknownApplied, 2, nil, 1},
		{clienttest.UnknownApplied, -1, client.ErrUnknown, 1},
		{clienttest.Drop, 2, nil, 1},
		{clienttest.Drop, -1, client.ErrUnknown, 0},
		{clienttest.DropApplied, 1, nil, 1},
		{clienttest.DropApplied, 7, nil, 1},
		{clienttest.DropApplied, -1, client.ErrUnknown, 1},
		{clienttest.Hang, 2, nil, 1},
		{clienttest.Hang, -1, client.ErrUnknown, 0},
		{clienttest.HangApplied, 1, nil, 1},
		{clienttest.Garbage, 1, nil, 1},
		{clienttest.NoSpace, 1, client.ErrNoSpace, 0},
		{clienttest.TooLarge, 1, client.ErrTooLarge, 0},
	} {
		t.Run(fmt.Sprintf("%d×%d", c.fault, c.times), func(t *testing.T) {
			inWorld(t, 3, client.Config{}, func(t *testing.T, w *world) {
				w.on(c.times, writes, c.fault)
				began := time.Now()
				rev, err := w.client.Set(context.Background(), "k", []byte("v"), client.WriteOptions{})
				if k := kindOf(t, err); k != c.kind {
					t.Fatalf("told %v, want %v", err, c.kind)
				}
				if w.Applied() != c.applied {
					t.Fatalf("applied %d times, want %d", w.Applied(), c.applied)
				}
				if err == nil && rev != 2 {
					t.Fatalf("revision %d, want 2", rev)
				}
				if took := time.Since(began); took > client.DefaultTimeout {
					t.Fatalf("took %v", took)
				}
			})
		})
	}
}

// TestDoubtStays: once a copy may have been applied, refusals of later copies do not make the write "not applied".
func TestDoubtStays(t *testing.T) {
	for _, later := range []clienttest.Fault{clienttest.Busy, clienttest.NoSpace, clienttest.TooLarge} {
		for _, first := range []clienttest.Fault{clienttest.DropApplied, clienttest.UnknownApplied, clienttest.HangApplied, clienttest.Drop} {
			inWorld(t, 2, client.Config{}, func(t *testing.T, w *world) {
				var n int
				w.Inject(func(r clienttest.Request) clienttest.Fault {
					if !r.IsWrite() {
						return clienttest.None
					}
					if n++; n == 1 {
						return first
					}
					return later
				})
				_, err := w.client.Set(context.Background(), "k", nil, client.WriteOptions{})
				if kindOf(t, err) != client.ErrUnknown {
					t.Fatalf("fault %d, then %d: told %v", first, later, err)
				}
			})
		}
	}
}

// TestDoubtOutlivesTheNodes: a write is cut, and then every node is gone.
func TestDoubtOutlivesTheNodes(t *testing.T) {
	inWorld(t, 2, client.Config{}, func(t *testing.T, w *world) {
		if _, err := w.client.Set(context.Background(), "warm", nil, client.WriteOptions{}); err != nil {
			t.Fatal(err)
		}
		w.Inject(func(r clienttest.Request) clienttest.Fault {
			w.kill(int(3 - r.Node))
			w.kill(int(r.Node))
			return clienttest.DropApplied
		})
		_, err := w.client.Set(context.Background(), "k", nil, client.WriteOptions{})
		if kindOf(t, err) != client.ErrUnknown || w.Applied() != 2 {
			t.Fatalf("told %v, applied %d", err, w.Applied())
		}
	})
}

func TestNobodyThere(t *testing.T) {
	inWorld(t, 2, client.Config{}, func(t *testing.T, w *world) {
		w.kill(1)
		w.kill(2)
		_, err := w.client.Set(context.Background(), "k", nil, client.WriteOptions{})
		if kindOf(t, err) != client.ErrNotApplied {
			t.Fatalf("told %v", err)
		}
		_, _, err = w.client.Get(context.Background(), "k", client.ReadOptions{})
		if kindOf(t, err) != client.ErrUnavailable {
			t.Fatalf("told %v", err)
		}
	})
}

// TestSameOnceInAllTries: every try carries one key and one base, whatever the endpoint.
func TestSameOnceInAllTries(t *testing.T) {
	inWorld(t, 3, client.Config{}, func(t *testing.T, w *world) {
		w.Set("other", "x")
		var mu sync.Mutex
		seen := map[string][]uint64{}
		w.Inject(func(r clienttest.Request) clienttest.Fault {
			if !r.IsWrite() {
				return clienttest.None
			}
			w.Set("other", "x") // the revision moves on between the tries
			mu.Lock()
			defer mu.Unlock()
			id := r.Key + "/" + r.Base
			seen[id] = append(seen[id], r.Node)
			if len(seen[id]) < 5 {
				return clienttest.Drop
			}
			return clienttest.None
		})
		for range 2 {
			if _, err := w.client.Set(context.Background(), "k", nil, client.WriteOptions{}); err != nil {
				t.Fatal(err)
			}
		}
		if len(seen) != 2 {
			t.Fatalf("key/base pairs %v, want one a write", seen)
		}
		for id, nodes := range seen {
			if strings.HasSuffix(id, "/0") {
				t.Errorf("%s: base 0 although the store was at revision 2", id)
			}
			slices.Sort(nodes)
			if n := slices.Compact(nodes); len(n) != 3 {
				t.Errorf("%s went to nodes %v only", id, n)
			}
		}
	})
}

// TestKeyTooOld: nobody can tell any more, so nothing is tried again.
func TestKeyTooOld(t *testing.T) {
	inWorld(t, 2, client.Config{}, func(t *testing.T, w *world) {
		var tries int
		w.Inject(func(r clienttest.Request) clienttest.Fault {
			if !r.IsWrite() {
				return clienttest.None
			}
			if tries++; tries == 1 {
				return clienttest.DropApplied
			}
			w.Forget()
			return clienttest.None
		})
		_, err := w.client.Set(context.Background(), "k", nil, client.WriteOptions{})
		if kindOf(t, err) != client.ErrUnknown || tries != 2 || w.Applied() != 1 {
			t.Fatalf("told %v after %d tries, applied %d", err, tries, w.Applied())
		}
	})
}

// TestIdleClientLearnsTheRevision: a base from long ago would be refused as too old.
func TestIdleClientLearnsTheRevision(t *testing.T) {
	inWorld(t, 1, client.Config{}, func(t *testing.T, w *world) {
		for range 3 {
			if _, err := w.client.Set(context.Background(), "k", nil, client.WriteOptions{}); err != nil {
				t.Fatal(err)
			}
			w.Set("other", "x")
			w.Forget()
			w.Set("other", "x")
			time.Sleep(time.Minute)
		}
	})
}

// TestBaseIsNotAskedOfANodeThatTakesNoPart: it may know of nothing.
func TestBaseIsNotAskedOfANodeThatTakesNoPart(t *testing.T) {
	inWorld(t, 2, client.Config{}, func(t *testing.T, w *world) {
		w.Node(1).SetProblem("its directory was empty")
		var asked []uint64
		w.Inject(func(r clienttest.Request) clienttest.Fault {
			if r.Path == "/v1/status" {
				asked = append(asked, r.Node)
			}
			return clienttest.None
		})
		if _, err := w.client.Set(context.Background(), "k", nil, client.WriteOptions{}); err != nil {
			t.Fatal(err)
		}
		if !slices.Equal(asked, []uint64{1, 2}) {
			t.Fatalf("asked %v, want node 1 and then node 2", asked)
		}
	})
}

// TestNoWriteWithoutABase: a write whose base cannot be learned is not sent, and so not applied.
func TestNoWriteWithoutABase(t *testing.T) {
	inWorld(t, 2, client.Config{Timeout: time.Second}, func(t *testing.T, w *world) {
		sent := 0
		w.inject(func(r clienttest.Request) clienttest.Fault {
			if r.IsWrite() {
				sent++
				return clienttest.None
			}
			return clienttest.Busy
		})
		_, err := w.client.Set(context.Background(), "k", nil, client.WriteOptions{})
		if kindOf(t, err) != client.ErrNotApplied || sent != 0 {
			t.Errorf("sent %d times: %v", sent, err)
		}
	})
}

// TestBaseIsAskedOfAFullNode: a delete there may be what makes space.
func TestBaseIsAskedOfAFullNode(t *testing.T) {
	inWorld(t, 1, client.Config{}, func(t *testing.T, w *world) {
		w.Node(1).SetFull("the disk has reached its reserve")
		if _, err := w.client.Delete(context.Background(), "k", client.WriteOptions{}); err != nil {
			t.Fatal(err)
		}
	})
}

// TestSteadyWriterAsksNoStatus: the answers to writes are enough.
func TestSteadyWriterAsksNoStatus(t *testing.T) {
	inWorld(t, 1, client.Config{}, func(t *testing.T, w *world) {
		var asked int
		w.Inject(func(r clienttest.Request) clienttest.Fault {
			if r.Path == "/v1/status" {
				asked++
			}
			return clienttest.None
		})
		for range 100 {
			if _, err := w.client.Set(context.Background(), "k", nil, client.WriteOptions{}); err != nil {
				t.Fatal(err)
			}
			time.Sleep(100 * time.Millisecond)
		}
		if asked != 1 {
			t.Fatalf("asked for the status %d times in 10 s of writing, want 1", asked)
		}
	})
}

// TestResume: another client settles a write whose outcome was unknown.
func TestResume(t *testing.T) {
	inWorld(t, 1, client.Config{}, func(t *testing.T, w *world) {
		w.on(-1, writes, clienttest.DropApplied)
		_, err := w.client.CompareAndSet(context.Background(), "k", []byte("v"), 0, client.WriteOptions{})
		var e *client.Error
		if !errors.As(err, &e) || kindOf(t, err) != client.ErrUnknown || e.Once.Key == "" {
			t.Fatalf("told %v", err)
		}
		w.on(-1, writes, clienttest.Busy)
		again := client.WriteOptions{Once: e.Once}
		if _, err := w.client.CompareAndSet(context.Background(), "k", []byte("v"), 0, again); kindOf(t, err) != client.ErrUnknown {
			t.Fatalf("a resumed write that was refused: told %v, want still unknown", err)
		}
		w.Inject(func(clienttest.Request) clienttest.Fault { return clienttest.None })
		rev, err := w.client.CompareAndSet(context.Background(), "k", []byte("v"), 0, again)
		if err != nil || rev != 2 || w.Applied() != 1 {
			t.Fatalf("revision %d, %v, applied %d; want the first outcome", rev, err, w.Applied())
		}
		_, err = w.client.CompareAndSet(context.Background(), "k", []byte("another"), 0, client.WriteOptions{Once: e.Once})
		if w.Applied() != 1 || kindOf(t, err) != client.ErrUnknown {
			t.Fatalf("another write under the same key: %v, applied %d", err, w.Applied())
		}
	})
}

// TestCanceled: a canceled call tells whether anything had left.
func TestCanceled(t *testing.T) {
	inWorld(t, 1, client.Config{}, func(t *testing.T, w *world) {
		ctx, cancel := context.WithCancel(context.Background())
		cancel()
		_, err := w.client.Set(ctx, "k", nil, client.WriteOptions{})
		if kindOf(t, err) != client.ErrNotApplied || !errors.Is(err, context.Canceled) {
			t.Fatalf("canceled before: told %v", err)
		}
		ctx, cancel = context.WithCancel(context.Background())
		w.Inject(func(r clienttest.Request) clienttest.Fault {
			if r.IsWrite() {
				cancel()
				return clienttest.Hang
			}
			return clienttest.None
		})
		_, err = w.client.Set(ctx, "k", nil, client.WriteOptions{})
		if kindOf(t, err) != client.ErrUnknown || !errors.Is(err, context.Canceled) {
			t.Fatalf("canceled under way: told %v", err)
		}
	})
}

// TestRetryAfter: a node that names a time is left alone that long; the others are not.
func TestRetryAfter(t *testing.T) {
	inWorld(t, 2, client.Config{}, func(t *testing.T, w *world) {
		began := time.Now()
		var at [3][]time.Duration
		w.Inject(func(r clienttest.Request) clienttest.Fault {
			if !r.IsWrite() {
				return clienttest.None
			}
			at[r.Node] = append(at[r.Node], time.Since(began))
			switch {
			case r.Node == 1 && len(at[1]) == 1:
				return clienttest.BusyLater
			case len(at[2]) < 4:
				return clienttest.Busy
			}
			return clienttest.None
		})
		if _, err := w.client.Set(context.Background(), "k", nil, client.WriteOptions{}); err != nil {
			t.Fatal(err)
		}
		if len(at[1]) != 1 || len(at[2]) != 4 || at[2][0] > 10*time.Millisecond {
			t.Fatalf("node 1 asked at %v, node 2 at %v", at[1], at[2])
		}
		w.on(2, writes, clienttest.BusyLater)
		began = time.Now()
		if _, err := w.client.Set(context.Background(), "k", nil, client.WriteOptions{}); err != nil {
			t.Fatal(err)
		}
		if d := time.Since(began); d < time.Second || d > 1300*time.Millisecond {
			t.Fatalf("both nodes named 1 s, and were asked again after %v", d)
		}
		w.on(-1, writes, clienttest.BusyLater)
		ctx, cancel := within(500 * time.Millisecond)
		defer cancel()
		if _, err := w.client.Set(ctx, "k", nil, client.WriteOptions{}); kindOf(t, err) != client.ErrNotApplied {
			t.Fatalf("told %v", err)
		}
	})
}

// TestNodesAreToldHowLongTheClientWaits: below AttemptTimeout and the deadline, so that a refusal comes in time.
func TestNodesAreToldHowLongTheClientWaits(t *testing.T) {
	inWorld(t, 1, client.Config{}, func(t *testing.T, w *world) {
		var told []string
		w.Inject(func(r clienttest.Request) clienttest.Fault {
			if !r.IsWrite() {
				return clienttest.None
			}
			if told = append(told, r.Timeout); len(told) < 3 {
				return clienttest.Hang
			}
			return clienttest.Busy
		})
		ctx, cancel := within(4500 * time.Millisecond)
		defer cancel()
		if _, err := w.client.Set(ctx, "k", nil, client.WriteOptions{}); kindOf(t, err) != client.ErrUnknown {
			t.Fatal(err)
		}
		if len(told) < 3 || told[0] != "1800" || told[1] != "1800" || told[2] == "" || len(told[2]) > 3 {
			t.Fatalf("told %q ms, want 1800 twice and then less than what is left", told)
		}
	})
}

// TestOutcomeIsHonest: under any faults in any order, each outcome reported to the caller is true. A counter by
// compare-and-set counts every write that was reported done exactly once.
func TestOutcomeIsHonest(t *testing.T) {
	faults := []clienttest.Fault{
		clienttest.None, clienttest.Busy, clienttest.BusyLater, clienttest.NoSpace, clienttest.Unknown, clienttest.UnknownApplied,
		clienttest.Drop, clienttest.DropApplied, clienttest.Hang, clienttest.HangApplied, clienttest.Garbage,
	}
	rapid.Check(t, func(r *rapid.T) {
		plan := rapid.SliceOfN(rapid.SampledFrom(faults), 0, 40).Draw(r, "faults")
		var wrong error
		synctest.Test(t, func(t *testing.T) { wrong = honest(t, plan) })
		if wrong != nil {
			r.Fatal(wrong)
		}
	})
}

// honest plays four writes against a list of faults, one a try.
func honest(t *testing.T, plan []clienttest.Fault) error {
	w := newWorld(t, 3, client.Config{Timeout: 4 * time.Second, AttemptTimeout: 500 * time.Millisecond})
	defer w.close()
	var mu sync.Mutex
	w.Inject(func(r clienttest.Request) clienttest.Fault {
		mu.Lock()
		defer mu.Unlock()
		if !r.IsWrite() || len(plan) == 0 {
			return clienttest.None
		}
		f := plan[0]
		plan = plan[1:]
		return f
	})
	var value, index uint64
	for i := range 4 {
		before := w.Applied()
		next := []byte(strconv.FormatUint(value+1, 10))
		rev, err := w.client.CompareAndSet(context.Background(), "n", next, index, client.WriteOptions{})
		did := w.Applied() - before
		kind := kindOf(t, err)
		most := map[error]int{nil: 1, client.ErrUnknown: 1}[kind]
		if did > most || kind == nil && did == 0 || errors.Is(kind, client.ErrCondition) {
			return fmt.Errorf("write %d: told %v, applied %d times", i, err, did)
		}
		if did == 1 {
			value++
			index = w.Revision()
		}
		if err == nil && rev != index {
			return fmt.Errorf("write %d: told revision %d, is %d", i, rev, index)
		}
	}
	if got, _ := w.Value("n"); value > 0 && got != strconv.FormatUint(value, 10) {
		return fmt.Errorf("the counter says %s, want %d", got, value)
	}
	return nil
}

func TestWrites(t *testing.T) {
	inWorld(t, 3, client.Config{}, func(t *testing.T, w *world) {
		ctx, c, o := context.Background(), w.client, client.WriteOptions{}
		must := func(want error, rev uint64, err error) uint64 {
			t.Helper()
			if kindOf(t, err) != want {
				t.Fatalf("told %v, want %v", err, want)
			}
			return rev
		}
		do := func(want error) func(uint64, error) uint64 {
			return func(rev uint64, err error) uint64 { t.Helper(); return must(want, rev, err) }
		}
		odd := "a//b/../%2F ?#é\n"
		first := do(nil)(c.CompareAndSet(ctx, odd, []byte("1"), 0, o))
		do(client.ErrCondition)(c.CompareAndSet(ctx, odd, []byte("2"), 0, o))
		second := do(nil)(c.CompareAndSet(ctx, odd, []byte("2"), first, client.WriteOptions{Flags: 1<<64 - 1}))
		e, _, err := c.Get(ctx, odd, client.ReadOptions{})
		if err != nil || e.Key != odd || string(e.Value) != "2" || e.Flags != 1<<64-1 || e.CreateIndex != first || e.ModifyIndex != second {
			t.Fatalf("entry %+v, %v", e, err)
		}
		do(client.ErrCondition)(c.CompareAndDelete(ctx, odd, first, o))
		do(nil)(c.CompareAndDelete(ctx, odd, second, o))
		do(nil)(c.CompareAndDelete(ctx, odd, second, o))
		do(nil)(c.Delete(ctx, odd, o))
		for _, k := range []string{"p/1", "p/2", "q"} {
			do(nil)(c.Set(ctx, k, nil, o))
		}
		n, rev, err := c.Prune(ctx, "p/", o)
		if err != nil || n != 2 || rev != w.Revision() {
			t.Fatalf("pruned %d at %d, %v", n, rev, err)
		}
		do(nil)(c.Set(ctx, "sum", []byte("4"), o))
		if sum, rev, err := c.Add(ctx, "sum", 3, o); err != nil || sum != 7 || rev != w.Revision() {
			t.Fatalf("sum %d at %d, %v", sum, rev, err)
		}
		for _, bad := range []string{"", strings.Repeat("k", 1025), "\xff"} {
			do(client.ErrInvalid)(c.Set(ctx, bad, nil, o))
			do(client.ErrInvalid)(c.Delete(ctx, bad, o))
		}
		if _, ok := w.Value("q"); !ok {
			t.Fatal("a delete of nothing has deleted something")
		}
	})
}
