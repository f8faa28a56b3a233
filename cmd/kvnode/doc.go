// Command kvnode runs a node of a Tenure cluster, or with `kvnode dev` a whole cluster on this machine.
//
// It turns flags, KVNODE_ variables and a configuration file into a server.Config and hands over to the server; it
// holds no part of the protocol.
//
//	main.go, root.go                  exit codes, the one line of an error; the command tree
//	node.go                           kvnode without a command: logger and signals around the server
//	processors.go, threads_*.go       how the node uses processors
//	settings.go, values.go            the table of settings, with their bounds; how each kind of setting is written
//	sources.go, file.go               flag > environment > file > default, and nothing unknown in any of them
//	config.go, settings_check.go      contradictory settings are refused before anything is touched
//	access.go, archive.go, join.go,   the settings of one subject, and what contradicts them
//	tls.go
//
// Every command has the file of its name. restore_archive.go has the part of `kvnode restore` that is about archives.
// rejoin_hint.go says in an error how to type `kvnode rejoin`. The commands that work on directories do it through the
// package server/recovery, and `kvnode dev` through the package cmd/kvnode/dev.
//
// Exit codes: 0 stopped in order, 1 failed, 2 given up by Go's runtime, 78 bad configuration (and then nothing that was
// on disk was touched).
package main
