// Package target keeps objects, which are named runs of bytes, where they outlive the cluster: in a directory or in an
// S3 bucket. Backups go there, and so does the archive.
//
//	target.go    Target, and the errors that all kinds of it share
//	open.go      Open: from the text that a user writes to a Target
//	name.go      which names an object may have
//	dir.go       a directory
//	s3*.go       a bucket: its methods, reading across broken connections, errors in plain words, and what a URL says
//	object.go    one object or file by its text, encrypted or not
//	encrypt.go   Encrypted: a Target that encrypts what goes to another one
//	keys.go      recipients and identities, from flags and files
//
// What every kind promises: an object is there whole or not at all, it is durable once Put has returned, and nothing
// but whole objects is ever listed. What a Put that failed, or a process that died, has left behind is never listed,
// does not stand in the way of the next Put, and is removed once it is old.
//
// A target is somebody else's disk. Its errors tell apart what its owner must mend (see the errors of target.go), and
// never hold a credential.
package target
