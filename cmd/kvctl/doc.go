// Command kvctl is the command line of Tenure for people and scripts.
//
// Every verb has a file of its own, named after it. Around them:
//
//   - main.go: streams, signals, exit codes. root.go: the flags that all verbs share.
//   - survey.go: what all endpoints say of themselves at about one moment. table.go: the same as text.
//   - tracker.go: from one survey to the next, who became master and how long there was none. statuswatch.go
//     shows it.
//   - words.go, txnfile.go: the language of `kvctl txn`. command.go, command_*.go: the command under `kvctl lock` and
//     `kvctl lease run`.
//   - dev_*.go: `kvctl dev`, which works on the processes of a local cluster, never on others.
//   - bench.go, benchshow.go: `kvctl bench`; package bench below is the load generator.
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
