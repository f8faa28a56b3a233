// Package bench loads a cluster with requests and measures how it answers.
//
//	config.go  what to do, and its bounds
//	run.go     fill, warm-up, window, end
//	worker.go  one client
//	conn.go    one connection, and the requests on it
//	master.go  where the master is, and what goes there
//	reply.go   the answers on a connection
//	pace.go    when the next request of an open loop is due
//	lease.go   operations on leases
//	record.go  histograms and counts
//	result.go  the result computed from them
//	kind.go    how a request ended
//
// # Requests
//
// Requests are plain: no idempotency key, no second try. The load generator mostly shares its machine with the servers,
// so it does not use net/http's client, which costs nearly twice as much (BenchmarkRequest). Each connection writes a
// request with one system call, and has http.ReadResponse parse the answer.
//
// # Where requests go
//
// Each client has an endpoint, and goes to the next one when that fails. Answers name the master: what Config.Near says
// goes there from then on, over a second connection. So a write saves the way from a follower to the master, as with
// the Go client.
//
// # Closed and open loop
//
// In a closed loop each client sends its next request when the last one is answered. A server that stalls gets fewer
// requests while it stalls, so the latencies of a closed loop say little about the latencies that users would see.
//
// In an open loop requests are due at a fixed rate, whatever the answers do. Latency counts from when a request was
// due, not from when a client was free to send it: a stall of a second at 1,000/s shows as a thousand requests that
// waited up to a second, instead of one for each client. This is the correction of coordinated omission.
//
// # What is counted
//
// Throughput counts the successful answers that came within the window. Latencies are those of the requests that were
// due (open loop) or sent (closed loop) within it and succeeded, also if they were answered after its end. Failures
// are counted by kind and have no latency.
package bench
