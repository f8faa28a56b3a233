// Package proto is the Redis protocol as bytes: RESP2 and RESP3, and inline commands. A Reader splits what a connection
// sends into commands, a Writer makes replies. Neither knows what a command means.
//
// Both are bounded before they allocate: a Reader believes no announced length. Its buffer grows with what has arrived,
// up to the limit of a command, and a list of arguments with the arguments.
//
// The grammar is that of https://redis.io/docs/latest/develop/reference/protocol-spec/, and where that is silent, what
// Redis 7.0 does: its texts of errors, what it ignores and where it hangs up.
package proto
