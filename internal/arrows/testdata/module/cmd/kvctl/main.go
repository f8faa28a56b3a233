package main

import (
	"tenure/client"
	"tenure/lease" // want "it may import server/backup, server/backup/target, server/recovery, storage/etcdsnap, client and leaves"
)
