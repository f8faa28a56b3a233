// Package audit writes who did what: a line of JSON for each write and each administrative act, and for each that was
// denied. It neither decides nor knows requests: package web hands it what was decided on, and what came of it.
//
//	record.go  Record: one line
//	log.go     Config, Log: the queue, and the goroutine that writes it
//	denied.go  denials: how many lines those get who are denied
//	file.go    file: rotation by size
//
// A Log never makes a request wait. What it cannot take, because the disk or the reader of standard output is too slow,
// is lost: it is counted, said in the node's log, and once there is space again in the audit log itself, so that its
// reader knows that it is not whole. Lines are not synced, and written behind the act: a node that is killed,
// or loses its power, loses the last of them.
//
// The rotation is this package's own. natefinch/lumberjack, which others use for it, had its last release in 2023,
// leaves a goroutine behind with each log, counts in megabytes only, and does not notice a file that was moved away.
package audit
