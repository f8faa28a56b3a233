// Command kvnode runs a node of a Tenure cluster, or with `kvnode dev` a whole cluster on this machine.
//
// It turns flags, KVNODE_ variables and a configuration file into a server.Config and hands over to the server; it
// holds no part of the protocol.
//
//	main.go                       exit codes, the one line of an error
//	root.go                       the command tree
//	settings.go                   the table of settings, with their bounds
//	values.go                     how each kind of setting is written
//	sources.go, file.go           flag > environment > file > default, and nothing unknown in any of them
//	config.go, check.go, join.go  contradictory settings are refused before anything is touched
//	node.go, main_run.go          logger and signals around the server, the server
//	processors.go                 how many processors the node lets Go's scheduler use
//	validate.go                   `kvnode validate`: the configuration alone
//	rejoin.go, recover.go         `kvnode rejoin` and `kvnode recover`, through the package server/recovery
//	dev.go                        `kvnode dev`, through the package cmd/kvnode/dev
//
// Exit codes: 0 stopped in order, 1 failed, 2 given up by Go's runtime, 78 bad configuration (and then nothing that was
// on disk was touched).
package main
