package main

import (
	"tenure/client"
	"tenure/lease" // want "it may import server, server/backup, server/recovery, client and leaves"
)
