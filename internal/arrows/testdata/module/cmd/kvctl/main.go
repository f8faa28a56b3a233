package main

import (
	"tenure/client"
	"tenure/lease" // want "it may import server, server/backup, server/backup/target, server/recovery, storage/etcdsnap, client and leaves"
)
