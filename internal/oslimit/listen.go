package oslimit

import (
	"context"
	"net"
)

// Listen listens for clients on a TCP address. The system buffers few unsent bytes for each connection.
func Listen(addr string) (net.Listener, error) {
	config := net.ListenConfig{Control: keepUnsentShort}
	config.SetMultipathTCP(false) // connections would not inherit what Control sets
	return config.Listen(context.Background(), "tcp", addr)
}
