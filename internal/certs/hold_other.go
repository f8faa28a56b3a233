//go:build !unix

package certs

// Hold does nothing where directories cannot be locked.
func Hold(string) (release func(), err error) { return func() {}, nil }
