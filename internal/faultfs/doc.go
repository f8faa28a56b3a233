// Package faultfs is a file system for tests that loses, tears, refuses and delays what is written to it.
//
// It is mounted with FUSE over a plain directory. What is written stays in memory until it is synced, and only then
// reaches the directory: Crash drops the rest, as a loss of power would. The directory is what the disk holds; it may
// be looked at at any time.
//
// It models one kind of disk. Pages of 4096 bytes are written in any order until a sync. Sectors of 512 bytes are
// written whole or not at all. A new name is lost unless its directory was synced, and so is a rename that replaced
// nothing. What a sync that failed did not write is read until a crash, and no later sync writes it. Renames that
// replace, removals, modes and times are durable at once.
//
// A process must not map a file of a file system that it serves itself. A page fault stops a thread without telling the
// Go runtime, which can then wait for ever for that thread while nothing serves the fault. So the program under test
// runs in a process of its own. Everything here is safe for concurrent use.
package faultfs
