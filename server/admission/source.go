package admission

import (
	"net"
	"net/netip"
)

// Source is the origin of a connection: an IPv4 address, or the /64 of an IPv6 address, since the holder of one address
// of such a network has all of them. The zero Source stands for connections without an address.
type Source struct{ prefix netip.Prefix }

const networkBits = 64

// SourceOf returns the source of a connection from that address.
func SourceOf(remote net.Addr) Source {
	if a, ok := remote.(*net.TCPAddr); ok {
		return sourceOf(a.AddrPort().Addr())
	}
	return ParseSource(remote.String())
}

// ParseSource returns the source of a connection from HOST:PORT, the zero Source if that has no address in figures.
func ParseSource(remote string) Source {
	a, err := netip.ParseAddrPort(remote)
	if err != nil {
		return Source{}
	}
	return sourceOf(a.Addr())
}

func sourceOf(a netip.Addr) Source {
	a = a.Unmap().WithZone("")
	bits := a.BitLen()
	if a.Is6() && !a.IsLoopback() {
		bits = networkBits
	}
	p, _ := a.Prefix(bits) // an error: a is not valid, and p the zero Prefix
	return Source{p}
}

// Loopback reports whether s is this machine.
func (s Source) Loopback() bool { return s.prefix.Addr().IsLoopback() }

// String returns the address, or the network.
func (s Source) String() string {
	switch {
	case !s.prefix.IsValid():
		return "unknown"
	case s.prefix.IsSingleIP():
		return s.prefix.Addr().String()
	}
	return s.prefix.String()
}
