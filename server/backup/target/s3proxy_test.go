package target

import (
	"context"
	"errors"
	"net"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"slices"
	"strings"
	"testing"
)

// TestCredentialsAreAskedForWithoutAProxy: whatever proxy the environment names, the credentials of the machine go
// through none. It runs in a process of its own: net/http reads the environment once.
func TestCredentialsAreAskedForWithoutAProxy(t *testing.T) {
	const proxyURL, child = "http://proxy.example:3128", "TENURE_TEST_PROXY_CHILD"
	if os.Getenv(child) == "" {
		cmd := exec.Command(os.Args[0], "-test.run=^"+t.Name()+"$")
		cmd.Env = slices.DeleteFunc(os.Environ(), func(e string) bool {
			name, _, _ := strings.Cut(e, "=")
			return strings.HasPrefix(name, "AWS_") || strings.EqualFold(name, "NO_PROXY")
		})
		cmd.Env = append(cmd.Env, child+"=1", "HTTP_PROXY="+proxyURL, "HTTPS_PROXY="+proxyURL, "http_proxy="+proxyURL,
			"AWS_SHARED_CREDENTIALS_FILE=/there/is/none")
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Errorf("%v\n%s", err, out)
		}
		return
	}
	for host, direct := range map[string]bool{
		"169.254.169.254": true, "169.254.170.2": true, "[fe80::a9fe:a9fe]": true, "[fe80::1%25eth0]": true,
		"[fd00:ec2::254]": true, "[fd00:ec2::23]": true, "[::ffff:169.254.169.254]": true, "127.0.0.1": true, "[::1]": true,
		"localhost": true, "LOCALHOST.": true, "s3.localhost": true,
		"s3.amazonaws.com": false, "10.0.0.1": false, "[fd00::1]": false, "169.255.169.254": false,
	} {
		for _, scheme := range []string{"http://", "https://"} {
			u, err := url.Parse(scheme + host + "/latest")
			must(t, err)
			got, err := proxy(&http.Request{URL: u})
			if err != nil || (got == nil) != direct {
				t.Errorf("%s: proxy %v, %v", u, got, err)
			}
		}
	}
	u, err := url.Parse("s3://bucket/p?endpoint=s3.example.com")
	must(t, err)
	for _, uri := range []string{"", "/v2/credentials"} { // of a machine, and of a container
		t.Setenv("AWS_CONTAINER_CREDENTIALS_RELATIVE_URI", uri)
		x, err := newBucket(u)
		must(t, err)
		var dialled []string
		x.(*bucket).transport.DialContext = func(_ context.Context, _, address string) (net.Conn, error) {
			dialled = append(dialled, address)
			return nil, errors.New("not in a test")
		}
		if x.(*bucket).hasCredentials() == nil {
			t.Error("there are credentials")
		}
		for _, address := range dialled {
			if !strings.HasPrefix(address, "169.254.") {
				t.Errorf("the credentials are asked for at %s", address)
			}
		}
		if len(dialled) == 0 {
			t.Error("nobody was asked")
		}
	}
}
