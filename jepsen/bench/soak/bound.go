package soak

// What a node takes of its disk at most, as docs/operations.md states it: fixed parts, and what is in proportion to the
// data. Files that are written anew in whole (the redo file, state.sums) have the size of what they hold.
const (
	journalBound = 16 << 20
	reserveBound = 32 << 20
	// logBound is for log.db: 64 MiB of values that the state database lacks, as much again for members that were away
	// for a moment, what comes while a checkpoint runs, and as many pages that are free between two truncations.
	logBound = 384 << 20
	// redoBound is for redo: the largest checkpoint.
	redoBound = 128 << 20
	// stateBound is for state.db beside the data: what checkpoints free and use again.
	stateBound = 256 << 20
	// stateTimes is how many times the data state.db may take: pages of a B-tree are half full at worst, and the pages of
	// the checkpoint before stay until the next is durable.
	stateTimes = 3
	// entryBytes is what an entry takes beside its value: key, record, element of its page.
	entryBytes = 96
)

// bound is what a node may take with so many entries of values of that size, and the redo and the sums of that.
func bound(entries, valueSize int) int64 {
	data := int64(entries) * int64(valueSize+entryBytes)
	return journalBound + reserveBound + logBound + redoBound + stateBound + stateTimes*data
}
