package hostname

import (
	"strings"
	"testing"
)

func TestValid(t *testing.T) {
	for _, s := range []string{"h", "n1.example.com", "N1", "a_b", "1", "10.0.0.1", "a--b", strings.Repeat("a", 63)} {
		if !Valid(s) {
			t.Errorf("%q is refused", s)
		}
	}
	for _, s := range []string{"", ".", "a.", ".a", "a..b", "-a", "a-", "*", "a b", "h:1", "é", strings.Repeat("a", 64),
		strings.Repeat("a.", 126) + "aa"} {
		if Valid(s) {
			t.Errorf("%q is taken", s)
		}
	}
}

// No byte is taken beside those of names, wherever it stands.
func TestValidBytes(t *testing.T) {
	const allowed = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_."
	for b := range 256 {
		c := string([]byte{byte(b)})
		if got, want := Valid("a"+c+"b"), strings.Contains(allowed, c); got != want {
			t.Errorf("byte %#x: %v", b, got)
		}
		if got, want := ValidAddress("a"+c+"b:1"), strings.Contains(allowed, c); got != want {
			t.Errorf("byte %#x in an address: %v", b, got)
		}
	}
}

func TestValidAddress(t *testing.T) {
	for _, s := range []string{"h:1", ":8500", "[::1]:0", "127.0.0.1:65535", "n1.example.com.:1", "[fe80::1%eth0]:1"} {
		if !ValidAddress(s) {
			t.Errorf("%q is refused", s)
		}
	}
	for _, s := range []string{"", "h", "h:", "h:65536", "h:-1", "h:a", "$(id):1", "a b:1", "a\x1bb:1", "[::1%$(id)]:1", "[::1%a\nb]:1",
		"h:1:2", "h.:.:1"} {
		if ValidAddress(s) {
			t.Errorf("%q is taken", s)
		}
	}
}
