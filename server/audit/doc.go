// Package audit writes the audit log: a line of JSON for each write and each administrative act, also for denied ones.
// It neither decides nor knows requests: service.Request.Record gives it each act with its outcome.
//
//	record.go  Record: one line
//	log.go     Config, Log: the queue, and the goroutine that writes it
//	denied.go  denials: how many lines those get who are denied
//	file.go    file: rotation by size
//
// A Log never makes a request wait. If the disk or the reader of standard output is too slow, lines are lost. Lost
// lines are counted and reported in the node's log. Once there is space again, the audit log itself reports them, so
// that its reader knows of the gap. Lines are written after the act, and not synced: a node that is killed, or loses
// its power, loses the last lines.
//
// The rotation is this package's own. The usual library, natefinch/lumberjack, had its last release in 2023, leaves a
// goroutine behind with each log, counts in megabytes only, and does not notice a moved file.
package audit
