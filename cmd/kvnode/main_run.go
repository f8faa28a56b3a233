package main

import "tenure/server"

// run is the server. It returns nil after an orderly stop, which the end of its context asks for.
var run = server.Run

// errServerConfig is wrapped by what the server refuses about its configuration or its data directory.
var errServerConfig = server.ErrConfig

// removed reports whether a node has ended because it is no member any more: it has done what it was told.
var removed = server.Removed
