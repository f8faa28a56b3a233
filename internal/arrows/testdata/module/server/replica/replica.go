package replica

import (
	"tenure/kv"
	"tenure/lease"
	"tenure/multipaxos"
	"tenure/storage" // want "it may import server/replica/effect, server/replica/snapshots, server/replica/elector, server/members, lease, multipaxos, kv and leaves"
)

var broken int = "no type" // the package cannot be checked
