// Package web is the HTTP API of a node: Consul's KV and status wire format on gorilla/mux, over
// package service and the watch.Hub that the node feeds.
//
// The package has routes, query and header parsing, JSON encoding, status codes, the limits of one connection and one
// request, and HTTP metrics. It never decides whether a write is applied or a read is fresh, nor who may: package
// service and the node do. The package passes their answer to the client, and never turns "unknown" into "failed".
//
// # The way of a request
//
//	routes.go      the table of all routes; each has an endpoint
//	exchange.go    the endpoint's handler of the method is called; it answers, or returns an error
//	query.go       the handler parses the query by the rules of rules.go and foreign.go,
//	body.go        reads the body, as JSON with jsonbody.go,
//	writes.go      has a command applied once,
//	reads.go       or reads a key or a snapshot,
//	wait.go        again and again if it is to wait for a change,
//	mastername.go  names the master,
//	answer.go      and answers; an error, too, whose code refusal.go knows
//
// Each resource has a handler type of its own, which holds only the parts that it needs; handlers.go makes them. They
// are in kv*.go, txn*.go, session*.go, lease*.go, fence.go, quota.go, watch.go, transfer.go, members*.go, backup.go,
// upgrade.go, operator.go, status.go, agent.go, acl*.go, health.go, metrics.go and page.go.
//
// # Where each promise is kept
//
//	requests of browsers for pages of other origins        hosts.go
//	404, 405 and Allow; panics are logged, never fatal     exchange.go
//	which query names belong together; contradictions      query.go, rules.go
//	query names of Consul's clients without a meaning      foreign.go
//	unknown members of JSON are refused                    jsonbody.go
//	keys: 1 to 1,024 bytes of UTF-8, decoded once          kv.go (key), rules.go (checkKey)
//	a body is bounded before it is allocated               body.go (bodies.read)
//	no value has more than MaxValueBytes                   body.go (read: the body of a PUT is the value), kvpost.go
//	                                                       (checkPost), txn.go (part); each refuses by bodies.tooLarge
//	one write, its key and base, its outcome               writes.go
//	index headers, never 0                                 reads.go (setReadMeta)
//	listings stream from one snapshot                      kvlist.go, jsonlist.go
//	a blocking query misses nothing and holds little       wait.go
//	events: which have an id, what was compacted           watch.go, events.go
//	what Consul's clients look for in words and numbers    sessioncreate.go, sessionjson.go, txn*.go
//	every route is described                               openapi.json, and its test
//	the error table; every refusal has a code and a node   refusal.go, answer.go (head), codes_test.go
//	connections, headers, slow senders and receivers       conns.go, server.go
//	the bounds on one client, and its identity             admit.go, credentials.go, and package admission
//	lines of headers; TLS                                  clientconn.go
//	an answer before the body was sent arrives             body.go (drain)
//	health checks and metrics on a port of their own       healthport.go
//	the web page: its headers, and the redirect to it      page.go, and package ui
//
// # Extensions to Consul's format
//
// Writes take Idempotency-Key, X-Tenure-Base, ttl and fence. Listings take count, start, limit and reverse (kvlist.go
// defines pages). A key takes POST. Transactions take the verbs add, rename and check-value. Paths that Consul lacks
// include /v1/fence, /v1/watch and /v1/openapi.json.
//
// Responses to writes carry X-Tenure-Index, the revision of the change, or the store's revision if nothing was
// changed (a cas that answered false). A client that saw it may use it as the base of its next write, or compare it
// with X-Consul-Index of a read. DELETE with recurse also carries X-Tenure-Count, the number of keys deleted.
// X-Tenure-Dropped says that a retry got no body, since only small ones are remembered with an idempotency key.
package web
