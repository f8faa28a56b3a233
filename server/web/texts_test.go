package web

import (
	"bufio"
	"bytes"
	"errors"
	"flag"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"testing/iotest"
	"time"

	"tenure/api"
	"tenure/kv"
	"tenure/server/service"
	"tenure/server/watch"
)

var updateTexts = flag.Bool("update", false, "write the texts of testdata/refusals.txt anew, but neither status nor code")

// situations are those in which the requests of testdata/refusals.txt are made.
var situations = map[string]func(*fake, *Config){
	"nothing special": func(*fake, *Config) {},
	"small limits": func(_ *fake, c *Config) {
		c.MaxValueBytes, c.SessionTTLMin = 1000, 2*time.Second
	},
	"a lock of kv/lock with token 10": func(f *fake, _ *Config) {
		f.slot++
		_, _ = f.state.Apply(f.slot, kv.AppendBatch(nil, kv.EncodeCommand(&kv.Command{
			Op: kv.OpSet, Key: "k", Value: []byte("text"), Fence: "kv/lock", Token: 10})))
	},
	"members 1 and 3, and 4, which does not vote": func(f *fake, _ *Config) {
		f.status.Node, f.status.Peers = 1, []api.PeerStatus{{Node: 3}, {Node: 4, NonVoter: true}}
	},
	"a node without a history": func(_ *fake, c *Config) { c.Hub = nil },
	"too many wait": func(_ *fake, c *Config) {
		c.Hub = watch.New(watch.Limits{Waiting: 1, Events: 1, Bytes: 1})
		_, _ = c.Hub.Sessions() // it stays
	},
	"no time for listings": func(f *fake, c *Config) {
		for i := range 1000 {
			f.slot++
			_, _ = f.state.Apply(f.slot, kv.AppendBatch(nil, kv.EncodeCommand(&kv.Command{
				Op: kv.OpSet, Key: strconv.Itoa(i)})))
		}
		c.HeaderTimeout, c.BodyTimeout, c.ClientTimeout, c.ResponseTimeout = 1, 1, 1, 2 // ns
	},
	"a node that is not ready": func(f *fake, _ *Config) { f.readyErr = errors.New("no master is known") },
	"a handler that panics":    func(f *fake, _ *Config) { f.onRead = func() { panic("boom") } },

	"not applied":      always(fmt.Errorf("%w: no master is known; try again", service.ErrNotApplied)),
	"overloaded":       always(fmt.Errorf("%w: too many requests wait", service.ErrOverloaded)),
	"outcome unknown":  always(fmt.Errorf("%w: no answer in time", service.ErrUnknown)),
	"no space":         always(fmt.Errorf("%w: delete keys", service.ErrNoSpace)),
	"quarantine":       always(&service.LeaseSilentError{Begins: 12*time.Second + 1}),
	"lease lost":       always(service.ErrLeaseGone),
	"a member error":   always(&service.Error{Code: api.CodeMemberBusy, Text: "the removal of node 2 runs (operation x): wait"}),
	"lease busy":       always(&service.LeaseBusyError{Owner: "them", RetryAfter: 1200*time.Millisecond + 1}),
	"an unknown error": always(errors.New("oops")),

	"the log says: key reused":       decided(kv.Result{Code: kv.CodeKeyReused}),
	"the log says: key too old":      decided(kv.Result{Code: kv.CodeKeyTooOld}),
	"the log says: base ahead":       decided(kv.Result{Code: kv.CodeBaseAhead}),
	"the log says: too many":         decided(kv.Result{Code: kv.CodeTooMany}),
	"the log says: missing":          decided(kv.Result{Code: kv.CodeMissing}),
	"the log says: no session":       decided(kv.Result{Code: kv.CodeNoSession}),
	"the log says: not a number":     decided(kv.Result{Code: kv.CodeNotNumber}),
	"the log says: full":             decided(kv.Result{Code: kv.CodeFull}),
	"the log says: exists":           decided(kv.Result{Code: kv.CodeExists}),
	"the log says: result too large": decided(kv.Result{Code: kv.CodeTooLarge}),
	"the log says: malformed":        decided(kv.Result{Code: kv.CodeMalformed}),
	"the log says: nonsense":         decided(kv.Result{Code: kv.CodeDone, Count: 1, Body: "\xff"}),
}

// always is a backend that answers everything with err.
func always(err error) func(*fake, *Config) {
	return func(f *fake, _ *Config) {
		f.writeErr, f.readErr, f.leaseErr, f.transferErr, f.memberErr = err, err, err, err, err
	}
}

// decided is a log that says the same of every write.
func decided(r kv.Result) func(*fake, *Config) { return func(f *fake, _ *Config) { f.result = r } }

// TestTexts is the one test that freezes what refusals say: testdata/refusals.txt has them all. Every other test decides
// by status and code. Some texts are Consul's, and its clients look for their first words.
func TestTexts(t *testing.T) {
	const file = "testdata/refusals.txt"
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	var out bytes.Buffer
	var f *fake
	var s *Server
	for in := bufio.NewScanner(bytes.NewReader(text)); in.Scan(); {
		line := in.Text()
		if strings.HasPrefix(line, "\t") {
			continue // an answer, which belongs to the request before
		}
		fmt.Fprintln(&out, line)
		if name, ok := strings.CutPrefix(line, "with "); ok {
			f = newFake(t)
			s = newServer(t, f, func(c *Config) { situations[name](f, c) })
		} else if line != "" && line[0] != '#' {
			status, says := refusedWith(t, f, s, line)
			fmt.Fprintf(&out, "\t%s\n\t%s\n", status, says)
			if !strings.Contains(string(text), line+"\n\t"+status+"\n") {
				t.Errorf("%s: %s", line, status)
			}
		}
	}
	if *updateTexts {
		err = os.WriteFile(file, out.Bytes(), 0o644)
	} else if out.String() != string(text) {
		err = fmt.Errorf("%s is not what is answered; if that is meant: go test ./server/web -run TestTexts -update\n%s",
			file, firstDifference(string(text), out.String()))
	}
	if err != nil {
		t.Error(err)
	}
}

// refusedWith makes the request of a line, METHOD TARGET [Header: value]… BODY, and returns its status and code, and the
// text. <x*3> in the line stands for xxx.
func refusedWith(t *testing.T, f *fake, s *Server, line string) (status, says string) {
	t.Helper()
	expanded := repeated.ReplaceAllStringFunc(line, func(m string) string {
		p := repeated.FindStringSubmatch(m)
		n, _ := strconv.Atoi(p[2])
		return strings.Repeat(p[1], n)
	})
	method, rest, _ := strings.Cut(expanded, " ")
	target, rest, _ := strings.Cut(rest, " ")
	headers := http.Header{}
	for m := header.FindStringSubmatch(rest); m != nil; m = header.FindStringSubmatch(rest) {
		headers.Add(m[1], m[2])
		rest = rest[len(m[0]):]
	}
	var body io.Reader = strings.NewReader(rest)
	switch rest {
	case "BROKEN":
		body = iotest.ErrReader(io.ErrUnexpectedEOF)
	case "LATE":
		body = iotest.ErrReader(os.ErrDeadlineExceeded)
	}
	r := httptest.NewRequest(method, target, body)
	r.Header = headers
	w := httptest.NewRecorder()
	before := f.reached()
	s.ServeHTTP(w, r)
	code := head(w, api.HeaderError)
	if wrong := checkCode(w.Code, w.Header()); wrong != "" || w.Code < 300 {
		t.Errorf("%s: %d %s %s", line, w.Code, wrong, w.Body)
	}
	refused := []string{string(api.CodeInvalid), string(api.CodeForbidden), string(api.CodeTooLarge)}
	if slices.Contains(refused, code) && f.result.Code == 0 && f.reached() != before {
		t.Errorf("%s: reached the backend", line)
	}
	return fmt.Sprint(w.Code, " ", code), strings.TrimSuffix(w.Body.String(), "\n")
}

var (
	repeated = regexp.MustCompile(`<([^<>]*)\*(\d+)>`)
	header   = regexp.MustCompile(`^\[([A-Za-z-]+): ([^\]]*)\] ?`)
)

// firstDifference returns the first line in which a and b differ.
func firstDifference(a, b string) string {
	as, bs := strings.Split(a, "\n"), strings.Split(b, "\n")
	for i := range min(len(as), len(bs)) {
		if as[i] != bs[i] {
			return fmt.Sprintf("line %d\n-%s\n+%s", i+1, as[i], bs[i])
		}
	}
	return fmt.Sprintf("%d lines, now %d", len(as), len(bs))
}
