package web

import (
	"context"
	"errors"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"net/http"
	"net/http/httptest"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"tenure/api"
	"tenure/kv"
	"tenure/server/service"
)

// checkCode says what is wrong with the code of an answer, or is "". Every call of the tests goes through it.
func checkCode(status int, h http.Header) string {
	codes := h[api.HeaderError]
	switch {
	case status < 400 && len(codes) > 0:
		return fmt.Sprintf("a success with the code %q", codes)
	case status < 400:
		return ""
	case len(codes) != 1 || !slices.Contains(api.Codes(), api.Code(codes[0])):
		return fmt.Sprintf("%d with the code %q", status, codes)
	case len(h[api.HeaderNode]) != 1:
		return fmt.Sprintf("%d without the number of the node", status)
	}
	return ""
}

// backendFailures is all that a Backend may say instead of a result.
var backendFailures = []error{
	service.ErrNotApplied, service.ErrOtherCluster, service.ErrOverloaded, service.ErrUnknown, service.ErrNoSpace, service.ErrLeaseGone, &service.LeaseBusyError{Owner: "a", RetryAfter: time.Second},
	&service.LeaseSilentError{Begins: time.Second}, &service.Error{Code: api.CodeMemberBusy}, &service.Error{Code: api.CodeNotMember},
	&service.Error{Code: api.CodeMemberState}, &service.Error{Code: api.CodeQuorumLoss}, context.DeadlineExceeded, context.Canceled, errors.New("something else"),
}

// bodies that routes take, so that a walk gets beyond their checks.
var walkBodies = map[string]string{
	api.PathTxn:           `[{"KV":{"Verb":"get","Key":"a"}}]`,
	api.PathLeasesRenew:   `[{"Name":"l","Owner":"a","Grant":"x"}]`,
	api.LeaseAcquire:      `{"Owner":"a","TTL":"1s"}`,
	api.LeaseRelease:      `{"Owner":"a","Acquisition":"x"}`,
	api.PathMembersAdd:    `{"dry_run":true}`,
	api.PathMembersCancel: `{"operation":"o"}`,
	api.PathMembersUpdate: `{"node":1,"name":"n"}`, api.PathMembersReadmit: `{"name":"n"}`,
	api.PathMembersRemove: `{"node":1}`, api.PathMembersReplace: `{"node":1}`, api.PathMembersPromote: `{"node":1}`,
	api.PathMembersDrain: `{"node":1}`,
	"POST " + api.PathKV: `{"Op":"add","Num":1}`,
	"GET":                "",
}

func walkBody(method, path string) string {
	for end, body := range walkBodies {
		if strings.HasSuffix(path, end) || strings.HasPrefix(method+" "+path, end) {
			return body
		}
	}
	return ""
}

// The test calls every route with every method, with valid and invalid queries and bodies, over a backend with every
// error and with every result of the log. Every failure has a code, and no success has one.
func TestEveryRefusalHasACode(t *testing.T) {
	seen := map[api.Code]bool{}
	walk := func(what string, f *fake) {
		s := newServer(t, f)
		for _, e := range described(s) {
			path := strings.NewReplacer("{key}", "a", "{id}", "fb5fc79d-f15e-4a71-a155-e5b1e1fbd821", "{node}", "n", "{name}", "kv/a").Replace(e.path)
			if e.path == api.PathWatch {
				continue // it streams until the test ends; below
			}
			for _, method := range []string{"GET", "HEAD", "PUT", "POST", "DELETE", "PATCH", "OPTIONS"} {
				for _, query := range []string{"", "?no-such-name", "?dc=elsewhere", "?fence=kv/a:1", "?recurse", "?cas=1&acquire=x"} {
					for _, body := range []string{walkBody(method, path), `{"`} {
						w := httptest.NewRecorder()
						s.ServeHTTP(w, httptest.NewRequest(method, path+query, strings.NewReader(body)))
						if wrong := checkCode(w.Code, w.Header()); wrong != "" {
							t.Errorf("%s: %s %s%s %s: %s", what, method, path, query, body, wrong)
						}
						if c := w.Header()[api.HeaderError]; len(c) == 1 {
							seen[api.Code(c[0])] = true
						}
					}
				}
			}
		}
	}
	walk("a backend that works", newFake(t))
	for _, err := range backendFailures {
		f := newFake(t)
		f.writeErr, f.readErr, f.transferErr, f.readyErr, f.leaseErr, f.memberErr = err, err, err, err, err, err
		walk(err.Error(), f)
	}
	for code := kv.CodeDone + 1; code < 20; code++ { // the last of them are not known here
		f := newFake(t)
		f.result = kv.Result{Code: code, Revision: 1}
		walk(fmt.Sprintf("result %d", code), f)
	}
	f := newFake(t)
	f.onRead, f.onWrite = func() { panic("boom") }, func(time.Duration) { panic("boom") }
	walk("a handler that panics", f)
	call(newServer(t, newFake(t)), "GET", api.PathWatch+"?no-such-name", "")
	call(newServer(t, newFake(t)), "GET", "/no/such/endpoint", "")
	call(newServer(t, newFake(t)), "POST", api.PathTransfer, "", "Sec-Fetch-Site: cross-site")
	call(newServer(t, newFake(t)), "PUT", api.PathKV+"a", strings.Repeat("x", 1<<20))
	seen[api.CodeForbidden], seen[api.CodeTooLarge] = true, true
	seen[api.CodeOtherCluster] = true                             // TestRequestsForAnotherCluster
	seen[api.CodeDenied], seen[api.CodeUnknownToken] = true, true // of nodes with tokens, which this walk has none of
	for _, c := range api.Codes() {
		if !seen[c] {
			t.Errorf("nothing was refused with %q", c)
		}
	}
}

func TestEveryCodeHasAStatus(t *testing.T) {
	for _, code := range api.Codes() {
		if statuses[code] < 400 {
			t.Errorf("code %s has the status %d", code, statuses[code])
		}
	}
	if len(statuses) != len(api.Codes()) {
		t.Errorf("%d statuses, %d codes", len(statuses), len(api.Codes()))
	}
}

// What must be told apart is, and has the status that Consul's clients expect.
func TestCodesOfResults(t *testing.T) {
	for code, want := range map[kv.Code]api.Code{
		kv.CodeKeyReused: api.CodeKeyReused, kv.CodeKeyTooOld: api.CodeKeyTooOld, kv.CodeBaseAhead: api.CodeInvalid,
		kv.CodeTooMany: api.CodeTooLarge, kv.CodeMissing: api.CodeNotFound, kv.CodeNoSession: api.CodeNoSession,
		kv.CodeNotNumber: api.CodeNotNumber, kv.CodeFenced: api.CodeFenced, kv.CodeFull: api.CodeNoSpace,
		kv.CodeExists: api.CodeKeyReused, kv.CodeTooLarge: api.CodeTooLarge, kv.CodeQuota: api.CodeNoSpace,
	} {
		f := newFake(t)
		f.result = kv.Result{Code: code, Revision: 1}
		w := call(newServer(t, f), "PUT", api.PathKV+"a", "v")
		if got := api.Code(head(w, api.HeaderError)); got != want {
			t.Errorf("a write with result %d: code %q, want %q", code, got, want)
		}
	}
	for err, want := range map[error]api.Code{
		service.ErrNotApplied: api.CodeNotApplied, service.ErrOverloaded: api.CodeOverloaded, service.ErrUnknown: api.CodeUnknown, service.ErrNoSpace: api.CodeNoSpace,
		service.ErrLeaseGone: api.CodeLost, &service.LeaseBusyError{Owner: "a"}: api.CodeBusy, errors.New("something else"): api.CodeUnknown,
		&service.LeaseSilentError{Begins: 1500*time.Millisecond + 1}: api.CodeQuarantine,
	} {
		f := newFake(t)
		f.leaseErr = err
		w := call(newServer(t, f), "POST", api.PathLease+"l"+api.LeaseAcquire, `{"Owner":"a","TTL":"1s"}`)
		if got := api.Code(head(w, api.HeaderError)); got != want {
			t.Errorf("an acquisition with %v: code %q, want %q", err, got, want)
		}
		if ms := head(w, api.HeaderRetryAfterMS); want == api.CodeQuarantine && ms != "1501" {
			t.Errorf("a quarantine of 1501 ms: %s %q", api.HeaderRetryAfterMS, ms)
		}
	}
	w := call(newServer(t, newFake(t)), "PUT", api.PathTxn, `[{"KV":{"Verb":"get","Key":"a"}}]`)
	if w.Code != 409 || api.Code(head(w, api.HeaderError)) != api.CodeCondition {
		t.Errorf("a transaction that fails: %d %v", w.Code, w.Header())
	}
	w = call(newServer(t, newFake(t)), "GET", api.PathKV+"a", "")
	if w.Code != 404 || w.Body.Len() != 0 || api.Code(head(w, api.HeaderError)) != api.CodeNotFound {
		t.Errorf("an absent key: %d %v %q", w.Code, w.Header(), w.Body)
	}
}

// All answers leave through exchange.head, so that none can lack its code.
func TestOnlyHeadSendsAStatus(t *testing.T) {
	entries, err := os.ReadDir(".")
	if err != nil {
		t.Fatal(err)
	}
	for _, entry := range entries {
		if name := entry.Name(); !strings.HasSuffix(name, ".go") || strings.HasSuffix(name, "_test.go") {
			continue
		}
		files := token.NewFileSet()
		file, err := parser.ParseFile(files, entry.Name(), nil, 0)
		if err != nil {
			t.Fatal(err)
		}
		for _, d := range file.Decls {
			f, ok := d.(*ast.FuncDecl)
			if !ok {
				continue
			}
			ast.Inspect(f, func(n ast.Node) bool {
				s, ok := n.(*ast.SelectorExpr)
				if ok && (s.Sel.Name == "WriteHeader" && f.Name.Name != "head" || s.Sel.Name == "Error" && isName(s.X, "http")) {
					t.Errorf("%v: %s sends a status by itself: let exchange.head do it", files.Position(s.Pos()), f.Name.Name)
				}
				return true
			})
		}
	}
}

func isName(e ast.Expr, name string) bool {
	id, ok := e.(*ast.Ident)
	return ok && id.Name == name
}

// One connection too many is told so with a code, too.
func TestTooManyConnectionsHasACode(t *testing.T) {
	if text := string(tooMany("7")); !strings.Contains(text, "\r\n"+api.HeaderError+": "+string(api.CodeOverloaded)+"\r\n") ||
		!strings.Contains(text, "\r\n"+api.HeaderNode+": 7\r\n") {
		t.Error(text)
	}
}

// A client that asks for a master learns from a drained node that knows none that to try again may be of no use.
func TestADrainedNodeSaysSo(t *testing.T) {
	for _, drained := range []bool{false, true} {
		f := newFake(t)
		f.readErr, f.drained = service.ErrNotApplied, drained
		w := call(newServer(t, f), "GET", api.PathKV+"a", "")
		if got := head(w, api.HeaderDrained) != ""; got != drained {
			t.Errorf("drained %t: %v", drained, w.Header())
		}
	}
}
