//go:build !unix

package shorthttp

import "net"

// gone cannot tell here: a request whose client went away runs to its end.
func gone(net.Conn) bool { return false }
