package main

import (
	"io"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
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
		list, _ := environEndpoints(strings.Fields(x.environ))
		if got := strings.Join(list, " "); got != x.want {
			t.Errorf("%s: %s, want %s", x.environ, got, x.want)
		}
	}
}

// A variable that is misspelt is named: without it another cluster might be written to. So is one with a bad value.
func TestVariablesThatAreWrong(t *testing.T) {
	for environ, want := range map[string]string{
		"KVCTL_ENDPIONTS=k:1":                               "KVCTL_ENDPIONTS is not a variable of kvctl; unset it, or see kvctl --help for the flags; did you mean KVCTL_ENDPOINTS?",
		"KVCTL_ENDPOINT=k:1 KVCTL_ENDPOINTS=k:1":            "did you mean KVCTL_ENDPOINTS?",
		"KVCTL_TIMEOUT=5s":                                  "KVCTL_TIMEOUT is not a variable of kvctl",
		"TENURE_HTTP_ADR=k:1":                               "TENURE_HTTP_ADR is not a variable of kvctl; unset it, or see kvctl --help for the flags; did you mean TENURE_HTTP_ADDR?",
		"TENURE_CA_CERT=ca.pem":                             "did you mean TENURE_CACERT?",
		"TENURE_HTTP_TOKEN_FIEL=t":                          "did you mean TENURE_HTTP_TOKEN_FILE?",
		"TENURE_ENDPOINTS=k:1":                              "did you mean TENURE_HTTP_ADDR?",
		"TENURE_TOKEN=6a1c3e44-5f6b-4c1d-9a5e-0d2f7b8c9e10": "TENURE_TOKEN is not a variable of kvctl; unset it, or see kvctl --help for the flags; did you mean TENURE_HTTP_TOKEN?",
		"TENURE_TOKEN_FILE=t":                               "did you mean TENURE_HTTP_TOKEN_FILE?",
		"TENURE_CA_FILE=ca.pem":                             "did you mean TENURE_CACERT?",
		"TENURE_SERVER_NAME=n":                              "did you mean TENURE_TLS_SERVER_NAME?",
		"KVCTL_TOKEN=t":                                     "KVCTL_TOKEN is not a variable of kvctl; unset it, or see kvctl --help for the flags; did you mean TENURE_HTTP_TOKEN?",
		"KVCTL_CACERT=ca.pem":                               "did you mean TENURE_CACERT?",
		"TENURE_ADDR=k:1 TENURE_HTTP_ADDR=k:1":              "TENURE_ADDR is not a variable",
		"CONSUL_HTTP_ADDR=unix:///tmp/s":                    "CONSUL_HTTP_ADDR: endpoint \"unix:///tmp/s\": want http://host:port",
		"TENURE_HTTP_ADDR=host:x":                           "TENURE_HTTP_ADDR: endpoint",
		"KVCTL_ENDPOINTS=host:0":                            "KVCTL_ENDPOINTS: endpoint",
	} {
		var errOut strings.Builder
		code := run(t.Context(), []string{"get", "k"}, strings.Fields(environ), nil, io.Discard, &errOut)
		if code != exitUsage || !strings.Contains(errOut.String(), want) {
			t.Errorf("%s: exit code %d, %s; want %s", environ, code, errOut.String(), want)
		}
	}
	a := newApp([]string{"KVCTL=/bin/kvctl", "KVCTL_TIMEOUT=", "KVCTL_PORT=tcp://10.0.0.1:80", "KVCTL_PORT_80_TCP_ADDR=10.0.0.1",
		"KVCTL_SERVICE_HOST=10.0.0.1", "KVCTL_SERVICE_PORT=80", "KVCTL_SERVICE_PORT_HTTP=80", "KVCTL_ENDPOINTS=k:1",
		"TENURE_FENCE=f:1", "TENURE_TOKEN=1", "TENURE_LEASE=l", "TENURE_LOCK=l", "TENURE_SESSION=s", "TENURE_EVENT=set",
		"TENURE_KEY=k", "TENURE_INDEX=1", "TENURE_HTTP_ADDR=k:1", "TENURE_HTTP_TOKEN_FILE=t", "TENURE_TLS_SERVER_NAME=n",
		"TENURE_HTTP_SSL=1", "TENURE_VERSION=1.2", "TENURE_HOME=/srv", "TENURE_CACRT=", "TENURE_SERVICE_HOST=10.0.0.1",
		"TENURE_HTTP_PORT=tcp://10.0.0.1:80"}, nil, nil, nil)
	if err := checkEnviron(a.environ); err != nil {
		t.Error(err)
	}
}

func TestTheOwnerWithoutAUser(t *testing.T) {
	want := "uid-" + strconv.Itoa(os.Getuid()) + "@"
	if got := newApp(nil, nil, nil, nil).ownerOr(""); !strings.HasPrefix(got, want) {
		t.Errorf("%s, want %s…", got, want)
	}
	if got := newApp([]string{"USER=ann"}, nil, nil, nil).ownerOr(""); !strings.HasPrefix(got, "ann@") {
		t.Error(got)
	}
}

// Every length of time may be in days.
func TestDaysEverywhere(t *testing.T) {
	a := newApp(nil, nil, io.Discard, io.Discard)
	flags := 0
	var each func(cmd *cobra.Command)
	each = func(cmd *cobra.Command) {
		cmd.Flags().VisitAll(func(f *pflag.Flag) {
			if kind := f.Value.Type(); kind != "duration" && kind != "length" && kind != "TIME" {
				return
			}
			flags++
			if err := f.Value.Set("2d"); err != nil || f.Value.String() != "48h0m0s" && f.Value.String() != "2d" {
				t.Errorf("%s --%s: %s %v", cmd.CommandPath(), f.Name, f.Value, err)
			}
		})
		for _, c := range cmd.Commands() {
			each(c)
		}
	}
	each(newRoot(a))
	if flags < 15 {
		t.Errorf("only %d flags", flags)
	}
}

// A TTL of 0 may be meant as none or as one that ends at once. It is refused wherever a TTL can be given.
func TestATTLIsAboveZero(t *testing.T) {
	c := start(t, 1)
	for _, line := range []string{
		"set k v", "cas k 0 v", "session create", "lock l -- true", "lease acquire l",
		"lease renew l g", "lease run l -- true", "elect l -- true", "bench lease",
	} {
		verb, rest, _ := strings.Cut(line, " ")
		for _, ttl := range []string{"0s", "0", "-1s"} {
			args := append([]string{verb}, strings.Fields(rest)...)
			at := slices.Index(args, "--")
			if at < 0 {
				at = len(args)
			}
			o := kvctl(t, c, "", slices.Insert(args, at, "--ttl="+ttl)...)
			if o.code != exitUsage || !strings.Contains(o.errOut, "must be above 0") {
				t.Errorf("kvctl %s --ttl=%s: exit %d, %q", line, ttl, o.code, o.errOut)
			}
		}
	}
	if n := len(c.Sessions()); n != 0 {
		t.Errorf("%d sessions were made", n)
	}
}
