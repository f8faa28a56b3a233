// Package archive defines an archive: objects in a directory or a bucket from which the state of a cluster can be
// restored at any revision. It defines the names of the objects, the format of a segment, and the decisions from a list
// of names: the objects for a restore, the expired objects, and the work that is due. It is pure: package archiver
// writes archives, and package recovery restores them.
//
//	names.go      names of objects
//	listing.go    Listing: the objects that a list of names describes
//	segment.go    Builder: the bytes of a segment of the log
//	reader.go     ReadSegment: reads any bytes, and reports where they are damaged
//	moments.go    Moments: when slots and revisions were applied
//	ranges.go     Ranges: what can be restored at all
//	plan.go       PlanRestore: which full copy and which segments lead to a revision or a time
//	resume.go     Resume: where an archiver continues
//	retention.go  Schedule: which full copies are kept, which segments may be deleted, what is due
//
// # Objects
//
// An archive has the chosen slots of the log, not their effects. A chosen slot is the same on all nodes for ever. Two
// nodes that archive at the same time write the same slots in different segments, and a restore may use either segment.
//
//	CLUSTER/archive                                           the marker: there is an archive of this cluster
//	CLUSTER/full/SLOT-REVISION-TIME-NODE                      a full copy: a backup, as GET /v1/backup sends it
//	CLUSTER/log/HOUR/FIRST-LAST-TIME-CHAIN-CONTENT           a segment: the slots from FIRST to LAST
//	CLUSTER/verified/SLOT-REVISION-TIME-NODE-THROUGH-WHEN     the full copy of that name was restored, with the segments
//	                                                          through slot THROUGH, and compared, at WHEN
//
// Slots and revisions have 20 digits, and times, in milliseconds since 1970, have 13, so names sort like numbers. At
// TIME the state had been reached. HOUR is the hour of a segment's TIME, such as 2026-11-23T22, so that a reader that
// knows the approximate time need not list all segments. CHAIN is the chain after LAST, and CONTENT is the beginning of
// the SHA-256 of the unencrypted segment, so no object ever overwrites a different one.
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
// The chain is a digest of the number and the value of every slot so far. It does not depend on how slots are cut into
// segments. A missing segment shows in the slot numbers, and a segment of another log shows in the chain. After a gap
// an archive continues with a new chain (BeginChain) and a full copy.
package archive
