// Package testseed seeds tests that draw their inputs at random.
package testseed

import (
	"math/rand/v2"
	"os"
	"strconv"
	"testing"
)

// Variable is the environment variable with the seed. The gate sets it, so that a change is not refused for what another
// change broke; everybody else plays new inputs in each run.
const Variable = "TENURE_TEST_SEED"

// Of returns the seed in Variable, or a new one if it is empty, and logs how to run the test with that seed again.
func Of(t testing.TB) uint64 {
	t.Helper()
	seed := rand.Uint64()
	if text := os.Getenv(Variable); text != "" {
		var err error
		if seed, err = strconv.ParseUint(text, 10, 64); err != nil {
			t.Fatalf("%s: %v", Variable, err)
		}
	}
	t.Logf("%s=%d repeats this", Variable, seed)
	return seed
}
