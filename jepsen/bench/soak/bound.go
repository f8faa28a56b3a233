package soak

// The bound of a node's disk use, as docs/operations.md states it, in bytes: fixed parts, and a part in proportion to
// the data.
const (
	journalBound = 64 << 20
	reserveBound = 32 << 20
	// logBound is for log.db. It covers 64 MiB of values that are not checkpointed, as much again for members that were
	// down for a moment, the writes during a checkpoint, and as many free pages between two truncations.
	logBound = 384 << 20
	// redoBound is for redo and state.sums: the largest checkpoint.
	redoBound = 128 << 20
	// stateBound is for the pages of state.db that checkpoints free and reuse.
	stateBound = 256 << 20
	// stateTimes bounds state.db in multiples of the data: pages of a B-tree are half full at worst, and the pages of
	// the previous checkpoint stay until the next one is durable.
	stateTimes = 3
	// entryBytes is the overhead of an entry: its key, its record, and the element of its page.
	entryBytes = 96
)

// bound returns the bound in bytes for a number of entries with values of valueSize bytes.
func bound(entries, valueSize int) int64 {
	data := int64(entries) * int64(valueSize+entryBytes)
	return journalBound + reserveBound + logBound + redoBound + stateBound + stateTimes*data
}
