package main

import (
	"tenure/client"
	"tenure/jepsen/sim"
	"tenure/server" // want "never, in tests neither"
	"tenure/server/replica"
	"tenure/server/web" // want "it may import server/replica"
	"tenure/storage"    // want "it may import server/replica, server/replica/effect, server/replica/elector, server/replica/leases"
)
