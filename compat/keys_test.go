package compat

import (
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"math/rand/v2"
	"net/http"
	"net/url"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"unicode/utf8"

	"tenure/jepsen/cluster"
)

// maxKeyBytes is the longest key.
const maxKeyBytes = 1024

// pieces are what awkward keys are made of.
var pieces = strings.Split("/ // /./ /../ .. . ... %2F %2f %25 %00 % %% %zz + ++ ? # & = ; : , @ * ! $ ( ) [ ] { } | \\ ^ ` < > ~ _ - ' \" '' \"\" "+
	"a B 7 key locks v1 kv é ß ñ 漢字 한 ж א ع 😀 👩‍👩‍👧 e\u0301 \u200d \u202e \ufeff \ufffd \u2028 \u00a0 \U0010ffff \u0080", " ")

// brokenPieces are no UTF-8, each in its own way.
var brokenPieces = []string{"\xff", "\xfe", "\x80", "\xc0\x80", "\xc3", "\xe2\x82", "\xed\xa0\x80", "\xf4\x90\x80\x80", "\xf8\x88\x80\x80\x80"}

// draw makes n different keys: nine of ten are such as must be taken, the others are too long or no UTF-8.
func draw(r *rand.Rand, n int) []string {
	seen := map[string]bool{"": true}
	var keys []string
	for len(keys) < n {
		k := drawOne(r)
		if !seen[k] {
			seen[k] = true
			keys = append(keys, k)
		}
	}
	return keys
}

func drawOne(r *rand.Rand) string {
	var b strings.Builder
	grow := func() {
		switch r.IntN(8) {
		case 0:
			b.WriteByte(byte(r.IntN(0x20))) // a control character
		case 1:
			b.WriteString([]string{" ", "\x7f", "\r\n", "\t", "\x00"}[r.IntN(5)])
		default:
			b.WriteString(pieces[r.IntN(len(pieces))])
		}
	}
	for range 1 + r.IntN(12) {
		grow()
	}
	switch r.IntN(40) {
	case 0, 1: // exactly the longest
		for b.Len() < maxKeyBytes {
			grow()
		}
		k := b.String()[:maxKeyBytes]
		for !utf8.ValidString(k) {
			k = k[:len(k)-1]
		}
		return k + strings.Repeat("x", maxKeyBytes-len(k))
	case 2: // a little longer
		for b.Len() <= maxKeyBytes {
			grow()
		}
	case 3, 4:
		at, bad := r.IntN(b.Len()+1), brokenPieces[r.IntN(len(brokenPieces))]
		return b.String()[:at] + bad + b.String()[at:]
	}
	return b.String()
}

func fine(key string) bool { return len(key) <= maxKeyBytes && utf8.ValidString(key) }

// encodings are the ways to write a key into a path.
var encodings = []func(key string) string{
	func(key string) string { // as little as can be
		var b strings.Builder
		for _, c := range []byte(key) {
			if c <= ' ' || c >= 0x7f || strings.IndexByte("%?#\"<>\\^`{|}", c) >= 0 {
				fmt.Fprintf(&b, "%%%02x", c)
			} else {
				b.WriteByte(c)
			}
		}
		return b.String()
	},
	func(key string) string { // everything
		var b strings.Builder
		for _, c := range []byte(key) {
			fmt.Fprintf(&b, "%%%02X", c)
		}
		return b.String()
	},
	url.PathEscape, // slashes too
	func(key string) string { return (&url.URL{Path: "/" + key}).EscapedPath()[1:] }, // slashes not
}

// raw is the cluster by plain HTTP, one node after the other.
type raw struct {
	t     *testing.T
	nodes []*cluster.Node
}

func (c raw) do(i int, method, key, query, body string) (int, []byte) {
	const prefix = "/v1/kv/"
	path := prefix + encodings[i%len(encodings)](key)
	u := &url.URL{Scheme: "http", Host: c.nodes[i%len(c.nodes)].Client, Path: prefix + key, RawPath: path, RawQuery: query}
	if u.EscapedPath() != u.RawPath {
		c.t.Errorf("%q would be sent as %s", path, u.EscapedPath())
	}
	req, err := http.NewRequest(method, "http://"+u.Host, strings.NewReader(body))
	must(c.t, err)
	req.URL = u
	rsp, err := http.DefaultClient.Do(req)
	if err != nil {
		c.t.Errorf("%s %s: %v", method, path, err)
		return 0, nil
	}
	defer rsp.Body.Close()
	answer, err := io.ReadAll(rsp.Body)
	if err != nil {
		c.t.Errorf("%s %s: %v", method, path, err)
	}
	return rsp.StatusCode, answer
}

// list is what is under prefix, as the server orders it.
func (c raw) list(i int, prefix string) (keys []string, values map[string]string) {
	code, body := c.do(i, "GET", prefix, "recurse", "")
	if code == http.StatusNotFound {
		return nil, nil
	}
	var entries []struct {
		Key   string
		Value []byte
	}
	if err := json.Unmarshal(body, &entries); err != nil || code != http.StatusOK {
		c.t.Fatalf("listing: %d, %v", code, err)
	}
	values = map[string]string{}
	for _, e := range entries {
		keys = append(keys, e.Key)
		values[e.Key] = string(e.Value)
	}
	return keys, values
}

// each calls f for every key, some at a time.
func each(keys []string, f func(i int, key string)) {
	const workers = 16
	var group sync.WaitGroup
	for w := range workers {
		group.Go(func() {
			for i := w; i < len(keys); i += workers {
				f(i, keys[i])
			}
		})
	}
	group.Wait()
}

// seed is from TENURE_COMPAT_SEED, or new.
func seed(t *testing.T) uint64 {
	s := rand.Uint64()
	if text := os.Getenv("TENURE_COMPAT_SEED"); text != "" {
		var err error
		s, err = strconv.ParseUint(text, 10, 64)
		must(t, err)
	}
	t.Logf("to see this again: TENURE_COMPAT_SEED=%d", s)
	return s
}

// TestKeys stores, lists, fetches and deletes awkward keys. Each must come back byte for byte, whichever way it was
// written, or be refused with 400.
func TestKeys(t *testing.T) {
	n := 10_000
	if testing.Short() {
		n = 1_000
	}
	c := start(t)
	http.DefaultTransport.(*http.Transport).MaxIdleConnsPerHost = 16
	web := raw{t, c.Nodes()}
	keys := draw(rand.New(rand.NewPCG(seed(t), 0)), n)
	value := func(key string) string { return "of " + key }
	each(keys, func(i int, key string) {
		code, body := web.do(i, "PUT", key, "", value(key))
		switch {
		case fine(key) && (code != http.StatusOK || strings.TrimSpace(string(body)) != "true"):
			t.Errorf("put %q: %d %s", key, code, body)
		case !fine(key) && code != http.StatusBadRequest:
			t.Errorf("put %q: %d %s, want 400", key, code, body)
		}
	})
	good := slices.Sorted(maps.Keys(toSet(keys, fine)))
	bad := len(keys) - len(good)
	t.Logf("%d keys stored, %d refused", len(good), bad)
	if len(good) < n*8/10 || bad < n/100 {
		t.Error("that is no test")
	}
	sameKeys(t, web, good, value)
	each(keys, func(i int, key string) {
		code, body := web.do(i+1, "GET", key, "raw", "")
		if fine(key) && (code != http.StatusOK || string(body) != value(key)) || !fine(key) && code != http.StatusBadRequest {
			t.Errorf("get %q: %d %.80q", key, code, body)
		}
	})
	prefixes(t, web, good)
	libraries(t, c, good)
	for half := range 2 {
		each(good, func(i int, key string) {
			if i%2 != half {
				return
			}
			if code, body := web.do(i+2, "DELETE", key, "", ""); code != http.StatusOK {
				t.Errorf("delete %q: %d %s", key, code, body)
			}
		})
		var left []string
		for i, key := range good {
			if half == 0 && i%2 == 1 {
				left = append(left, key)
			}
		}
		sameKeys(t, web, left, value)
	}
}

func toSet(keys []string, in func(string) bool) map[string]bool {
	set := map[string]bool{}
	for _, k := range keys {
		if in(k) {
			set[k] = true
		}
	}
	return set
}

// sameKeys compares what is stored with want, which is in the order of bytes.
func sameKeys(t *testing.T, web raw, want []string, value func(string) string) {
	t.Helper()
	for i := range web.nodes {
		got, values := web.list(i, "")
		if !slices.Equal(got, want) {
			t.Fatalf("node %d lists %d keys, want %d; the first that differs: %q", i+1, len(got), len(want), differs(got, want))
		}
		for k, v := range values {
			if v != value(k) {
				t.Errorf("node %d: the value of %q is %.80q", i+1, k, v)
			}
		}
	}
}

func differs(a, b []string) []string {
	for i := range a {
		if i >= len(b) || a[i] != b[i] {
			return a[i : i+1]
		}
	}
	return b[len(a):min(len(b), len(a)+1)]
}

// prefixes lists under some of the beginnings that keys share.
func prefixes(t *testing.T, web raw, keys []string) {
	for i := 0; i < len(keys); i += max(1, len(keys)/100) {
		prefix := keys[i][:(len(keys[i])+1)/2]
		if !utf8.ValidString(prefix) {
			continue
		}
		var want []string
		for _, k := range keys {
			if strings.HasPrefix(k, prefix) {
				want = append(want, k)
			}
		}
		if got, _ := web.list(i, prefix); !slices.Equal(got, want) {
			t.Errorf("under %q: %q, want %q", prefix, got, want)
		}
	}
}
