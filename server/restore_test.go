package server

import (
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"tenure/api"
	"tenure/kv"
)

// startAtNewestLevel runs a cluster of one, and returns when it is at this release's feature level.
func startAtNewestLevel(t *testing.T) *host {
	t.Helper()
	h := startCluster(t, 1)[0]
	h.until(t, "at the newest feature level", func() bool { return h.status(t).FeatureLevel == kv.NewestLevel })
	return h
}

func revisionOf(h http.Header) (n uint64) {
	_, _ = fmt.Sscan(h.Get(api.HeaderRevision), &n)
	return n
}

// ok makes a request that must succeed.
func (h *host) ok(t *testing.T, method, path, body string) (text string, header http.Header) {
	t.Helper()
	code, text, header := h.call(method, path, body)
	if code != 200 {
		t.Fatalf("%s %s: %d %s", method, path, code, text)
	}
	return text, header
}

func TestAnUploadReplacesTheState(t *testing.T) {
	h := startAtNewestLevel(t)
	for i := range 300 {
		h.ok(t, "PUT", fmt.Sprintf("/v1/kv/k%03d", i), strings.Repeat("v", 3000))
	}
	snapshot, _ := h.ok(t, "GET", api.PathSnapshot, "")
	want, _ := h.ok(t, "GET", "/v1/kv/?keys", "")
	plain, _ := h.ok(t, "GET", api.PathBackup, "")

	h.ok(t, "PUT", "/v1/kv/later", "v")
	_, header := h.ok(t, "GET", "/v1/kv/later", "")
	index := header.Get(api.HeaderIndex)
	_, header = h.ok(t, "DELETE", "/v1/kv/k007", "")
	blocked := make(chan string, 1)
	go func() {
		_, text, header := h.call("GET", "/v1/kv/later?wait=60s&index="+index, "")
		blocked <- fmt.Sprint(text, header.Get(api.HeaderIndex))
	}()
	events := watchEvents(t, h)
	before := revisionOf(header)

	_, header = h.ok(t, "PUT", api.PathSnapshot, snapshot)
	if header.Get(api.HeaderCount) != "300" {
		t.Errorf("%v", header)
	}
	after := revisionOf(header)
	if after < before+kv.InstallRevisions {
		t.Errorf("revision %d after %d", after, before)
	}
	select {
	case got := <-blocked:
		if got != fmt.Sprint(after) {
			t.Errorf("the blocking query got %s", got)
		}
	case <-time.After(20 * time.Second):
		t.Error("the blocking query was not woken")
	}
	for deadline := time.After(20 * time.Second); ; {
		select {
		case e := <-events:
			if !strings.Contains(e, "later") {
				continue
			}
		case <-deadline:
			t.Error("the watch was told nothing")
		}
		break
	}
	check := func() {
		t.Helper()
		if got, _ := h.ok(t, "GET", "/v1/kv/?keys", ""); got != want {
			t.Errorf("%.200s\nwant %.200s", got, want)
		}
		_, header := h.ok(t, "GET", "/v1/kv/k007", "")
		if header.Get(api.HeaderIndex) != fmt.Sprint(after) {
			t.Errorf("%v", header)
		}
	}
	check()
	h.stop(t)
	h.start(t)
	h.awaitReady(t)
	check()

	// A plain backup, and what is none.
	_, header = h.ok(t, "PUT", api.PathSnapshot, plain)
	after = revisionOf(header)
	check()
	for i, bad := range []string{"", "hello", snapshot[:len(snapshot)-9], plain[:len(plain)/2],
		strings.Replace(plain, "vvvvvvvv", "vvvvwvvv", 1), strings.Replace(snapshot, snapshot[5000:5003], "xyz", 1)} {
		if code, text, _ := h.call("PUT", api.PathSnapshot, bad); code != 400 {
			t.Errorf("%d: %d %s", i, code, text)
		}
	}
	check()
}

// TestAnUploadIsDoneOnce: a copy of the request gets the answer of the first one. Another snapshot under the same key is
// not applied. The upload has made its base too old, so nobody knows whether it had the key before.
func TestAnUploadIsDoneOnce(t *testing.T) {
	h := startAtNewestLevel(t)
	h.ok(t, "PUT", "/v1/kv/k", "v")
	snapshot, _ := h.ok(t, "GET", api.PathSnapshot, "")
	_, header := h.ok(t, "PUT", "/v1/kv/k", "2")
	base := header.Get(api.HeaderRevision)
	other, _ := h.ok(t, "GET", api.PathSnapshot, "")
	keyed := func(snapshot string) string {
		t.Helper()
		req, err := http.NewRequest("PUT", "http://"+h.cfg.ClientAddr+api.PathSnapshot, strings.NewReader(snapshot))
		if err != nil {
			t.Fatal(err)
		}
		req.Header.Set(api.HeaderIdempotencyKey, "mine")
		req.Header.Set(api.HeaderBase, base)
		resp, err := http.DefaultClient.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		defer resp.Body.Close()
		return fmt.Sprint(resp.StatusCode, " ", resp.Header.Get(api.HeaderRevision), resp.Header.Get(api.HeaderError))
	}
	first := keyed(snapshot)
	h.ok(t, "PUT", "/v1/kv/k", "3")
	if got := keyed(other); !strings.HasPrefix(got, "504 ") || !strings.HasSuffix(got, string(api.CodeKeyTooOld)) {
		t.Errorf("another snapshot under the same key: %s", got)
	}
	if again := keyed(snapshot); !strings.HasPrefix(first, "200 ") || again != first {
		t.Errorf("%s, and again %s", first, again)
	}
	if got, _ := h.ok(t, "GET", "/v1/kv/k?raw", ""); got != "3" {
		t.Errorf("the copy was applied: %s", got)
	}
}
