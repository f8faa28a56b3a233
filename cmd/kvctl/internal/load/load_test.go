package load

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"tenure/client"
	"tenure/cmd/kvctl/internal/records"
)

// store is a cluster that remembers idempotency keys and counts how often each key is written. Now and then it loses an
// answer, before or after it has done what it was asked for.
type store struct {
	mu         sync.Mutex
	random     *rand.Rand
	loseOneOf  int // calls; 0: none
	refuse     error
	values     map[string]string
	writes     map[string]int
	remembered map[string]error
	revision   uint64
	calls      int
}

func newStore(seed uint64) *store {
	return &store{random: rand.New(rand.NewPCG(seed, 1)), values: map[string]string{}, writes: map[string]int{},
		remembered: map[string]error{}, revision: 1}
}

func (s *store) do(once client.Once, ops []client.TxnOp) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.calls++
	if once.Key == "" || once.New != (once.Base == 0) {
		panic(fmt.Sprintf("%+v", once))
	}
	if once.New {
		once = client.Once{Key: once.Key, Base: s.revision}
	}
	lost := s.loseOneOf > 0 && s.random.IntN(s.loseOneOf) == 0
	lostError := &client.Error{Op: "txn", Kind: client.ErrUnknown, Once: once}
	if lost && s.random.IntN(2) == 0 {
		return lostError
	}
	if s.refuse != nil {
		return &client.Error{Op: "txn", Kind: s.refuse, Once: once}
	}
	err, known := s.remembered[once.Key]
	if !known {
		err = s.apply(ops)
		s.remembered[once.Key] = err
	}
	if lost {
		return lostError
	}
	return err
}

func (s *store) apply(ops []client.TxnOp) error {
	var failed client.TxnError
	for i, o := range ops {
		if _, there := s.values[o.Key]; there && o.Verb == client.TxnCAS {
			failed.Failed = append(failed.Failed, client.TxnFailure{Op: i})
		}
	}
	if len(failed.Failed) > 0 {
		return &client.Error{Op: "txn", Kind: client.ErrCondition, Err: &failed}
	}
	s.revision++
	for _, o := range ops {
		s.values[o.Key] = string(o.Value)
		s.writes[o.Key]++
	}
	return nil
}

func (s *store) Set(_ context.Context, key string, v []byte, o client.WriteOptions) (uint64, error) {
	return 0, s.do(o.Once, []client.TxnOp{{Verb: client.TxnSet, Key: key, Value: v}})
}

func (s *store) CompareAndSet(_ context.Context, key string, v []byte, _ uint64, o client.WriteOptions) (uint64, error) {
	return 0, s.do(o.Once, []client.TxnOp{{Verb: client.TxnCAS, Key: key, Value: v}})
}

func (s *store) Txn(_ context.Context, ops []client.TxnOp, o client.WriteOptions) (r client.TxnResult, err error) {
	return r, s.do(o.Once, ops)
}

// source returns n records; one in 50 has a TTL, one in 60 is large.
func source(n int) func() (records.Record, error) {
	i := 0
	return func() (records.Record, error) {
		if i == n {
			return records.Record{}, io.EOF
		}
		r := records.Record{Key: fmt.Sprintf("k%06d", i), Value: fmt.Append(nil, i)}
		if i%50 == 49 {
			r.TTL = time.Minute
		}
		if i%60 == 59 {
			r.Value = make([]byte, maxBatchBytes+1)
		}
		i++
		return r, nil
	}
}

func runOn(t *testing.T, s *store, c Config) (Result, error) {
	t.Helper()
	c.Store, c.Wait = s, time.Minute
	return Run(context.Background(), c)
}

// TestEachRecordIsWrittenOnce resumes a run as often as it takes, with answers lost, and counts.
func TestEachRecordIsWrittenOnce(t *testing.T) {
	const n = 3000
	for seed := range uint64(8) {
		for _, conflict := range []Conflict{Overwrite, Skip} {
			s := newStore(seed)
			s.loseOneOf = 8
			existed := 0
			if conflict == Skip {
				for i := 0; i < n; i += 7 {
					s.values[fmt.Sprintf("k%06d", i)] = "before"
					existed++
				}
			}
			resume, runs := NewResume(), 0
			for {
				runs++
				result, err := runOn(t, s, Config{Next: source(n), Conflict: conflict, Resume: resume})
				if err == nil {
					if result.Resume != nil || result.Unknown != 0 || result.Before+result.Written+result.Skipped != n {
						t.Fatalf("seed %d: %+v", seed, result)
					}
					break
				}
				if !errors.Is(err, client.ErrUnknown) || result.Resume == nil || runs > 1000 {
					t.Fatalf("seed %d: %+v, %v", seed, result, err)
				}
				if resume, err = ParseResume(result.Resume.String()); err != nil {
					t.Fatalf("seed %d: %s: %v", seed, result.Resume, err)
				}
			}
			if runs < 5 || len(s.values) != n || len(s.writes) != n-existed {
				t.Fatalf("seed %d: %d runs, %d keys, %d written", seed, runs, len(s.values), len(s.writes))
			}
			for key, times := range s.writes {
				if times != 1 {
					t.Fatalf("seed %d: %s was written %d times", seed, key, times)
				}
			}
		}
	}
}

func TestAKeyThatComesTwiceEndsAsTheLaterRecord(t *testing.T) {
	for seed := range uint64(5) {
		s := newStore(seed)
		i := 0
		_, err := runOn(t, s, Config{Conflict: Overwrite, Resume: NewResume(), Next: func() (records.Record, error) {
			i++
			if i > 20_000 {
				return records.Record{}, io.EOF
			}
			return records.Record{Key: fmt.Sprintf("k%03d", i%300), Value: fmt.Append(nil, i)}, nil
		}})
		if err != nil {
			t.Fatal(err)
		}
		for i := 19_701; i <= 20_000; i++ {
			if key := fmt.Sprintf("k%03d", i%300); s.values[key] != fmt.Sprint(i) {
				t.Fatalf("%s is %s, want %d", key, s.values[key], i)
			}
		}
	}
}

func TestFailEndsAtTheFirstKeyThatExists(t *testing.T) {
	s := newStore(1)
	s.values["k000300"] = "before"
	result, err := runOn(t, s, Config{Next: source(100_000), Conflict: Fail, Resume: NewResume()})
	if !errors.Is(err, ErrExists) || !strings.Contains(err.Error(), `"k000300"`) || result.Resume != nil ||
		s.values["k000300"] != "before" || len(s.values) > 2000 {
		t.Errorf("%+v, %v, %d keys", result, err, len(s.values))
	}
}

// TestARefusalUsesUpItsKey: what is sent again after a refusal has another key.
func TestARefusalUsesUpItsKey(t *testing.T) {
	s := newStore(1)
	s.refuse = client.ErrNoSpace
	result, err := runOn(t, s, Config{Next: source(5000), Conflict: Overwrite, Resume: NewResume()})
	if !errors.Is(err, client.ErrNoSpace) || result.Written != 0 || result.Unknown != 0 || result.Resume == nil {
		t.Fatalf("%+v, %v", result, err)
	}
	s.refuse = nil
	for _, l := range result.Resume.Left {
		s.remembered[fmt.Sprintf("%s-%d-0", result.Resume.Run, l.N)] = errors.New("the first result again")
	}
	if result, err = runOn(t, s, Config{Next: source(5000), Conflict: Overwrite, Resume: *result.Resume}); err != nil ||
		result.Written+result.Before != 5000 {
		t.Errorf("%+v, %v", result, err)
	}
}

// TestABadRecordSendsNoPartOfItsBatch: mended, the batch would have other records under the same number.
func TestABadRecordSendsNoPartOfItsBatch(t *testing.T) {
	s := newStore(1)
	bad := errors.New("line 30 is wrong")
	next, i := source(5000), 0
	result, err := runOn(t, s, Config{Conflict: Overwrite, Resume: NewResume(), Next: func() (records.Record, error) {
		if i++; i == 1030 {
			return records.Record{}, bad
		}
		return next()
	}})
	if !errors.Is(err, bad) || result.Resume == nil {
		t.Fatal(result, err)
	}
	result, err = runOn(t, s, Config{Next: source(5000), Conflict: Overwrite, Resume: *result.Resume})
	if err != nil || len(s.values) != 5000 {
		t.Errorf("%+v, %v, %d keys", result, err, len(s.values))
	}
	for key, times := range s.writes {
		if times != 1 {
			t.Fatalf("%s was written %d times", key, times)
		}
	}
}

func TestAShorterFileIsNotResumed(t *testing.T) {
	resume := NewResume()
	resume.Next = 50
	if result, err := runOn(t, newStore(1), Config{Next: source(10), Conflict: Overwrite, Resume: resume}); err == nil {
		t.Errorf("%+v", result)
	}
}

func TestAnEndedRunWaitsForWhatIsOnItsWay(t *testing.T) {
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	s := newStore(1)
	result, err := Run(ctx, Config{Store: s, Next: source(1000), Conflict: Overwrite, Resume: NewResume(), Wait: time.Minute})
	if !errors.Is(err, context.Canceled) || result.Resume == nil || s.calls > 1 {
		t.Errorf("%+v, %v", result, err)
	}
}

func TestResumeIsReadAsItWasWritten(t *testing.T) {
	r := NewResume()
	r.Base, r.Next, r.Left = 17, 9, []Left{{N: 3, Doubt: true}, {N: 8, Key: 2}}
	got, err := ParseResume(r.String())
	if err != nil || got.String() != r.String() || !slices.Equal(got.Left, r.Left) {
		t.Errorf("%s became %s, %v", &r, &got, err)
	}
	id := r.Run
	for _, s := range []string{"", "x", id, id + ":1:2", id + ":1:2:3", id + ":1:2:0.0,0.0", id + ":1:2:2.0", id + ":0:2:1.0u",
		id + ":-1:2:", id + ":1:-2:", id + ":1:2:1.0x", "{" + id + "}:1:2:", id + ":01:2:"} {
		if r, err := ParseResume(s); err == nil {
			t.Errorf("%q: %+v", s, r)
		}
	}
}

// Resuming with another file, or other flags, is refused and writes nothing: batches that the first run had settled
// would count as settled in the other file. The text for --resume stays good for the right one.
func TestAnotherFileIsNotResumed(t *testing.T) {
	const n = 3000
	s := newStore(3)
	s.loseOneOf = 8
	result, err := runOn(t, s, Config{Next: source(n), Conflict: Overwrite, Resume: NewResume()})
	if err == nil || result.Resume == nil || result.Resume.Next < 2 {
		t.Fatalf("%+v, %v", result, err)
	}
	s.loseOneOf = 0
	resume, calls := *result.Resume, s.calls
	change := func(i int, change func(*records.Record)) func() (records.Record, error) {
		next, at := source(n), -1
		return func() (records.Record, error) {
			r, err := next()
			if at++; at == i {
				change(&r)
			}
			return r, err
		}
	}
	for name, c := range map[string]Config{
		"a key":      {Next: change(5, func(r *records.Record) { r.Key += "x" }), Conflict: Overwrite},
		"a value":    {Next: change(5, func(r *records.Record) { r.Value = []byte("other") }), Conflict: Overwrite},
		"flags":      {Next: change(5, func(r *records.Record) { r.Flags++ }), Conflict: Overwrite},
		"a TTL":      {Next: change(49, func(r *records.Record) { r.TTL++ }), Conflict: Overwrite},
		"what to do": {Next: source(n), Conflict: Skip},
		"shorter":    {Next: source(3), Conflict: Overwrite},
	} {
		c.Resume = resume
		result, err := runOn(t, s, c)
		if !errors.Is(err, ErrOther) || s.calls != calls || result.Resume == nil || result.Resume.String() != resume.String() {
			t.Errorf("%s: %v, %d writes, %v, want %v", name, err, s.calls-calls, result.Resume, &resume)
		}
	}
	if result, err := runOn(t, s, Config{Next: source(n), Conflict: Overwrite, Resume: resume}); err != nil ||
		result.Before+result.Written != n || len(s.values) != n {
		t.Errorf("the same file: %+v, %v, %d keys", result, err, len(s.values))
	}
}
