// Package simulator has the simulator play some seeds, as a test, so that it can be built over a mutant. It needs
// flags to do anything:
//
//	go test ./jepsen/mutants/hunt/simulator -args -first 1 -seeds 200
package simulator
