// Package cluster runs kvnode processes over real sockets and disks for the harness: builds the binaries, starts,
// kills, pauses and resumes nodes, and asks them how they are. It signals only processes that it started, and
// removes every namespace, link and mount that it made.
//
//	build.go              the binaries
//	cluster.go            the whole cluster
//	node.go, log.go       one process, and what it has logged
//	certificates.go       certificates for nodes and clients, as an operator gives them out
//	tokens.go             tokens for them
//	members.go            nodes that join and leave
//	netns.go              a network namespace for each node; nft drops packets (root only)
//	proxy.go, sockets.go  nodes on loopback, with a proxy between each two of them
//	httpproxy.go          proxies between clients and nodes, which can change the answers
//	disk.go               data directories on small or faulty file systems (root only)
//	clock.go              nodes whose clocks err on purpose
package cluster
