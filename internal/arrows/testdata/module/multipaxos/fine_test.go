package multipaxos

import (
	"os"
	"sync"

	"tenure/kv"
	"tenure/lease" // want "never, in tests neither"
)
