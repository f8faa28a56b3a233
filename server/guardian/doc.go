// Package guardian is P7, crash release: a small process beside each server that outlives it and tells the peers which
// lease records may go.
//
// The server (Start) starts the guardian, the same program run again, and hands it two inherited files: a pidfd of the
// server itself, and a page of memory that both map. The guardian looks up no process id, so it cannot mistake another
// process for the server. The page holds the server's incarnation, the addresses of its peers, and the ballots that may
// be recorded (lease.Notes). The guardian (Main) sleeps until the kernel makes the pidfd readable: then all threads of
// the server are gone, for good. It sends a Release for each ballot in the page to each peer, a few times within half a
// second, and exits.
//
// All decisions are made in package lease (Notes, Guardian), which is pure. The code here moves bytes. DESIGN.md says
// why it is built so.
//
//	plan.go     what the guardian is told at its start
//	page.go     the shared page; why a write that was cut short does no harm
//	process.go  the server's side: start it, start it again, tell how it is
//	main.go     the guardian's side
//	*_linux.go  memfd, mmap, pidfd; other systems have no guardian
//
// Limits. A killed process is not dead while a thread waits for a disk, or while it writes a core file. A server that
// is process 1 of a container takes its guardian with it (see kvnode init), and so does an out-of-memory kill of a
// whole control group (memory.oom.group). A machine that is lost says nothing.
package guardian
