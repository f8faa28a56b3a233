// Package wire turns every message between nodes into bytes and back. It holds no goroutine, socket or clock: package
// server sends these bytes over TCP, and the simulator sends the same bytes over its own network.
//
// A connection is a stream of frames (frame.go), and a frame's body is one message. Until a connection is established
// these are the messages of the handshake (handshake.go), which begin with "TNUR". After that the first byte of a body
// is its type. The numbers are never reused, and a type that this version does not know is counted and ignored.
//
//	type  message                connection  layout                         file
//	0     keepalive              all         msgpack of Marks, or nothing   keepalive.go
//	1     lease.Message          lease       msgpack                        lease.go
//	2     Nudge                  lease       msgpack                        handover.go
//	3     multipaxos.Message     log         header and values              log.go
//	4     replica.Message        log         header and values              replica.go
//	5     Question               log         msgpack                        question.go
//	6     Answer                 log         msgpack                        question.go
//	7     leases.Batch           named       varints                        named.go
//	8     replica.Health         lease       msgpack                        lease.go
//	15    clocks.Stamp           lease       msgpack                        lease.go
//	20    Archived               log         msgpack                        archived.go
//
// Structs are msgpack arrays of their fields (internal/codec): fields are only ever added, at the end, and a field that
// an older version left out is zero. Data known from the connection, such as the sender of a log message, is not
// encoded: decoders get it as an argument.
//
// # Bounds
//
// A decoder returns a message or an error for any bytes. It never panics. The bytes received, not the lengths that they
// declare, bound its allocations:
//
//	body of a handshake's message        16 KiB (MaxHandshakeBytes)
//	body on a lease connection           64 KiB (MaxLeaseBytes)
//	body on a connection of named leases 1 MiB (MaxNamedBytes)
//	body on a log connection             a setting of the transport
//	body with a question, an answer      16 KiB (MaxQuestionBytes), 512 KiB (MaxAnswerBytes)
//	memory for a body that is arriving   256 KiB, then twice what has come
//	memory for a decoded message         64 KiB and 64 bytes for each byte of its body
//	nesting of msgpack                   16
//	list in a message of the handshake   128 elements
//	nodes of a list or membership        quorum.MaxVoters, and ident.MaxNonVoters in a membership
//	name of a member                     ident.MaxNameBytes
//	address, text of a refusal           255 bytes, 4 KiB
//	ballots of a Release                 64 (MaxReleaseCounters)
//	texts of a named lease               named.MaxOwnerBytes, named.MaxTextBytes
//
// A decoder says whether bytes are a message. Whether the message makes sense is for its receiver: the Checks of
// packages lease and named, and the log part.
package wire
