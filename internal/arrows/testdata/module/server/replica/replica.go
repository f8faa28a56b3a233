package replica

import (
	"tenure/kv"
	"tenure/lease"
	"tenure/multipaxos"
	"tenure/storage" // want "it may import lease, lease/named, multipaxos, kv, server/members and leaves"
)

var broken int = "no type" // the package cannot be checked
