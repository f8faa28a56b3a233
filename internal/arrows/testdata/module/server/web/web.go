package web

import (
	"tenure/kv"
	"tenure/server"  // want "never, in tests neither"
	"tenure/storage" // want "it may import server/service"
)
