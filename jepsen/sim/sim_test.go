package sim

import (
	"bytes"
	"context"
	"flag"
	"fmt"
	"os"
	"strings"
	"testing"
)

var update = flag.Bool("update", false, "write testdata/hashes.txt anew")

// TestSimShort plays some seeds; .ci/run plays those that follow, where no package has a time limit. A failing one is
// shrunk, and the failure says what to run to see it.
func TestSimShort(t *testing.T) {
	s := Search{Start: 1001, Seeds: 120} // seeds in which leases change their owner often enough for Worked
	r := s.Run(context.Background())
	t.Log(r.String())
	if r.Failed != nil {
		small := Shrink(t.Context(), *r.Failed)
		t.Fatalf("seed %d: %v\nshrunk: %v\nto see it: %s", r.Failed.Config.Seed, r.Failed.Failure, small.Failure,
			small.Command())
	}
	if err := r.Worked(); err != nil {
		t.Error(err)
	}
}

// TestMembersShort is TestSimShort for clusters whose members change.
func TestMembersShort(t *testing.T) {
	s := Search{Start: 1, Seeds: 60, Members: true}
	r := s.Run(context.Background())
	t.Log(r.String())
	if r.Failed != nil {
		small := Shrink(t.Context(), *r.Failed)
		t.Fatalf("seed %d: %v\nshrunk: %v\nto see it: %s", r.Failed.Config.Seed, r.Failed.Failure, small.Failure,
			small.Command())
	}
	if err := r.Worked(); err != nil {
		t.Error(err)
	}
}

// TestSameSeedSameRun: nothing but the seed decides what happens, down to the text of the trace.
func TestSameSeedSameRun(t *testing.T) {
	for seed := uint64(1); seed <= 20; seed++ {
		var traces [2]bytes.Buffer
		c := Config{Seed: seed, Steps: 2000, Members: seed%2 == 0}
		quiet := Run(c)
		c.Trace = &traces[0]
		a := Run(c)
		c.Trace = &traces[1]
		b := Run(c)
		if a.Hash != b.Hash || a.Steps != b.Steps || !bytes.Equal(traces[0].Bytes(), traces[1].Bytes()) {
			t.Errorf("seed %d: two runs differ: %x and %x", seed, a.Hash, b.Hash)
		}
		if quiet.Hash != a.Hash || quiet.Counts != a.Counts {
			t.Errorf("seed %d: writing a trace changes the run", seed)
		}
		if lines := bytes.Count(traces[0].Bytes(), []byte("\n")); lines != a.Steps {
			t.Errorf("seed %d: %d lines for %d steps", seed, lines, a.Steps)
		}
	}
}

const hashFile = "testdata/hashes.txt"

// TestTraceHashes holds that a seed is the same run on every machine. The file may be written anew, with -update, in a
// commit that changes the nodes' behavior (in any part under test) or the simulator's draws. A difference on another
// machine, or between two runs of one commit, is a fault.
func TestTraceHashes(t *testing.T) {
	var got strings.Builder
	for _, seed := range []uint64{1, 2, 3, 5, 8, 13, 21, 34, 55, 89} {
		r := Run(Config{Seed: seed, Steps: 2000})
		fmt.Fprintf(&got, "%d %016x %d\n", seed, r.Hash, r.Steps)
	}
	if *update {
		if err := os.WriteFile(hashFile, []byte(got.String()), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(hashFile)
	if err != nil {
		t.Fatal(err)
	}
	if got.String() != string(want) {
		t.Errorf("seed, hash and steps are\n%swant\n%s"+
			"After a change of what nodes do: go test ./jepsen/sim -run TraceHashes -update",
			got.String(), want)
	}
}

func TestParseFaults(t *testing.T) {
	f, err := ParseFaults(allFaults.String())
	if err != nil || f != allFaults {
		t.Fatalf("%v, %v", f, err)
	}
	if _, err := ParseFaults("pause,thunder"); err == nil || !strings.Contains(err.Error(), "thunder") {
		t.Fatal("an unknown class is accepted")
	}
}

// TestFaultsCanBeSwitchedOff: shrinking relies on it.
func TestFaultsCanBeSwitchedOff(t *testing.T) {
	for seed := uint64(1); seed < 20; seed++ {
		r := Run(Config{Seed: seed, Without: allFaults, Clients: 2, Steps: 1000})
		if r.Failure != nil {
			t.Fatalf("seed %d: %v", seed, r.Failure)
		}
		if r.Faults != 0 || r.Counts.Faults != [len(faultNames)]int{} {
			t.Errorf("seed %d: faults %v took effect: %v", seed, r.Faults, r.Counts.Faults)
		}
	}
}

// TestAMasterWhoseLogHangsLetsGo: its disk answers nothing, and its log loop waits for that.
func TestAMasterWhoseLogHangsLetsGo(t *testing.T) {
	for seed := uint64(26); seed < 200; seed++ { // seed 26 shows it
		r := Run(Config{Seed: seed})
		if r.Failure != nil {
			t.Fatalf("seed %d: %v", seed, r.Failure)
		}
		if r.Counts.Hung > 0 {
			return
		}
	}
	t.Error("no master has let go because its log hung")
}

// TestClocksOutsideThePromiseAreNoticed: clocks that stop give two owners, and the checks see it if they are asked to.
// The shrunk run needs those clocks, and is the same run when it is played again.
func TestClocksOutsideThePromiseAreNoticed(t *testing.T) {
	// Seed 44 shows it; to play all before takes half a minute.
	for seed := uint64(40); seed < 400; seed++ {
		r := Run(Config{Seed: seed, trusting: true})
		if r.Failure == nil || r.Failure.Check != "one owner" {
			continue
		}
		small := Shrink(t.Context(), r)
		if small.Failure == nil || small.Failure.Check != r.Failure.Check || small.Faults&Freeze == 0 ||
			small.Steps > r.Steps {
			t.Errorf("seed %d, %v: shrunk to %+v", seed, r.Failure, small)
		}
		if again := Run(small.Config); again.Failure == nil || again.Hash != small.Hash {
			t.Errorf("seed %d: the shrunk run is not the same when it is played again", seed)
		}
		return
	}
	t.Error("no two owners were seen")
}

// TestShrinkEndsWithItsContext: it plays no run any more.
func TestShrinkEndsWithItsContext(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	r := Result{Config: Config{Seed: 1}, Faults: Drop, Failure: &Failure{Check: "none", Step: 10}}
	if s := (&shrinker{ctx: ctx, best: r}); s.try(Config{Seed: 1}) || s.runs != 0 {
		t.Errorf("%d runs", s.runs)
	}
	if small := Shrink(ctx, r); small.Config != r.Config || small.Failure != r.Failure {
		t.Errorf("%+v became %+v", r, small)
	}
}
