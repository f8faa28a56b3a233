// Package cluster runs kvnode processes over real sockets and disks for the harness: builds the binaries, starts,
// kills, pauses and resumes nodes, and asks them how they are. It signals only processes that it started.
package cluster
