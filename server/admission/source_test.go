package admission

import (
	"net"
	"testing"
)

func TestSources(t *testing.T) {
	for addr, want := range map[string]struct {
		text     string
		loopback bool
	}{
		"192.0.2.1:80":               {"192.0.2.1", false},
		"[::ffff:192.0.2.1]:80":      {"192.0.2.1", false},
		"127.0.0.1:80":               {"127.0.0.1", true},
		"127.3.2.1:80":               {"127.3.2.1", true},
		"[::1]:80":                   {"::1", true},
		"[2001:db8:1:2:3:4:5:6]:80":  {"2001:db8:1:2::/64", false},
		"[2001:db8:1:2:ffff::1]:443": {"2001:db8:1:2::/64", false},
		"[fe80::1%eth0]:80":          {"fe80::/64", false},
		"pipe":                       {"unknown", false},
		"":                           {"unknown", false},
		"example.com:80":             {"unknown", false},
	} {
		s := ParseSource(addr)
		if s.String() != want.text || s.Loopback() != want.loopback {
			t.Errorf("%q: %v, loopback %v", addr, s, s.Loopback())
		}
		if a, err := net.ResolveTCPAddr("tcp", addr); err == nil && addr != "" && want.text != "unknown" && SourceOf(a) != s {
			t.Errorf("%q: %v as a net.Addr", addr, SourceOf(a))
		}
	}
	if s := SourceOf(&net.UnixAddr{Name: "/socket", Net: "unix"}); s != (Source{}) {
		t.Errorf("%v", s)
	}
}

// FuzzParseSource: whatever an address is, it has one source, whose text names it.
func FuzzParseSource(f *testing.F) {
	for _, s := range []string{"127.0.0.1:1", "[::1]:1", "[2001:db8::1]:443", "[::ffff:10.0.0.1%x]:1", "", ":", "x"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, remote string) {
		s := ParseSource(remote)
		if s.String() == "" || s.Loopback() && s == (Source{}) || s != ParseSource(remote) {
			t.Fatalf("%q: %v", remote, s)
		}
	})
}
