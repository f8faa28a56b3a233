// Package certs makes the certificates of a cluster, reads them from files, and checks those of others. It rests on
// crypto/x509 and crypto/tls of the standard library, and imports nothing of this module.
//
//	identity.go    the URI by which a certificate names cluster, role and node
//	authority.go   an authority, and the certificates that it signs
//	dir.go         the directory in which kvctl ca keeps both
//	dir_revoke.go  the list of revoked certificates there
//	show.go        what is in that directory
//	pem.go         files of certificates and keys
//	files.go       the files of one end of TLS, read again when they change
//	fits.go        what a node's files must have in common
//	lists.go       lists of revoked certificates: who has signed them, and who is on them
//	revoked.go     their file, and the open connections of those who are on them
//	watch.go       when files are read again, and what is said of it
//	seen.go        whose certificates clients have shown lately
//	listener.go    TLS for clients
//	peer.go        mutual TLS between nodes
//	explain.go     what went wrong, in a user's words
//
// DESIGN.md says why it is done like this.
package certs
