package client_test

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"tenure/client"
)

// Of an answer without end, by a server that is no node, no more is read than a node says about itself.
func TestAnswersWithoutEnd(t *testing.T) {
	const much = 64 << 20 // far below Config.MaxAnswerBytes
	var most atomic.Int64
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		sent := 0
		for piece := []byte(strings.Repeat(" ", 64<<10)); sent < much; {
			n, err := w.Write(piece)
			if sent += n; err != nil {
				break
			}
		}
		most.Store(max(most.Load(), int64(sent)))
	}))
	defer s.Close()
	c, err := client.New(client.Config{Endpoints: []string{s.URL}, Timeout: 2 * time.Second})
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	_, ofStatus := c.Nodes().StatusOf(t.Context(), s.URL)
	_, _, ofRead := c.Get(t.Context(), "a", client.ReadOptions{})
	for what, err := range map[string]error{"a status": ofStatus, "a read": ofRead} {
		if err == nil || !strings.Contains(err.Error(), "is this a Tenure node?") {
			t.Errorf("%s: %v", what, err)
		}
	}
	if n := most.Load(); n >= much {
		t.Errorf("%d bytes of one were taken", n)
	}
}

// What a server has answered that is no node is told, although the end of the call has cut the try after that.
func TestACutTryHidesNoAnswer(t *testing.T) {
	var asked atomic.Int64
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if asked.Add(1) == 1 {
			for piece := make([]byte, 64<<10); ; {
				if _, err := w.Write(piece); err != nil {
					return
				}
			}
		}
		<-r.Context().Done()
	}))
	defer s.Close()
	c, err := client.New(client.Config{Endpoints: []string{s.URL}, Timeout: time.Second})
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	_, _, err = c.Get(t.Context(), "a", client.ReadOptions{})
	if err == nil || asked.Load() < 2 || !strings.Contains(err.Error(), "is this a Tenure node?") {
		t.Errorf("after %d tries: %v", asked.Load(), err)
	}
}
