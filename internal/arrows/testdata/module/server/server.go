package server

import (
	"tenure/client" // want "it may import server/replica"
	"tenure/server/replica"
	"tenure/server/web"
	"tenure/storage"
)
