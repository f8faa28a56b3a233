// Package client is the Go client of Tenure: one handle on a cluster, safe for concurrent use.
//
// Any node answers any request, so the client needs no idea of who is master. It sends to the endpoint that answered
// last, goes on to the next one when that one refuses, stays silent or says "not applied", and stops at the call's
// deadline. What it may conclude from an answer, or from none, is written down once, in judge.
//
// # Exactly once
//
// Every write carries an idempotency key and a base (Once): a revision that this client had seen before the first
// try. All tries of one write carry the same two, through whatever endpoint, so the cluster applies the write at most
// once, however many copies of it wander about. A write therefore ends in one of three ways:
//
//   - a nil error or ErrCondition: the cluster's own verdict on this write, the same however often it is asked;
//     The same holds for ErrNotFound, ErrNoSession, ErrFenced, ErrNotNumber and ErrDropped;
//   - ErrNotApplied, ErrInvalid, ErrTooLarge, ErrNoSpace, ErrForbidden, ErrKeyReused: no copy was applied, none will
//     be;
//   - ErrUnknown: a copy may have been applied, or may still be. Error.Once lets the same write be tried again later,
//     by any process, and still be applied at most once (WriteOptions.Once).
//
// Once one try's outcome is unknown, only the cluster's verdict on the write ends the doubt: a later "not applied"
// speaks of its own copy only.
//
// The base must not be older than what the cluster still remembers of idempotency keys, or the write is answered
// "key too old". Each answer to a write tells the store's revision; a client that has had none for a second asks a
// node's status before its next write.
//
// # Reading
//
// Reads change nothing and are tried again until the deadline; what they promise is ReadOptions.Mode. GetWait, ListWait
// and KeysWait answer when there is news. Watch tells every change, each once and in order, across the failures of
// nodes.
//
// # Locks
//
// StartSession keeps a session alive, and its Lock locks keys; Client.Lock does both. A lock tells that it is lost
// before the cluster can have given it to anybody else, as far as a process that runs can know. What a process that was
// stopped for a while does after that, the Fence of the lock makes harmless.
//
// # Leases
//
// AcquireLease acquires a lease by name, for a time as short as 100 ms, and renews it. Leases cost the cluster no disk
// write and are lost with no node; sessions and leases know nothing of each other. What may be believed of a lease is
// decided by this machine's own clock (Lease.Held), and what comes late all the same is for the fence. All leases of a
// Client are renewed together. GrantLease, RenewLease, RenewLeases, ReleaseLease and ShowLease are the calls below
// that.
//
// # Endpoints
//
// Endpoints should be nodes. What some other server answers in a node's place, such as a proxy that has lost its way,
// is told from a node's answers by the headers that only those have: it tells nothing about the store, and leaves a
// write's outcome unknown. Of a node's refusals the error code alone decides (package api); the text is for people.
package client
