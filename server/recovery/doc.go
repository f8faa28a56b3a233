// Package recovery works on the data directories of stopped nodes. It makes a new cluster from the survivors of a lost
// majority, from a backup, or from an archive. It moves unusable files of a node aside, and reports problems of a
// directory.
//
//	survivors.go   opens what the survivors have left; nothing of it is changed
//	plan.go        Make, a Plan: what they have, and what may be lost; report.go: the same for people
//	touched.go     what the uncertain slots write
//	apply.go       Apply: asks for nothing, checks that the plan still fits, makes the new directory whole or not at all
//	alone.go       one Apply or Restore at a time in a directory
//	restore.go     Restore: makes the new directory from a backup instead
//	archive.go     RestoreArchive: from an archive, at any revision or time; ReplayArchive, for its verification
//	rebuild.go     the state of the new directory
//	jumps.go       where the slots, revisions and eras of the new cluster begin
//	aside.go       SetAside, for a node that joins again under its own name
//	check.go       Check: what is wrong with a directory, and what to do; opens.go: whether its state opens
//	inspect.go     Inspect: what is in a directory; inspectcommand.go, inspectvalue.go: a command of the log
//
// Package merge (M3) decides the contents of the new cluster. The new cluster is one voter, which other nodes join. It
// has a cluster id of its own, so no old node can ever speak to it. Its slots, revisions and eras begin above all
// numbers that the old cluster, or an earlier cluster made from it, may have shown. F of the exactly-once memory lies
// just below the first revision that it shows. Its first run keeps the full silence of A4. That covers the longest
// lease that the survivors, or the cluster of the backup, may have granted, and the longest lease that the node allows.
// So the old cluster's leases end before the new one's begin.
package recovery
