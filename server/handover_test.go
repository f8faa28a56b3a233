package server

import (
	"fmt"
	"net/http"
	"sync"
	"testing"

	"tenure/api"
)

// Hand-overs that are asked of one master at once: one is carried out, and the others are refused or find another node
// master. None may end while another is under way, so the cluster goes on with one master.
func TestHandOversAtOnceAreCarriedOutOneByOne(t *testing.T) {
	hosts := startCluster(t, 3)
	for range 2 {
		m := master(t, hosts)
		var wait sync.WaitGroup
		codes := make(chan string, 4)
		for range cap(codes) {
			wait.Go(func() {
				code, _, head := m.call(http.MethodPost, "/v1/master/transfer", "{}")
				codes <- fmt.Sprint(code, " ", codeOf(head))
			})
		}
		wait.Wait()
		close(codes)
		done := 0
		for c := range codes {
			switch c {
			case "200 ":
				done++
			case fmt.Sprint("503 ", api.CodeNotApplied), fmt.Sprint("503 ", api.CodeUnknown), fmt.Sprint("504 ", api.CodeUnknown):
			default:
				t.Errorf("answered %s", c)
			}
		}
		if done == 0 {
			t.Error("none was carried out")
		}
		if code, text, _ := master(t, hosts).call(http.MethodPut, "/v1/kv/k", "v"); code != 200 {
			t.Fatalf("afterwards a write is answered %d %s", code, text)
		}
	}
}
