package client_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"tenure/api"
	"tenure/client"
	"tenure/internal/wrongport"
)

// A client whose endpoints all refuse gives up soon if it is told to, says so, and does not call a write unknown; one
// that has had an answer before goes on trying.
func TestGiveUpRefused(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		refuse := func(context.Context, string, string) (net.Conn, error) {
			return nil, &net.OpError{Op: "dial", Err: syscall.ECONNREFUSED}
		}
		c, err := client.New(client.Config{
			Endpoints: []string{"a", "b", "c"}, DialContext: refuse, GiveUpRefused: 5 * time.Second, Timeout: time.Minute,
		})
		if err != nil {
			t.Fatal(err)
		}
		defer c.Close()
		ctx, cancel := within(10 * time.Minute)
		defer cancel()
		for name, call := range map[string]struct {
			f    func() error
			kind error
		}{
			"get":  {func() error { _, _, err := c.Get(ctx, "k", client.ReadOptions{}); return err }, client.ErrUnavailable},
			"put":  {func() error { _, err := c.Set(ctx, "k", nil, client.WriteOptions{}); return err }, client.ErrNotApplied},
			"lock": {func() error { _, err := c.Locks().Acquire(ctx, "k", client.LockOptions{}); return err }, client.ErrNotApplied},
			"lease": {func() error {
				_, err := c.Leases().Acquire(ctx, "k", client.LeaseOptions{Wait: client.NoWaitLimit})
				return err
			}, client.ErrNotApplied},
			"leases":   {func() error { _, err := c.Leases().List(ctx, client.LeaseListOptions{}); return err }, client.ErrUnavailable},
			"transfer": {func() error { return c.Nodes().Transfer(ctx, 0) }, client.ErrUnavailable},
		} {
			began := time.Now()
			err := call.f()
			if !errors.Is(err, call.kind) || !errors.Is(err, client.ErrRefused) || time.Since(began) > 5*time.Second {
				t.Errorf("%s: %v after %v", name, err, time.Since(began))
			}
		}
	})
}

func TestRefusedAfterAnAnswer(t *testing.T) {
	node := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("X-Consul-Index", "1")
		w.WriteHeader(http.StatusNotFound)
	}))
	c, err := client.New(client.Config{Endpoints: []string{node.URL}, GiveUpRefused: 50 * time.Millisecond})
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	if _, _, err := c.Get(context.Background(), "k", client.ReadOptions{}); !errors.Is(err, client.ErrNotFound) {
		t.Fatal(err)
	}
	node.Close()
	ctx, cancel := context.WithTimeout(context.Background(), 400*time.Millisecond)
	defer cancel()
	_, _, err = c.Get(ctx, "k", client.ReadOptions{})
	if errors.Is(err, client.ErrRefused) || !errors.Is(err, syscall.ECONNREFUSED) || !errors.Is(err, context.DeadlineExceeded) {
		t.Error(err)
	}
}

// What a node says of an acquisition is told with a kind, also the code that no node gives to one.
func TestGrantOfAnAgedKeyIsUnknown(t *testing.T) {
	asked := 0
	node := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set(api.HeaderNode, "1")
		if strings.HasSuffix(r.URL.Path, "/release") {
			fmt.Fprint(w, "true")
			return
		}
		asked++
		w.Header().Set(api.HeaderError, string(api.CodeKeyTooOld))
		w.WriteHeader(http.StatusGatewayTimeout)
	}))
	defer node.Close()
	c, err := client.New(client.Config{Endpoints: []string{node.URL}, NoLearning: true})
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	_, err = c.Leases().Grant(context.Background(), "job", client.LeaseOptions{TTL: time.Second, Acquisition: "a"})
	if !errors.Is(err, client.ErrUnknown) || asked != 1 {
		t.Errorf("%v after %d requests", err, asked)
	}
}

// A client that is busy while another store takes the place of the first goes on: the new one refuses bases that it
// never reached, and says how far it is.
func TestWritesGoOnInAnotherStore(t *testing.T) {
	revision, bases := 100, []string(nil)
	node := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set(api.HeaderNode, "1")
		w.Header().Set(api.HeaderRevision, strconv.Itoa(revision))
		if r.Method != http.MethodPut {
			_ = json.NewEncoder(w).Encode(api.Status{Node: 1, Cluster: "a", Role: api.RoleMaster, Revision: 100})
			return
		}
		bases = append(bases, r.Header.Get(api.HeaderBase))
		if base, _ := strconv.Atoi(r.Header.Get(api.HeaderBase)); base > revision {
			w.Header().Set(api.HeaderError, string(api.CodeInvalid))
			w.WriteHeader(http.StatusBadRequest)
			return
		}
		revision++
		w.Header().Set(api.HeaderRevision, strconv.Itoa(revision))
		fmt.Fprint(w, "true")
	}))
	defer node.Close()
	c, err := client.New(client.Config{Endpoints: []string{node.URL}, NoLearning: true})
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	put := func() {
		t.Helper()
		if _, err := c.Set(t.Context(), "k", []byte("v"), client.WriteOptions{}); err != nil {
			t.Fatal(err)
		}
	}
	put()
	revision = 3
	put()
	put()
	if want := []string{"100", "101", "3", "4"}; !slices.Equal(bases, want) {
		t.Errorf("bases %q, want %q", bases, want)
	}
}

// No error says its words twice.
func TestErrorsSayThingsOnce(t *testing.T) {
	for _, c := range []struct {
		err  client.Error
		want string
	}{
		{client.Error{Op: "put", Key: "k", Kind: client.ErrFenced, Err: &client.StatusError{Endpoint: "http://n", Status: 409, Message: "fenced: a larger token was seen"}},
			`put "k": fenced: http://n answers 409: a larger token was seen`},
		{client.Error{Op: "get", Kind: client.ErrNotApplied, Err: errors.New("not applied: no master")}, "get: not applied: no master"},
		{client.Error{Op: "get", Kind: client.ErrBusy, Err: errors.New("it is held")}, "get: busy: it is held"},
		{client.Error{Op: "get", Kind: client.ErrLost, Err: errors.New("why: how: lost: twice")}, "get: lost: why: how: lost: twice"},
	} {
		if got := c.err.Error(); got != c.want {
			t.Errorf("%q, want %q", got, c.want)
		}
	}
	if strings.Count((&client.BusyError{Owner: "me"}).Error(), "busy") > 0 {
		t.Error((&client.BusyError{Owner: "me"}).Error())
	}
}

// TestWrongPort: a port of a node that is not for clients says which one it is, within a moment.
func TestWrongPort(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	var serving sync.WaitGroup
	defer serving.Wait()
	defer l.Close()
	serving.Go(func() {
		for {
			nc, err := l.Accept()
			if err != nil {
				return
			}
			_, _ = nc.Read(make([]byte, 64<<10))
			_, _ = nc.Write(wrongport.Answer(wrongport.HTTP, wrongport.Peers))
			nc.Close()
		}
	})
	c, err := client.New(client.Config{Endpoints: []string{l.Addr().String()}, GiveUpRefused: 50 * time.Millisecond,
		Timeout: time.Minute})
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	began := time.Now()
	_, _, getErr := c.Get(t.Context(), "k", client.ReadOptions{})
	_, setErr := c.Set(t.Context(), "k", nil, client.WriteOptions{})
	for err, kind := range map[error]error{getErr: client.ErrUnavailable, setErr: client.ErrNotApplied} {
		if !errors.Is(err, kind) || !strings.Contains(err.Error(), "the port of a Tenure node for its peers") {
			t.Errorf("%v; want %v", err, kind)
		}
	}
	if d := time.Since(began); d > 30*time.Second {
		t.Errorf("told after %v", d)
	}
}

// Names that do not exist end a call at once, if no endpoint has another; a name server that fails is asked again.
func TestGiveUpNamesThatDoNotExist(t *testing.T) {
	missing := &net.DNSError{Err: "no such host", Name: "a", IsNotFound: true}
	failing := &net.DNSError{Err: "server misbehaving", Name: "a", IsTemporary: true}
	refused := &net.OpError{Op: "dial", Err: syscall.ECONNREFUSED}
	for name, x := range map[string]struct {
		errs        map[string]error
		told        error
		least, most time.Duration
	}{
		"missing":             {map[string]error{"a": missing, "b": missing}, client.ErrNoSuchHost, 0, 0},
		"missing and refused": {map[string]error{"a": missing, "b": refused}, nil, 4 * time.Second, 5 * time.Second},
		"failing":             {map[string]error{"a": failing, "b": failing}, context.DeadlineExceeded, 59 * time.Second, time.Minute},
		"missing and failing": {map[string]error{"a": missing, "b": failing}, context.DeadlineExceeded, 59 * time.Second, time.Minute},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				dial := func(_ context.Context, _, address string) (net.Conn, error) {
					host, _, _ := strings.Cut(address, ":")
					return nil, &net.OpError{Op: "dial", Err: x.errs[host]}
				}
				c, err := client.New(client.Config{
					Endpoints: []string{"a", "b"}, DialContext: dial, GiveUpRefused: 5 * time.Second, Timeout: time.Minute,
				})
				if err != nil {
					t.Fatal(err)
				}
				defer c.Close()
				for kind, call := range map[error]func() error{
					client.ErrUnavailable: func() error { _, _, err := c.Get(t.Context(), "k", client.ReadOptions{}); return err },
					client.ErrNotApplied:  func() error { _, err := c.Set(t.Context(), "k", nil, client.WriteOptions{}); return err },
				} {
					began := time.Now()
					err := call()
					took := time.Since(began)
					if !errors.Is(err, kind) || x.told != nil && !errors.Is(err, x.told) || errors.Is(err, client.ErrRefused) ||
						took < x.least || took > x.most {
						t.Errorf("after %v: %v", took, err)
					}
				}
			})
		})
	}
}
