// Package backup defines the format of a backup: the whole replicated state as it was after one slot, in one stream of
// bytes that shows by itself whether it is complete.
//
//	format.go    the bytes, and Info: what a backup says of itself
//	maker.go     Maker: makes a backup of a storage.Snapshot, piece by piece
//	reader.go    Reader: reads any bytes, and reports where they are damaged
//	entries.go   the keys in a backup, without the rest
//	name.go      the names of backups in a directory or a bucket
//	retention.go Retention: which of them to keep
//
// A backup is a prelude and frames: see package frames.
//
//	prelude      the 8 bytes "TENUREBK", and the version of the format
//
// The frames come in this order, and nothing comes behind the last one:
//
//	1, header    msgpack of type header: the date, and the header of the snapshot, which storage has sealed; it has the
//	             cluster's id, the slot, kv's own record with revision and era, the number and the digest of the records
//	2, piece     a piece of the snapshot, which begins with its place in the stream of records and ends with a checksum
//	             that is seeded by the snapshot's header (see storage/internal/state/format.go); any number of them
//	3, end       msgpack of type end: how many pieces there were, and the SHA-256 of all bytes before this frame
//
// A flipped bit shows in the checksum of its frame. A missing, doubled or moved frame shows there too, since the
// checksum covers the place. A piece of another backup shows in the checksum of the piece, and a truncated backup in
// its missing end. The records also have checksums of their own, must be in order, and must match the number and digest
// in the header.
//
// A backup has the state that all nodes have agreed on: keys, sessions, fences, remembered idempotency keys, the record
// of the members. It has no state of a single node: no promise, no start record, no vote, no quarantine. From the
// record of the members a restore uses only a name, and numbers above which the new cluster's numbers begin.
package backup
