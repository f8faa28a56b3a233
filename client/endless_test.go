package client_test

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"

	"tenure/client"
)

// A server that answers a question about a node without end costs no more than a node's answer may.
func TestAStatusWithoutEnd(t *testing.T) {
	var sent atomic.Int64
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		for piece := strings.Repeat(" ", 64<<10); sent.Load() < 128<<20; {
			n, err := w.Write([]byte(piece))
			sent.Add(int64(n))
			if err != nil {
				return
			}
		}
	}))
	defer s.Close()
	c, err := client.New(client.Config{Endpoints: []string{s.URL}})
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	_, err = c.Nodes().StatusOf(t.Context(), s.URL)
	if err == nil || !strings.Contains(err.Error(), "is this a Tenure node?") {
		t.Error(err)
	}
	if n := sent.Load(); n > 32<<20 {
		t.Errorf("%d bytes of the answer were taken", n)
	}
}
