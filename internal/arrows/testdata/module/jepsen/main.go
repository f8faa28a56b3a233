package main

import (
	"tenure/client"
	"tenure/jepsen/sim"
	"tenure/server" // want "never, in tests neither"
	"tenure/server/replica"
	"tenure/server/web" // want "it may import server/replica"
	"tenure/storage"    // want "it may import server/replica, server/replica/clocks, server/replica/snapshots, server/replica/effect"
)
