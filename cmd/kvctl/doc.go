// Command kvctl is the command line of Tenure for people and scripts.
//
// Files are named after what their commands work on:
//
//	kv_read.go, kv_write.go, kv_delete.go  keys; flags.go has their common flags
//	watch.go                               changes of keys
//	txn.go, txn_values.go                  transactions, and the values in their results
//	session.go                             sessions
//	lease.go, lease_list.go                leases
//	lock.go, lease_run.go, elect.go        commands that run a program under a lock or a lease, through hold.go
//	status.go, status_survey.go, status_table.go
//	                                       the state of all endpoints at about one moment
//	status_watch.go, status_tracker.go     how that state changes
//	master.go                              the master, and its transfer
//	member.go, member_change.go, member_add.go
//	                                       the members, and changes of them
//	drain.go                               a node before maintenance
//	dev.go, dev_start.go, dev_restart.go, dev_logs.go
//	                                       the processes of a local cluster
//	bench.go, bench_show.go                load; package bench generates it
//	main.go, root.go                       exit codes and errors, the common part of all commands
//	printer.go, usage.go, complete.go      output, wrong command lines, completion
//
// The packages below internal know nothing of flags: child runs the command under a lock, process finds the processes
// of a local cluster, txnfile reads transactions, output writes numbers and times for people.
//
// # Exit codes
//
//	0  done
//	1  failed: not found, a condition that did not hold, not applied, no node reached
//	2  usage: the command line or a key is wrong; nothing was sent
//	3  outcome unknown: the write may have been applied or may still be; the output tells how to settle it
//
// kvctl lock, lease run and elect return the exit code of the command that they run.
//
// Results go to standard output, everything else to standard error. With --json both are JSON, one object a line.
package main
