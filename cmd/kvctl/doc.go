// Command kvctl is the command line of Tenure for people and scripts.
//
// Files are named after what their verbs work on:
//
//   - kv_read.go, kv_write.go, kv_delete.go: keys. txn.go: transactions. watch.go: changes. flags.go: what these share.
//   - session.go: sessions. lock.go, lock_elect.go: what is held under one. lease*.go: leases.
//   - status*.go: what all endpoints say of themselves at about one moment, as a table, and from one moment to the
//     next. master.go: who is master, and its transfer.
//   - dev*.go: the processes of a local cluster. bench*.go: load; the generator is package bench below.
//   - main.go: streams, signals, exit codes. root.go: the flags that all verbs share. complete.go: completion.
//
// Packages below internal know nothing of flags: child runs the command under a lock, process finds the processes of a
// local cluster, txnfile reads transactions, output writes numbers and times for people.
//
// # Exit codes
//
//	0  done
//	1  failed: not found, a condition that did not hold, not applied, nobody there
//	2  usage: the command line or a key is wrong; nothing was sent
//	3  outcome unknown: the write may have been applied or may still be; what is printed settles it
//
// `kvctl lock` and `kvctl lease run` end with the exit code of the command that they run.
//
// A result goes to standard output, everything else to standard error. With --json both are JSON, one object a line.
package main
