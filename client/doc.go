// Package client is the Go client of Tenure. A Client is a handle on one cluster, safe for concurrent use.
//
//	c, err := client.New(client.Config{Endpoints: []string{"10.0.0.1:8500", "10.0.0.2:8500", "10.0.0.3:8500"}})
//	revision, err := c.Set(ctx, "greeting", []byte("hello"), client.WriteOptions{})
//	entry, meta, err := c.Get(ctx, "greeting", client.ReadOptions{})
//
// Keys, transactions and watches are methods of Client. The rest is grouped: Locks, Sessions, Leases, Fences, Quotas,
// ACL, Nodes and Members.
//
// # Failover
//
// Any node answers any request, so the client does not need to know the master. It sends a request to the endpoint that
// answered last. If that node refuses, is silent or answers "not applied", the client tries the next endpoint, until
// the deadline of the call.
//
// Answers name the master, and a node that is not the master passes writes on to it. So the client sends a write to the
// master's address first, once a node has answered there. It looks there in the background: no call waits for an
// address that cannot be reached from here. If the master is of no use, the write goes on as any request, and nothing
// goes first to that address for ten seconds, unless another master is named. Config.ReadsAtMaster has reads go there
// too, and Config.NoLearning keeps everything at Config.Endpoints.
//
// An endpoint that has never answered may belong to a node that hangs. If it takes more than 150 ms over a read, the
// next endpoint is asked as well, and the first useful answer counts. A write is sent to one node at a time: the read
// of its base, or of a status, finds the node before.
//
// Members come and go. The client learns the addresses of the members from the nodes that answer, keeps them beside the
// Config.Endpoints, and goes on with them when all of those are gone, unless Config.NoLearning is set.
//
// # Outcomes of writes
//
// Every write carries an idempotency key and a base revision (Once), the same in all tries of the write. The cluster
// therefore applies it at most once, even if several copies of it arrive. A write ends in one of three ways:
//
//   - It was decided: the error is nil, or ErrCondition, ErrNotFound, ErrNoSession, ErrFenced or ErrNotNumber. Every
//     copy of the write gets the same answer. ErrDropped says that the write was applied and its result is not known
//     any more.
//   - It was not applied and will not be: ErrNotApplied, ErrInvalid, ErrTooLarge, ErrNoSpace, ErrForbidden,
//     ErrDenied, ErrUnknownToken or ErrKeyReused; of a change of the members also ErrMembers.
//   - ErrUnknown: it may have been applied, or may still be. To settle it, read, or send the same write again with
//     WriteOptions.Once set to Error.Once; any process may do that, and the write is still applied at most once.
//
// Once the outcome of one try is unknown, a later "not applied" does not change that, because it speaks only of its own
// copy. Only an answer that decides the write does.
//
// The client decides by the error code of an answer (package api), never by its text. An answer without a code, such as
// one of a proxy, says nothing: a read is tried again, and a write is unknown.
//
// # Base revisions
//
// The base of a write must not be older than the idempotency keys that the cluster remembers, or the cluster answers
// "key too old". Each answer to a write carries the revision of the store; a client that has had none for a second asks
// a node for its status before the next write.
//
// # Reads
//
// Reads change nothing, so they are tried again until the deadline. One that no node could answer until then ends with
// ErrUnavailable. ReadOptions.Mode says what a read promises.
// GetWait, ListWait and KeysWait return when something has changed. Watch returns every change, once and in order, also
// when nodes fail.
//
// # Locks, leases and time
//
// A Lock belongs to a session; sessions are replicated and written to disk. A Lease lives in the memory of the nodes
// and may be as short as 100 ms; it is renewed in the background, together with all other leases of the Client. Both
// are measured with this machine's clock, and both close their Lost channel before anybody else can be the owner. A
// process that was stopped may find out too late. Write with the Fence of the lock or lease to be safe from that: the
// store refuses such a write once it has seen the fence of a later owner.
//
// # Files
//
//	client.go, config.go, errors.go       the Client, its configuration and errors
//	kv*.go, transaction.go, watch*.go     methods of Client on keys
//	lock*.go, semaphore.go, session*.go, lease*.go, fence.go, status.go, members.go, acl.go
//	                                      the groups
//	endpoints.go, learn.go, near.go       the addresses in use, and which is the master's
//	token.go, tls.go                      tokens and TLS
//	sender.go                             a request, and whether it is sent again
//	exchange.go, hedge.go, moved.go       sending it once
//	retry.go, nomaster.go                 where the next try goes, and when
//	outcome.go, revision.go               understanding its answer
package client
