package client

import (
	"net/http"

	"tenure/internal/quorum"
	"tenure/kv" // want "leaves only"
)
