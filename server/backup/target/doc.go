// Package target stores objects, which are named byte strings, in a directory or in an S3 bucket, where they outlive
// the cluster. Backups and archives are stored in targets.
//
//	target.go    Target, and the errors that all kinds of it share
//	open.go      Open: the Target that a user's text names
//	name.go      the names that an object may have
//	dir.go       a directory
//	s3*.go       a bucket: its methods, reading across broken connections, errors, and the URL
//	object.go    opens the one object or file that a text names, encrypted or not
//	encrypt.go   Encrypted: a Target that encrypts the objects of another one
//	keys.go      recipients and identities, from flags and files
//
// Every Target guarantees that an object is complete or absent, that it is durable once Put has returned, and that only
// complete objects are listed. What a failed Put or a dead process has left is never listed, does not obstruct the next
// Put, and is removed when it is old.
//
// A target belongs to somebody else. Its errors distinguish what its owner must correct (see the sentinels in
// target.go), and never contain a credential.
package target
