package server

import (
	"bufio"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	"tenure/api"
)

// Only the client port answers requests of the API. The profiler's port answers 404 to all of them, the peer port 400.
func TestOtherPortsAnswerNoRequests(t *testing.T) {
	admin := freeAddr(t)
	h := startCluster(t, 1, func(c *Config) { c.ACL, c.AdminAddr = true, admin })[0]
	paths := []string{"/", "/metrics", api.PathKV + "k", api.PathKV + "?recurse", api.PathStatus, api.PathTxn, api.PathACLTokenList,
		api.PathACLBootstrap, api.PathMembers, api.PathLease + "l", api.PathWatch, api.PathSnapshot, api.PathHealthLive}
	const wrong = "HTTP/1.1 400 Bad Request\r\n"
	for _, path := range paths {
		for _, method := range []string{"GET", "PUT", "POST", "DELETE"} {
			r, err := http.NewRequest(method, "http://"+admin+path, strings.NewReader("{}"))
			if err != nil {
				t.Fatal(err)
			}
			resp, err := http.DefaultClient.Do(r)
			if err != nil {
				t.Fatal(err)
			}
			text, _ := io.ReadAll(resp.Body)
			resp.Body.Close()
			if resp.StatusCode != 404 || !strings.HasPrefix(string(text), "404 page not found") {
				t.Errorf("the profiler's port, %s %s: %d %s", method, path, resp.StatusCode, text)
			}
			if answer := rawAnswer(t, h.cfg.PeerAddr, method+" "+path+" HTTP/1.1\r\nHost: h\r\nContent-Length: 0\r\n\r\n"); answer != wrong {
				t.Errorf("the peers' port, %s %s: %q", method, path, answer)
			}
		}
	}
}

// rawAnswer returns the first line of what an address answers until it ends the connection, "" if that is no answer of
// HTTP.
func rawAnswer(t *testing.T, addr, request string) string {
	t.Helper()
	c, err := net.Dial("tcp", addr)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	_ = c.SetDeadline(time.Now().Add(5 * time.Second))
	if _, err := io.WriteString(c, request); err != nil {
		return ""
	}
	line, _ := bufio.NewReader(c).ReadString('\n')
	if !strings.HasPrefix(line, "HTTP/") {
		return ""
	}
	return line
}
