// Package journal is the ring in which a commit of the log becomes durable with one write and one sync of bytes that
// the file already has. Records move to their home, log.db, in the background; then their place is used again.
//
// It holds no goroutine, no lock and no file of its own. Package storage drives it with a real file, and the simulator
// with one that loses unsynced sectors at a crash.
//
//	sector.go   512 bytes that check themselves: number of the record, place in it, checksum
//	record.go   what one commit leaves: the marks after it, and its entries
//	scan.go     what a file holds, and whether that can be what was written
//	ring.go     where the next record goes, and the append
//
// # What is assumed of a disk
//
// A sector of 512 bytes is written whole or not at all, and Sync returns after what was written before it is durable.
// Between two syncs sectors become durable in any order. So a sector that fails its checksum is damage. A record that
// lacks some of its sectors is a write that was cut off.
//
// # What counts as damage
//
// One record is written at a time, and the next one only after the sync of this one. The numbers of records rise by one
// for ever. Thus only the highest number that is seen can be incomplete without damage: its commit was never
// acknowledged, and it is dropped; its number is not used again. A record that is not in its home yet and is missing or
// incomplete below a higher number was lost. A file whose highest number is below the last one that its home has
// received is an older copy. So is a home whose generation is below the one in a record.
package journal
