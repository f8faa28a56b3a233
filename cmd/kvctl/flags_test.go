package main

import (
	"strings"
	"testing"
)

// Numbers are decimal, whether they begin with 0 or not, in flags as in arguments.
func TestNumbersAreDecimal(t *testing.T) {
	c := start(t, 1)
	for revision := c.Set("other", "v"); revision < 9; {
		revision = c.Set("other", "v")
	}
	if o := kvctl(t, c, "", "set", "k", "v", "--flags", "017"); o.code != 0 || o.out != "revision 10\n" {
		t.Fatalf("%+v", o)
	}
	if o := kvctl(t, c, "", "get", "k", "--json"); !strings.Contains(o.out, `"flags":17,`) {
		t.Errorf("flags of 017 are %s", o.out)
	}
	for _, bad := range []string{"0xa", "0b11", "1_0", "-1", "x", "18446744073709551616"} {
		if o := kvctl(t, c, "", "delete", "k", "--cas="+bad); o.code != 2 ||
			!strings.Contains(o.errOut, "number from 0 up") {
			t.Errorf("--cas %s: %+v", bad, o)
		}
	}
	if o := kvctl(t, c, "", "delete", "k", "--cas", "010"); o.code != 0 {
		t.Errorf("a key at index 10 is not deleted with --cas 010: %+v", o)
	}
}

// The nodes are those of kvctl's own variable, else of one that scripts for Consul have set.
func TestTheNodesOfTheEnvironment(t *testing.T) {
	for _, x := range []struct{ environ, want string }{
		{"", "127.0.0.1:8500 127.0.0.1:8501 127.0.0.1:8502"},
		{"CONSUL_HTTP_ADDR=c:1", "c:1"},
		{"CONSUL_HTTP_ADDR=c:1 TENURE_HTTP_ADDR=t:1", "t:1"},
		{"TENURE_HTTP_ADDR=t:1 KVCTL_ENDPOINTS=k:1,k:2", "k:1 k:2"},
		{"KVCTL_ENDPOINTS= CONSUL_HTTP_ADDR=https://c:1", "https://c:1"},
	} {
		a := newApp(strings.Fields(x.environ), nil, nil, nil)
		if got := strings.Join(a.environEndpoints(), " "); got != x.want {
			t.Errorf("%s: %s, want %s", x.environ, got, x.want)
		}
	}
}
