package workload

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"strconv"
	"strings"

	"tenure/api"
	"tenure/client"
	"tenure/jepsen/history"
)

const maxAnswer = 64 << 20

// raw sends HTTP requests to the nodes without package client: each request is sent once, and to another node only if
// the first has certainly not taken it. So the cluster is tested, and not the care of the client.
type raw struct {
	http      *http.Client
	endpoints []string
	at        int
	tokenFile string // read for each request; "": none carries a token
	token     string // of the last request
}

func newRaw(endpoints []string) *raw {
	t := &http.Transport{DialContext: (&net.Dialer{}).DialContext, MaxIdleConnsPerHost: 4}
	return &raw{http: &http.Client{Transport: t}, endpoints: endpoints}
}

// secure has the requests go over TLS, unless t is nil.
func (r *raw) secure(t *client.TLS) (err error) {
	if t != nil {
		r.http.Transport.(*http.Transport).DialTLSContext, err = t.Dialler()
	}
	return err
}

// next makes the next request go to the next endpoint.
func (r *raw) next() { r.at = (r.at + 1) % len(r.endpoints) }

func (r *raw) close() { r.http.CloseIdleConnections() }

// answer is the answer of a node.
type answer struct {
	status int
	header http.Header
	body   []byte
}

func (a answer) number(header string) uint64 {
	n, _ := strconv.ParseUint(a.header.Get(header), 10, 64)
	return n
}

// code returns why a request was refused, or "".
func (a answer) code() api.Code { return api.Code(a.header.Get(api.HeaderError)) }

// is reports whether the body of a is text.
func (a answer) is(text string) bool { return strings.TrimSpace(string(a.body)) == text }

// request sends a request until a node takes it. Its error is client.ErrUnknown if a write may have been done.
func (r *raw) request(ctx context.Context, method, path string, body []byte) (answer, error) {
	var last error
	for range 2 * len(r.endpoints) {
		a, err := r.once(ctx, method, r.endpoints[r.at]+path, body)
		if err == nil && a.status != http.StatusServiceUnavailable {
			switch a.status {
			case http.StatusForbidden:
				if sent := r.token; r.readToken() == nil && r.token != sent {
					continue // it was refused for a token that has been replaced
				}
				return a, fmt.Errorf("%w: %.100s", client.ErrDenied, a.body)
			case http.StatusGatewayTimeout:
				return a, fmt.Errorf("%w: %.100s", client.ErrUnknown, a.body)
			case http.StatusInsufficientStorage:
				return a, fmt.Errorf("%w: %.100s", client.ErrNoSpace, a.body)
			}
			return a, nil
		}
		if err == nil {
			err = fmt.Errorf("%w: %.100s", client.ErrNotApplied, a.body)
		}
		r.next()
		var dial *net.OpError
		refused := errors.Is(err, client.ErrNotApplied) || errors.Is(err, client.ErrTLS) // no handshake, no request
		if !refused && !(errors.As(err, &dial) && dial.Op == "dial") {
			return answer{}, fmt.Errorf("%w: %w", client.ErrUnknown, err)
		}
		if last = err; ctx.Err() != nil {
			break
		}
	}
	return answer{}, fmt.Errorf("%w: %w", client.ErrNotApplied, last)
}

func (r *raw) once(ctx context.Context, method, where string, body []byte) (answer, error) {
	req, err := http.NewRequestWithContext(ctx, method, where, bytes.NewReader(body))
	if err != nil {
		return answer{}, err
	}
	if err := r.authorize(req); err != nil {
		return answer{}, err
	}
	rsp, err := r.http.Do(req)
	if err != nil {
		return answer{}, err
	}
	defer rsp.Body.Close()
	text, err := io.ReadAll(io.LimitReader(rsp.Body, maxAnswer))
	return answer{rsp.StatusCode, rsp.Header, text}, err
}

// authorize has a request carry the token that the clients have now.
func (r *raw) authorize(req *http.Request) error {
	err := r.readToken()
	if r.token != "" {
		req.Header.Set(api.HeaderToken, r.token)
	}
	return err
}

func (r *raw) readToken() (err error) {
	if r.tokenFile == "" {
		return nil
	}
	if r.token, err = client.ReadTokenFile(r.tokenFile); err != nil {
		err = fmt.Errorf("%w: %w", client.ErrNotApplied, err)
	}
	return err
}

// wireEntry is an entry as nodes send it.
type wireEntry struct {
	Key                      string
	Value                    []byte
	CreateIndex, ModifyIndex uint64
	Session                  string
}

// seen returns e as it is recorded.
func (e *wireEntry) seen() history.Entry {
	return history.Entry{Key: e.Key, Value: string(e.Value), Create: e.CreateIndex, Modify: e.ModifyIndex}
}

// unexpected returns the error for an answer that the request should not get. A write is then unknown.
func unexpected(a answer) error {
	return fmt.Errorf("%w: status %d: %.200s", client.ErrUnknown, a.status, a.body)
}

func keyPath(key string) string { return (&url.URL{Path: api.PathKV + key}).EscapedPath() }

// entries decodes a listing. 404 is an empty one.
func entries(a answer) (out []wireEntry, err error) {
	switch a.status {
	case http.StatusNotFound:
		return nil, nil
	case http.StatusOK:
		err = json.Unmarshal(a.body, &out)
		return out, err
	}
	return nil, unexpected(a)
}
