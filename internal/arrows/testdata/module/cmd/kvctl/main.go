package main

import (
	"tenure/client"
	"tenure/lease" // want "it may import server, client and leaves"
)
