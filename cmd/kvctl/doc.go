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
//	status.go, status_survey.go, status_table.go, status_problem.go
//	                                       the state of all endpoints at about one moment
//	status_watch.go, status_tracker.go     how that state changes
//	master.go                              the master, and its transfer
//	member.go, member_change.go, member_add.go
//	                                       the members, and changes of them
//	drain.go, upgrade.go                   a node before maintenance, and the cluster after an upgrade
//	acl.go, acl_*.go                       tokens and policies
//	ca.go, ca_revoke.go                    certificates
//	quota.go                               quotas of prefixes
//	backup.go, backup_*.go                 backups, and the archive's state
//	export.go, import.go, import_etcd.go   keys as text; etcd snapshots
//	dev.go, dev_*.go                       the processes of a local cluster
//	bench.go, bench_show.go                load; package bench generates it
//
// What the commands share:
//
//	main.go, root.go                       exit codes and errors, the common part of all commands
//	connection.go, environ.go, tls.go, token.go
//	                                       endpoints and the client; flags and variables for them
//	flags.go, sizes.go, input.go           flags of several commands, and files that they read
//	printer.go, usage.go, complete.go, man.go
//	                                       output, wrong command lines, completion, manual pages
//	*_other.go                             what is missing on other systems than Linux
//
// The packages below internal know nothing of flags: child runs the command under a lock, process finds the processes
// of a local cluster, txnfile reads transactions, records keys as text, load writes many of them, output writes numbers
// and times for people.
//
// # Exit codes
//
//	0  done
//	1  failed: not found, a condition that did not hold, not applied, no node reached
//	2  usage: the command line or a key is wrong; nothing was sent
//	3  outcome unknown: the write may have been applied or may still be, and the output tells how to settle it; or the
//	   write was applied, but its result is lost or could not be printed
//
// kvctl lock, lease run and elect return the exit code of the command that they run. A command that changes nothing
// ends with 141, and silently, if the reader of its output has closed the pipe.
//
// Results go to standard output, everything else to standard error. With --json both are JSON, one object a line.
package main
