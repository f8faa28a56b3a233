// Package api holds what the server and its clients must agree on: the paths, header names, query names, JSON types
// and error codes of the HTTP API. It imports nothing of this module and holds no logic, so that everybody may
// import it.
//
// Every answer that is not a success carries HeaderError with one of the codes in codes.go. The code alone decides
// what a client may conclude from it; the text in the body is for people, and may change with any version.
//
//	codes.go    error codes, and what each promises
//	names.go    paths, headers, query names
//	kv.go       entries, commands on one key, transactions, fences
//	session.go  sessions
//	lease.go    leases
//	acl.go      tokens and policies
//	members.go  the members, and changes of them
//	status.go   the status of a node
//	limits.go   what is too long, too large or too many
//
// The API as a whole is described in docs/api.md and, for programs, at PathOpenAPI of every node.
package api
