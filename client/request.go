package client

import (
	"bytes"
	"encoding/json"
	"io"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"tenure/api"
)

// headerKey is api.HeaderIdempotencyKey in a spelling that net/http's transport does not know. If the transport knew
// it, it would send a write again by itself when a kept connection breaks, and a refusal of the second copy would hide
// that the first may have been applied.
const headerKey = "idempotency-key"

// request is what every try of a call sends.
type request struct {
	method string
	path   string // decoded
	query  query
	body   []byte
	once   Once

	// interpret reads the body of an answer to a write; nil is trueOrFalse.
	interpret interpreter
	// idempotent writes may be applied twice, and late, and are not for the master: leases need none, and renewals of
	// sessions are few. They carry no idempotency key, so that they do not push others out of the table of keys.
	idempotent bool
	// silenceLimit is how long a node may make no progress; 0 is Config.AttemptTimeout.
	silenceLimit time.Duration
	// noSilenceLimit is for requests that are answered when something is done. Only the context bounds a silent node.
	noSilenceLimit bool
	// share is by how many tries the time of the call is shared; 0: it is all for this one.
	share int
	// linearizable reads of the store have the master asked for something, by a node that is not the master.
	linearizable bool
	// beforeTry, if not nil, is called before each try.
	beforeTry func()
	// unmarked reads are answered with 200 without a node's headers. The body tells whether a node has answered.
	unmarked bool
	// short is for questions whose answer is short: longer than maxShortAnswer it is none.
	short bool
	// anyCluster is for questions about the node itself.
	anyCluster bool
}

// isRead reports whether r changes nothing.
func (r request) isRead() bool { return r.method == http.MethodGet || r.method == http.MethodHead }

// http returns r for the node at base, with that secret of a token unless it is empty. progress is called as the body is
// sent.
func (r request) http(base *url.URL, secret string, progress func()) *http.Request {
	h := &http.Request{
		Method: r.method,
		URL: &url.URL{
			Scheme: base.Scheme, Host: base.Host, Path: r.path, RawPath: escapePath(r.path), RawQuery: r.query.String(),
		},
		Host:   base.Host,
		Header: http.Header{"User-Agent": {"tenure-client"}},
	}
	if secret != "" {
		h.Header[api.HeaderToken] = []string{secret}
	}
	if r.once.Key != "" {
		h.Header[headerKey] = []string{r.once.Key}
		h.Header[api.HeaderBase] = []string{strconv.FormatUint(r.once.Base, 10)}
	}
	if r.body != nil {
		h.ContentLength = int64(len(r.body))
		h.GetBody = func() (io.ReadCloser, error) {
			return io.NopCloser(&progressReader{bytes.NewReader(r.body), progress}), nil
		}
		h.Body, _ = h.GetBody()
		if h.ContentLength == 0 {
			h.Body, h.GetBody = http.NoBody, nil
		}
	}
	return h
}

// escapePath escapes every segment and keeps the slashes, so that "//", ".." and "%2F" in a key mean themselves.
func escapePath(p string) string {
	return strings.ReplaceAll(url.PathEscape(p), "%2F", "/")
}

// progressReader calls progress after each read.
type progressReader struct {
	r        io.Reader
	progress func()
}

// Read reads from r.
func (p *progressReader) Read(b []byte) (int, error) {
	n, err := p.r.Read(b)
	p.progress()
	return n, err
}

// query is the query of a request. A name without a value stands alone, as the API has it.
type query []string

// name adds a name without a value.
func (q *query) name(n string) { *q = append(*q, n) }

// value adds a name with a value.
func (q *query) value(n, v string) { *q = append(*q, n+"="+url.QueryEscape(v)) }

// mode adds the mode of a read.
func (q *query) mode(m Mode) {
	switch m {
	case Consistent:
		q.name(api.QueryConsistent)
	case Stale:
		q.name(api.QueryStale)
	}
}

// stale reports whether any node may answer by what it knows.
func (q query) stale() bool { return slices.Contains(q, api.QueryStale) }

// String returns q as it stands in a URL.
func (q query) String() string { return strings.Join(q, "&") }

// encode returns v as JSON. The types of this package can always be encoded.
func encode(v any) []byte {
	b, err := json.Marshal(v)
	if err != nil {
		panic("client: encode a request: " + err.Error())
	}
	return b
}
