// Package explorer has the explorer search one configuration for what is broken, as a test, so that it can be built
// over a mutant. It needs flags to do anything:
//
//	go test ./jepsen/mutants/hunt/explorer -args -config base -states 1000000
package explorer
