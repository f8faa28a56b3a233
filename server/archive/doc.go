// Package archive is what an archive is: objects in a directory or a bucket from which the state of a cluster can be
// restored as it was at any revision. It has the names of the objects, the format of a segment, and what is decided
// from a list of names: what a restore reads, what retention deletes, what is due. It is pure: package archiver writes
// archives, and package recovery restores them.
//
//	names.go      names of objects, and Listing: what a list of names says
//	segment.go    Builder: the bytes of a segment of the log
//	reader.go     ReadSegment: reads any bytes, and names the place of what is wrong with them
//	moments.go    Moments: which slot and revision was applied at which time
//	plan.go       PlanRestore: which full copy and which segments lead to a revision or a time
//	resume.go     Resume: where an archiver goes on
//	retention.go  Schedule: which full copies are kept, which segments may be deleted, what is due
//
// # Objects
//
// An archive has the chosen slots of the log, not what they did. Chosen slots are the same on all nodes for ever, so
// two nodes that archive at a time write the same slots, cut differently, and a restore may take either's.
//
//	CLUSTER/archive                                           says that there is an archive of this cluster
//	CLUSTER/full/SLOT-REVISION-TIME-NODE                      a backup, as GET /v1/backup sends it
//	CLUSTER/log/HOUR/FIRST-LAST-TIME-CHAIN-CONTENT           a segment: the slots from FIRST to LAST
//	CLUSTER/verified/SLOT-REVISION-TIME-NODE-THROUGH-WHEN     the full copy of that name was restored, with the segments
//	                                                          through slot THROUGH, and compared, at WHEN
//
// Slots and revisions have 20 digits and times, in milliseconds since 1970, 13, so that names sort as numbers do. TIME
// is when the state is known to have been there, and HOUR that of a segment's, like 2026-11-23T22: whoever knows about
// when need not list all segments. CHAIN is what the chain is after LAST, and CONTENT the beginning of the SHA-256 of
// the segment before it was encrypted: no object is ever overwritten by another one.
//
// # Segments
//
// A segment is a prelude and frames, like a backup: see package frames.
//
//	prelude    the 8 bytes "TENURESG", and the version of the format
//
//	1, header  msgpack of type header: cluster, first and last slot, the chain before the first slot, moments
//	2, value   what was chosen in the next slot, as it is in the log; one for each slot
//	3, end     msgpack of type end: the chain after the last slot, and the SHA-256 of all bytes before this frame
//
// The chain is a digest of all slots up to one, each with its number and its value. It does not depend on how slots are
// cut into segments. So a segment that is missing shows in the slots, and one that is not of this log in the chain. An
// archive that has a gap goes on with a new chain (BeginChain), and with a full copy.
package archive
