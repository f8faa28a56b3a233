// Package cluster runs kvnode processes over real sockets and disks for the harness: builds the binaries, starts,
// kills, pauses and resumes nodes, and asks them how they are. It signals only processes that it started, and
// removes every namespace, link and mount that it made.
//
//   - build.go, cluster.go, node.go: binaries, the whole cluster, one process
//   - certificates.go, tokens.go: what an operator gives out to nodes and clients
//   - members.go: nodes that join and leave
//   - netns.go: a network namespace for each node; packets are dropped by nft. Root only
//   - proxy.go, sockets.go: nodes on loopback, with a proxy between each two of them
//   - httpproxy.go: proxies between clients and nodes, which can change what clients see
//   - disk.go: data directories on small or faulty file systems. Root only
//   - clock.go: nodes whose clocks err on purpose
package cluster
