package workload

import (
	"fmt"
	"math/rand/v2"
	"time"
)

// generator makes the choices of one client. Its seed is that of the run and the number of the client.
type generator struct {
	*rand.Rand
	client int
	serial int // how many values it has made
}

func newGenerator(seed uint64, client int) *generator {
	return &generator{Rand: rand.New(rand.NewPCG(seed, uint64(client))), client: client}
}

// value returns a value that nobody else ever writes.
func (g *generator) value() string {
	g.serial++
	return fmt.Sprintf("%d.%d", g.client, g.serial)
}

// rest sleeps for a random time of up to d.
func (g *generator) rest(d time.Duration) { time.Sleep(time.Duration(g.Int64N(int64(d)))) }
