// Package pages reads the pages of bbolt's files and stands between bbolt and the disk. It alone knows their format. It
// knows nothing of records: their checksums and digests belong to package storage.
//
//	format.go    the format, as constants
//	meta.go      the two meta pages: reading, checking, and making them durable (Settle)
//	page.go      a page and its elements
//	walk.go      a walk through a whole file, with a bound on everything
//	sums.go      the checksums of the pages, in memory
//	sumsfile.go  the file that has them
//	file.go      the open file: the first reading, reads of checked pages, the scrub
//	cache.go     checked copies of branch pages
//	parts.go     large leaves, of which only the pages that are needed are read
//	cursor.go    searches and scans in one transaction
//	ahead.go     leaves that a scan reads ahead
//	beside.go    the leaf at a position, and the pages beside the path to it
//	views.go     the transactions that are read
//	shared.go    the one that short views share
//	writes.go    the hook through which bbolt writes, and what it does in a transaction
//	free.go      pages that can be given back to the file system
//
// bbolt reads its pages through a memory map and trusts them. A wrong page number ends in a panic, an endless descent
// or a fault. Some panics come on goroutines of bbolt's, where they cannot be caught. So a file is walked before bbolt
// opens it, and views read copies of pages that have passed their checksums. DESIGN.md of storage argues for this.
//
// A File has one writer at a time: bbolt in a transaction, from Begin through its commit to End. Newest, Free,
// Reusable and Scrub exclude the writer by a lock of the caller's. Everything else may run beside it.
//
// Errors name the page and not the file, which the caller adds. Those of Open, Complete and Settle are whole: they wrap
// storage.ErrDamaged or storage.ErrUnusable and say how to mend the file.
package pages
