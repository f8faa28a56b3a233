package web

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"tenure/api"
	"tenure/kv"
)

func TestKeys(t *testing.T) {
	f := newFake(t)
	s := newServer(t, f)
	f.set(t, "b", "", "a/x/1", "", "a/x/2", "", "a/y", "", "a/z/1", "", "c/1", "", "a", "")
	for _, c := range []struct{ query, want, index string }{
		{"/v1/kv/?keys", `["a","a/x/1","a/x/2","a/y","a/z/1","b","c/1"]`, "8"},
		{"/v1/kv?keys", `["a","a/x/1","a/x/2","a/y","a/z/1","b","c/1"]`, "8"},
		{"/v1/kv/?keys&separator=/", `["a","a/","b","c/"]`, "8"},
		{"/v1/kv/?keys&separator=", `["a","a/x/1","a/x/2","a/y","a/z/1","b","c/1"]`, "8"},
		{"/v1/kv/a/?keys&separator=/", `["a/x/","a/y","a/z/"]`, "6"},
		{"/v1/kv/a?keys&separator=/", `["a","a/"]`, "8"},
		{"/v1/kv/a%2F?keys&separator=%2F&reverse", `["a/z/","a/y","a/x/"]`, "6"},
		{"/v1/kv/a/?keys&separator=/&start=a/x/&limit=2", `["a/x/","a/y"]`, "6"},
		{"/v1/kv/a/?keys&separator=/&start=a/y&reverse", `["a/y","a/x/"]`, "6"},
		{"/v1/kv/a/?keys&separator=/&start=a/x/&reverse", `["a/x/"]`, "6"}, // the whole group, from either side
		{"/v1/kv/?keys&start=a/y&limit=3", `["a/y","a/z/1","b"]`, "8"},
		{"/v1/kv/?keys&start=a/yy&limit=1", `["a/z/1"]`, "8"}, // start need not exist
		{"/v1/kv/?keys&reverse&limit=2", `["c/1","b"]`, "8"},
		{"/v1/kv/?keys&reverse&start=a/y&limit=2", `["a/y","a/x/2"]`, "8"},
		{"/v1/kv/a/?keys&start=0", `["a/x/1","a/x/2","a/y","a/z/1"]`, "6"}, // nor have the prefix
		{"/v1/kv/a/?keys&start=", `["a/x/1","a/x/2","a/y","a/z/1"]`, "6"},
		{"/v1/kv/?keys&start=d", `[]`, "8"},
		{"/v1/kv/b?keys&pretty", "[\n    \"b\"\n]\n", "2"},
	} {
		w := call(s, "GET", c.query, "")
		if w.Code != 200 || w.Body.String() != c.want || head(w, "Content-Type") != "application/json" || head(w, api.HeaderIndex) != c.index || head(w, api.HeaderRevision) != "8" {
			t.Errorf("%s: %d %s %v\nwant %s", c.query, w.Code, w.Body, w.Header(), c.want)
		}
	}
	for _, target := range []string{"/v1/kv/d?keys", "/v1/kv/a/?keys&start=b"} {
		if w := call(s, "GET", target, ""); w.Code != 404 || w.Body.Len() != 0 {
			t.Errorf("%s: %d %s", target, w.Code, w.Body)
		}
	}
}

// Consul answers `keys` before `recurse`, and both before `raw`. python-consul sends all that its caller asks for.
func TestKindsOfReadsGoInConsulsOrder(t *testing.T) {
	f := newFake(t)
	s := newServer(t, f)
	f.set(t, "a/1", "one", "a/b/2", "two")
	for _, c := range []struct{ queries, like string }{
		{"recurse&keys recurse=1&keys=1 keys&recurse keys&raw raw&recurse&keys", "keys"},
		{"recurse&keys&separator=/ keys&separator=/&raw", "keys&separator=/"},
		{"recurse&keys&start=a/b&limit=1&reverse", "keys&start=a/b&limit=1&reverse"},
		{"recurse&raw raw&recurse recurse&separator=/ recurse&raw&separator=/", "recurse"},
	} {
		want := call(s, "GET", "/v1/kv/a/?"+c.like, "")
		for _, q := range strings.Fields(c.queries) {
			w := call(s, "GET", "/v1/kv/a/?"+q, "")
			if w.Code != 200 || w.Body.String() != want.Body.String() {
				t.Errorf("%s: %d %s\nwant what %s gets: %s", q, w.Code, w.Body, c.like, want.Body)
			}
			if got, index := head(w, api.HeaderIndex), head(want, api.HeaderIndex); got != index {
				t.Errorf("%s: index %s, want %s", q, got, index)
			}
		}
	}
	for _, q := range []string{"raw&count", "keys&count", "recurse&count", "recurse&keys&count", "separator=/"} {
		if w := call(s, "GET", "/v1/kv/a/?"+q, ""); w.Code != 400 || code(w) != api.CodeInvalid {
			t.Errorf("%s: %d %s", q, w.Code, w.Body)
		}
	}
}

func TestKeysOfAnEmptyStore(t *testing.T) {
	s := newServer(t, newFake(t))
	for target, want := range map[string]string{"/v1/kv/?keys": "[]", "/v1/kv/?keys&pretty": "[]\n", "/v1/kv/?count": "0", "/v1/kv/a?count": "0"} {
		if w := call(s, "GET", target, ""); w.Code != 200 || w.Body.String() != want || head(w, api.HeaderIndex) != "1" {
			t.Errorf("%s: %d %s", target, w.Code, w.Body)
		}
	}
	if w := call(s, "GET", "/v1/kv/?recurse", ""); w.Code != 404 {
		t.Errorf("recurse: %d", w.Code)
	}
}

func TestCount(t *testing.T) {
	f := newFake(t)
	s := newServer(t, f)
	f.set(t, "a/1", "", "a/2", "", "b", "")
	for target, want := range map[string]string{"/v1/kv/?count": "3", "/v1/kv/b?count&stale": "1", "/v1/kv/c?count&pretty": "0"} {
		w := call(s, "GET", target, "")
		if w.Code != 200 || w.Body.String() != want || head(w, api.HeaderIndex) != "4" || head(w, "Content-Type") != "application/json" {
			t.Errorf("%s: %d %s", target, w.Code, w.Body)
		}
	}
}

func TestRecurseIsWhatEncodingJSONWrites(t *testing.T) {
	f := newFake(t)
	s := newServer(t, f)
	var all []jsonEntry
	add := func(key string, value []byte) {
		f.set(t, key, string(value))
		i := uint64(len(all) + 2)
		if len(value) == 0 {
			value = nil
		}
		all = append(all, jsonEntry{Key: key, Value: value, CreateIndex: i, ModifyIndex: i})
	}
	for i, n := range []int{0, 1, 2, 3, 4, base64PieceBytes - 1, base64PieceBytes, base64PieceBytes + 1, 2*base64PieceBytes + 2, 60_000} {
		value := make([]byte, n)
		for j := range value {
			value[j] = byte(j*7 + i)
		}
		add(fmt.Sprintf("p/%02d \u2028<&>", i), value)
	}
	for i := range 2000 {
		add(fmt.Sprintf("p/x%04d", i), []byte("small"))
	}
	compact, _ := json.Marshal(all)
	pretty, _ := json.MarshalIndent(all, "", "    ")
	for q, want := range map[string]string{"?recurse": string(compact), "?recurse&pretty": string(pretty) + "\n"} {
		if w := call(s, "GET", "/v1/kv/p/"+q, ""); w.Code != 200 || w.Body.String() != want {
			t.Errorf("%s: %d, %d bytes, want %d", q, w.Code, w.Body.Len(), len(want))
		}
	}
	var page []jsonEntry
	w := call(s, "GET", "/v1/kv/?recurse&reverse&limit=3&start=p/x1500", "")
	if err := json.Unmarshal(w.Body.Bytes(), &page); err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff([]jsonEntry{all[1510], all[1509], all[1508]}, page); d != "" {
		t.Error(d)
	}
}

// Reading page after page as the comment on list says gives every name once.
func TestPages(t *testing.T) {
	f := newFake(t)
	s := newServer(t, f)
	for i := range 100 {
		f.set(t, fmt.Sprintf("k/%02d/%d", i/3, i), "")
	}
	for _, q := range []string{"?keys", "?keys&reverse", "?keys&separator=/", "?keys&separator=/&reverse"} {
		list := func(more string) (names []string) {
			if w := call(s, "GET", "/v1/kv/k/"+q+more, ""); w.Code != 200 || json.Unmarshal(w.Body.Bytes(), &names) != nil {
				t.Fatalf("%s%s: %d %s", q, more, w.Code, w.Body)
			}
			return names
		}
		var got []string
		for more := "&limit=8"; ; {
			page := list(more)
			if len(page) < 8 {
				got = append(got, page...)
				break
			}
			got = append(got, page[:7]...)
			more = "&limit=8&start=" + page[7]
		}
		if d := cmp.Diff(list(""), got); d != "" {
			t.Errorf("%s: %s", q, d)
		}
	}
}

// A listing shows one moment: what is written while it goes on is not in it.
func TestListingIsOneSnapshot(t *testing.T) {
	f := newFake(t)
	s := newServer(t, f)
	for i := range 3000 {
		f.set(t, fmt.Sprintf("k%04d", i), "v")
	}
	w := &changing{ResponseRecorder: httptest.NewRecorder(), change: func() { f.set(t, "k2999", "changed", "k9999", "new") }}
	s.ServeHTTP(w, httptest.NewRequest("GET", "/v1/kv/?recurse", nil))
	var got []jsonEntry
	if err := json.Unmarshal(w.Body.Bytes(), &got); err != nil || w.changed == 0 {
		t.Fatal(err, w.changed)
	}
	if n := len(got); n != 3000 || string(got[n-1].Value) != "v" || head(w.ResponseRecorder, api.HeaderIndex) != "3001" {
		t.Errorf("%d entries, the last %+v, index %s", n, got[n-1], head(w.ResponseRecorder, api.HeaderIndex))
	}
}

type changing struct {
	*httptest.ResponseRecorder
	change  func()
	changed int
}

func (c *changing) Write(b []byte) (int, error) {
	c.change()
	c.changed++
	return c.ResponseRecorder.Write(b)
}

// broken is a state database that is damaged behind some key, except for one of the scans through it.
type broken struct {
	kv.Source
	after string
	sound int // the scan, counted from 1
	scans *int
}

type brokenView struct {
	kv.StateDB
	broken
}

func (b broken) View() (kv.StateDB, error) {
	v, err := b.Source.View()
	return brokenView{v, b}, err
}

func (v brokenView) Ascend(s kv.RecordKind, from []byte, fn func(k, r []byte) bool) error {
	if s == kv.KindData {
		if *v.scans++; *v.scans == v.sound {
			return v.StateDB.Ascend(s, from, fn)
		}
	}
	var err error
	if e := v.StateDB.Ascend(s, from, func(k, r []byte) bool {
		if s == kv.KindData && string(k) > v.after {
			err = kv.ErrDamaged
			return false
		}
		return fn(k, r)
	}); e != nil {
		return e
	}
	return err
}

func brokenFake(t *testing.T, after string, sound int) *fake {
	f := newFake(t)
	stateDB := kv.NewMemStateDB()
	st, err := kv.Open(stateDB, kv.DefaultLimits)
	if err != nil {
		t.Fatal(err)
	}
	f.state = st
	for i := range 3000 {
		f.set(t, fmt.Sprintf("k%04d", i), "some value")
	}
	stateDB.Merge(st.Freeze().Checkpoint())
	if f.state, err = kv.Open(broken{stateDB, after, sound, new(int)}, kv.DefaultLimits); err != nil {
		t.Fatal(err)
	}
	return f
}

// counted is a source that knows how many of its views are open, and may hold each scan up.
type counted struct {
	kv.Source
	open *int
	hold time.Duration
}

type countedView struct {
	kv.StateDB
	c *counted
}

func (c *counted) View() (kv.StateDB, error) {
	*c.open++
	v, err := c.Source.View()
	return countedView{v, c}, err
}

func (v countedView) Close() {
	*v.c.open--
	v.StateDB.Close()
}

func (v countedView) Ascend(s kv.RecordKind, from []byte, fn func(k, r []byte) bool) error {
	if s == kv.KindData {
		time.Sleep(v.c.hold)
	}
	return v.StateDB.Ascend(s, from, fn)
}

// An open view keeps the disk from reusing its pages, so every listing gives its own back however it ends.
func TestSnapshotsAreClosed(t *testing.T) {
	open := 0
	f := newFake(t)
	st, err := kv.Open(&counted{broken{kv.NewMemStateDB(), "none", 0, new(int)}, &open, 0}, kv.DefaultLimits)
	if err != nil {
		t.Fatal(err)
	}
	f.state = st
	f.set(t, "a", "1")
	s := newServer(t, f)
	before := open
	for _, q := range []string{"a?recurse", "a?keys", "?count", "b?recurse", "b?keys", "?keys&start=b"} {
		call(s, "GET", "/v1/kv/"+q, "")
	}
	func() {
		defer func() { _ = recover() }()
		s.ServeHTTP(panicking{httptest.NewRecorder()}, httptest.NewRequest("GET", "/v1/kv/?recurse", nil))
	}()
	if open != before {
		t.Errorf("%d views open, %d before", open, before)
	}
}

// What bounds the arrival of a request does not bound its answer.
func TestListingOutlastsTheReadTimeout(t *testing.T) {
	f, open := newFake(t), 0
	st, err := kv.Open(&counted{kv.NewMemStateDB(), &open, 150 * time.Millisecond}, kv.DefaultLimits)
	if err != nil {
		t.Fatal(err)
	}
	f.state = st
	for i := range 1000 {
		f.set(t, fmt.Sprintf("k%04d", i), "v")
	}
	addr := serve(t, newServer(t, f, func(c *Config) {
		c.HeaderTimeout, c.BodyTimeout, c.ClientTimeout = 30*time.Millisecond, 30*time.Millisecond, 30*time.Millisecond
	}))
	got := say(t, addr, "GET /v1/kv/?count HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n")
	if !strings.HasSuffix(got, "\r\n\r\n1000") {
		t.Errorf("%q", got)
	}
}

func TestDamageBeforeTheAnswerBegan(t *testing.T) {
	for _, after := range []string{"k0001", "k2500"} { // the second is found while the index is looked for
		s := newServer(t, brokenFake(t, after, 0))
		for _, q := range []string{"?recurse", "?keys", "?count"} {
			if w := call(s, "GET", "/v1/kv/"+q, ""); w.Code != 500 || code(w) != api.CodeInternal {
				t.Errorf("%s: %d %s", q, w.Code, w.Body)
			}
		}
	}
}

// Once the answer has begun its status is gone; the client must see that it is not whole.
func TestDamageInTheMiddleCutsTheConnection(t *testing.T) {
	addr := serve(t, newServer(t, brokenFake(t, "k2500", 2)))
	got := say(t, addr, "GET /v1/kv/?recurse HTTP/1.1\r\nHost: x\r\n\r\n")
	if !strings.HasPrefix(got, "HTTP/1.1 200") || !strings.Contains(got, `"Key":"k2000"`) {
		t.Fatalf("%.200s", got)
	}
	if strings.HasSuffix(got, "0\r\n\r\n") || strings.Contains(got, "k2501") {
		t.Errorf("the answer looks whole: …%q", got[len(got)-60:])
	}
}

// A client that does not read must not hold its snapshot for ever.
func TestListingEndsWithItsClient(t *testing.T) {
	f := newFake(t)
	big := strings.Repeat("x", 16<<10)
	for i := range 1000 { // more than sockets hold
		f.set(t, fmt.Sprintf("k%03d", i), big)
	}
	s := newServer(t, f, func(c *Config) {
		c.BodyTimeout, c.ClientTimeout, c.ResponseTimeout = 100*time.Millisecond, 100*time.Millisecond, 300*time.Millisecond
	})
	addr := serve(t, s)
	c := dial(t, addr)
	if _, err := fmt.Fprintf(c, "GET /v1/kv/?recurse HTTP/1.1\r\nHost: x\r\n\r\n"); err != nil {
		t.Fatal(err)
	}
	waitFor(t, func() bool { return s.metrics.inFlight.Load() == 1 })
	waitFor(t, func() bool { return s.metrics.inFlight.Load() == 0 })
}

// A client that takes nothing for ListTimeout must not hold its snapshot for longer.
func TestAListingThatIsNotReadIsCutSoon(t *testing.T) {
	f := newFake(t)
	big := strings.Repeat("x", 16<<10)
	for i := range 1000 { // more than sockets hold
		f.set(t, fmt.Sprintf("k%03d", i), big)
	}
	s := newServer(t, f, func(c *Config) { c.ListTimeout = 100 * time.Millisecond })
	c := dial(t, serve(t, s))
	if _, err := fmt.Fprintf(c, "GET /v1/kv/?recurse HTTP/1.1\r\nHost: x\r\n\r\n"); err != nil {
		t.Fatal(err)
	}
	waitFor(t, func() bool { return s.metrics.inFlight.Load() == 1 })
	waitFor(t, func() bool { return s.metrics.inFlight.Load() == 0 })
}

// overtaken is a source whose views are overtaken once they were asked so often.
type overtaken struct {
	kv.Source
	after int
}

type overtakenView struct {
	kv.StateDB
	left int
}

func (o overtaken) View() (kv.StateDB, error) {
	v, err := o.Source.View()
	return &overtakenView{v, o.after}, err
}

func (v *overtakenView) Overtaken() bool {
	v.left--
	return v.left < 0
}

// A listing that writes have overtaken ends, however fast it is read, so that the state database does not grow for it.
func TestAnOvertakenListingEnds(t *testing.T) {
	for _, c := range []struct {
		after int
		path  string
		begun bool // the status is out
	}{{0, "kv/?recurse", false}, {0, "kv/?keys", false}, {0, "kv/?count", false}, {12, "kv/?recurse", true},
		{0, "session/list", false}, {12, "session/list", true}} {
		f := newFake(t)
		stateDB := kv.NewMemStateDB()
		for i := range 3000 {
			f.set(t, fmt.Sprintf("k%04d", i), "some value")
			id := fmt.Sprintf("aaaaaaaa-0000-0000-0000-%012d", i)
			f.apply(t, kv.Command{Op: kv.OpSessionCreate, Session: kv.Session{ID: id, Node: "n"}})
		}
		stateDB.Merge(f.state.Freeze().Checkpoint())
		var err error
		if f.state, err = kv.Open(overtaken{stateDB, c.after}, kv.DefaultLimits); err != nil {
			t.Fatal(err)
		}
		got := say(t, serve(t, newServer(t, f)), "GET /v1/"+c.path+" HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n")
		whole := strings.HasSuffix(got, "]\r\n0\r\n\r\n") || strings.HasSuffix(got, "]")
		if strings.HasPrefix(got, "HTTP/1.1 200") != c.begun || whole ||
			strings.Contains(got, "read less at a time") == c.begun {
			t.Errorf("%s: %.300s … %q", c.path, got, got[max(0, len(got)-50):])
		}
	}
}

func TestListingThatTakesTooLong(t *testing.T) {
	f := newFake(t)
	for i := range 1000 {
		f.set(t, fmt.Sprintf("k%04d", i), "v")
	}
	s := newServer(t, f, func(c *Config) {
		c.HeaderTimeout, c.BodyTimeout, c.ClientTimeout, c.ResponseTimeout = 1, 1, 1, 2 // ns
	})
	for _, q := range []string{"?count", "?keys&separator=9"} {
		if w := call(s, "GET", "/v1/kv/"+q, ""); w.Code != http.StatusServiceUnavailable || code(w) != api.CodeNotApplied {
			t.Errorf("%s: %d %s", q, w.Code, w.Body)
		}
	}
}

// waitFor polls what nothing announces.
func waitFor(t *testing.T, done func() bool) {
	t.Helper()
	for end := time.Now().Add(10 * time.Second); !done(); {
		if time.Now().After(end) {
			t.Fatal("waited in vain")
		}
		time.Sleep(time.Millisecond)
	}
}
