// Package proto is the Redis protocol as bytes: RESP2 and RESP3, and inline commands. A Reader splits what a connection
// sends into commands, a Writer makes replies. Neither knows what a command means.
//
// Both are bounded before they allocate: a Reader believes no announced length. Its buffer grows with what has arrived,
// up to the limit of a command, and a list of arguments with the arguments.
//
// The grammar follows https://redis.io/docs/latest/develop/reference/protocol-spec/. Where the specification is silent,
// the package follows Redis 7.0: its error texts, the input that it ignores, and the errors at which it disconnects.
package proto
