// Package hostname says which texts can name a host. Names come from operators, certificates and other nodes, and are
// shown in logs and in commands to type, so only letters, digits and a few signs are allowed.
package hostname

import (
	"strconv"
	"strings"
)

const (
	maxBytes      = 253
	maxLabelBytes = 63
)

// Valid reports whether s can be the name of a host: labels of letters, digits, - and _ between dots. A label neither
// begins nor ends with -.
func Valid(s string) bool {
	if len(s) > maxBytes {
		return false
	}
	for label := range strings.SplitSeq(s, ".") {
		if label == "" || len(label) > maxLabelBytes || label[0] == '-' || label[len(label)-1] == '-' {
			return false
		}
		for i := range len(label) {
			if !mayBeInLabel(label[i]) {
				return false
			}
		}
	}
	return true
}

func mayBeInLabel(c byte) bool {
	return c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' || c == '-' || c == '_'
}

// ValidAddress reports whether s is HOST:PORT with a number as the port. HOST is a name, which may end with a dot, or
// an IP address, by version 6 in brackets, or empty, which stands for all addresses of a machine.
func ValidAddress(s string) bool {
	colon := strings.LastIndexByte(s, ':')
	if colon < 0 {
		return false
	}
	host := s[:colon]
	if _, err := strconv.ParseUint(s[colon+1:], 10, 16); err != nil {
		return false
	}
	if rest, ok := strings.CutPrefix(host, "["); ok {
		ip, ok := strings.CutSuffix(rest, "]")
		return ok && looksLikeIPv6(ip)
	}
	return host == "" || Valid(strings.TrimSuffix(host, "."))
}

// looksLikeIPv6 reports whether s has only what an IPv6 address has. A zone, which names an interface, is spelt like a
// host.
func looksLikeIPv6(s string) bool {
	ip, zone, zoned := strings.Cut(s, "%")
	if zoned && !Valid(zone) {
		return false
	}
	for i := range len(ip) {
		if strings.IndexByte("0123456789abcdefABCDEF:.", ip[i]) < 0 {
			return false
		}
	}
	return strings.Contains(ip, ":")
}
