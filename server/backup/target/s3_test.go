package target

import (
	"context"
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/minio/minio-go/v7"
)

func TestMain(m *testing.M) {
	minio.DefaultRetryUnit = time.Millisecond // nothing else of an attempt changes
	os.Exit(m.Run())
}

// fakeBucket opens a bucket of a server that answers as serve does. What real servers answer is tested by the module
// compat; here are answers that those do not give on demand.
func fakeBucket(t *testing.T, serve http.HandlerFunc) Target {
	t.Helper()
	t.Setenv("AWS_ACCESS_KEY_ID", "somebody")
	t.Setenv("AWS_SECRET_ACCESS_KEY", "hunter2hunter2")
	s := httptest.NewServer(serve)
	t.Cleanup(s.Close)
	return opened(t, "s3://bucket/p?region=here&endpoint="+s.URL)
}

// TestAReadGoesOnWhereItBroke cuts connections off in the middle of an object.
func TestAReadGoesOnWhereItBroke(t *testing.T) {
	content := strings.Repeat("0123456789", 100_000)
	etag := `"e"`
	var requests atomic.Int32
	x := fakeBucket(t, func(w http.ResponseWriter, r *http.Request) {
		requests.Add(1)
		from := 0
		if text, is := strings.CutPrefix(r.Header.Get("Range"), "bytes="); is {
			from, _ = strconv.Atoi(strings.TrimSuffix(text, "-"))
			if r.Header.Get("If-Match") != etag {
				w.WriteHeader(http.StatusPreconditionFailed)
				return
			}
			w.Header().Set("Content-Range", fmt.Sprintf("bytes %d-%d/%d", from, len(content)-1, len(content)))
		}
		w.Header().Set("ETag", etag)
		w.Header().Set("Last-Modified", "Mon, 23 Nov 2026 02:00:00 GMT")
		w.Header().Set("Content-Length", strconv.Itoa(len(content)-from))
		if from > 0 {
			w.WriteHeader(http.StatusPartialContent)
		}
		_, _ = io.WriteString(w, content[from:min(from+300_000, len(content))])
		if strings.HasSuffix(r.URL.Path, "/replaced") {
			etag = `"f"`
		}
		if from+300_000 < len(content) {
			panic(http.ErrAbortHandler)
		}
	})
	if got := get(t, x, "whole"); got != content || requests.Load() != 4 {
		t.Errorf("%d bytes after %d requests", len(got), requests.Load())
	}
	r, err := x.Get(t.Context(), "replaced")
	must(t, err)
	if b, err := io.ReadAll(r); err == nil || !strings.Contains(err.Error(), "was replaced while it was read") {
		t.Errorf("%d bytes, %v", len(b), err)
	}
	must(t, r.Close())
}

// TestAnObjectThatIsCutOffIsNotWhole: a server that ends each answer early, with no byte more, is given up.
func TestAnObjectThatIsCutOffIsNotWhole(t *testing.T) {
	x := fakeBucket(t, func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("ETag", `"e"`)
		w.Header().Set("Last-Modified", "Mon, 23 Nov 2026 02:00:00 GMT")
		if r.Header.Get("Range") != "" {
			w.WriteHeader(http.StatusForbidden)
			return
		}
		w.Header().Set("Content-Length", "100")
		_, _ = io.WriteString(w, "part")
		_ = http.NewResponseController(w).Flush()
		panic(http.ErrAbortHandler)
	})
	r, err := x.Get(t.Context(), "a")
	must(t, err)
	b, err := io.ReadAll(r)
	if string(b) != "part" || !errors.Is(err, ErrDenied) {
		t.Errorf("%q %v", b, err)
	}
	must(t, r.Close())
}

func TestAnswersInPlainWords(t *testing.T) {
	for code, want := range map[string]struct {
		status int
		kind   error
		text   string
	}{
		"NoSuchBucket":          {404, ErrMissing, "make the bucket"},
		"AccessDenied":          {403, ErrDenied, "allow it, or use others"},
		"SignatureDoesNotMatch": {403, ErrDenied, "correct AWS_SECRET_ACCESS_KEY"},
		"RequestTimeTooSkewed":  {403, ErrDenied, "the clock of this machine"},
		"QuotaExceeded":         {409, ErrFull, "free space"},
		"SomethingOfTheirOwn":   {507, ErrFull, "free space"},
		"AnotherOne":            {501, ErrUnreachable, "try again later"},
		"Odd":                   {400, nil, "the server answers Odd: why"},
	} {
		x := fakeBucket(t, func(w http.ResponseWriter, _ *http.Request) {
			w.WriteHeader(want.status)
			_ = xml.NewEncoder(w).Encode(minio.ErrorResponse{Code: code, Message: "why"})
		})
		err := x.Put(t.Context(), "a", strings.NewReader("x"))
		if want.kind != nil && !errors.Is(err, want.kind) || err == nil || !strings.Contains(err.Error(), want.text) ||
			strings.Contains(err.Error(), "hunter2") {
			t.Errorf("%s: %v", code, err)
		}
	}
}

func TestABucketThatCannotBeReached(t *testing.T) {
	x := fakeBucket(t, func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) })
	err := x.Delete(t.Context(), "a")
	if !errors.Is(err, ErrUnreachable) || !strings.Contains(err.Error(), "does the server run") {
		t.Errorf("%v", err)
	}
	t.Setenv("AWS_ACCESS_KEY_ID", "")
	t.Setenv("AWS_SECRET_ACCESS_KEY", "")
	t.Setenv("AWS_SHARED_CREDENTIALS_FILE", "/there/is/none")
	t.Setenv("AWS_CONTAINER_CREDENTIALS_FULL_URI", "http://127.0.0.1:1/")
	x = opened(t, "s3://bucket?endpoint=127.0.0.1:1")
	err = x.Delete(t.Context(), "a")
	if !errors.Is(err, ErrDenied) || !strings.Contains(err.Error(), "set AWS_ACCESS_KEY_ID") {
		t.Errorf("%v", err)
	}
}

// The library tries again for seconds. If the caller's time ends meanwhile, the error says what all attempts met.
func TestTheFirstFailureIsTold(t *testing.T) {
	was := minio.DefaultRetryUnit
	minio.DefaultRetryUnit = time.Second
	t.Cleanup(func() { minio.DefaultRetryUnit = was })
	busy := fakeBucket(t, func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusBadGateway) })
	for word, x := range map[string]Target{
		"502 Bad Gateway":    busy,
		"connection refused": opened(t, "s3://bucket/p?region=here&endpoint=http://127.0.0.1:1"),
	} {
		ctx, cancel := context.WithTimeout(t.Context(), 2*time.Second)
		defer cancel()
		err := x.Put(ctx, "a", strings.NewReader("x"))
		if !errors.Is(err, context.DeadlineExceeded) || !errors.Is(err, ErrUnreachable) ||
			!strings.Contains(err.Error(), word) {
			t.Errorf("%v, want %s", err, word)
		}
	}
}

// TLS is what an endpoint without a scheme gets.
func TestAServerWithoutTLS(t *testing.T) {
	fakeBucket(t, nil) // sets the credentials
	s := httptest.NewServer(http.NotFoundHandler())
	defer s.Close()
	endpoint := strings.TrimPrefix(s.URL, "http://")
	err := opened(t, "s3://bucket/p?region=here&endpoint="+endpoint).Put(t.Context(), "a", strings.NewReader("x"))
	if !errors.Is(err, ErrUnreachable) || !strings.Contains(err.Error(), "write endpoint=http://"+endpoint) {
		t.Error(err)
	}
}

func TestURLsOfBuckets(t *testing.T) {
	for _, name := range []string{"AWS_ENDPOINT_URL_S3", "AWS_ENDPOINT_URL", "AWS_REGION", "AWS_DEFAULT_REGION"} {
		t.Setenv(name, "")
	}
	for url, want := range map[string]place{
		"s3://bucket":                {bucket: "bucket", endpoint: "s3.amazonaws.com"},
		"s3://bucket/a/b/?region=eu": {bucket: "bucket", prefix: "a/b/", endpoint: "s3.amazonaws.com", region: "eu"},
		"s3://bucket?endpoint=http://h:1&path-style=true&checksum=md5": {
			bucket: "bucket", endpoint: "h:1", region: "us-east-1", insecure: true, lookup: minio.BucketLookupPath,
			md5: true,
		},
		"s3://bucket?endpoint=h&insecure=false&path-style=false": {bucket: "bucket", endpoint: "h", region: "us-east-1",
			lookup: minio.BucketLookupDNS},
	} {
		u, err := parseURL(url)
		must(t, err)
		if got, err := parsePlace(u); err != nil || got != want {
			t.Errorf("%s: %+v %v", url, got, err)
		}
	}
	for url, want := range map[string]string{
		"s3:///p":                            "s3://BUCKET/PREFIX",
		"s3://b":                             "shorter than 3",
		"s3://bucket:80/p":                   "s3://BUCKET/PREFIX",
		"s3://bucket/../p":                   "begins with a dot",
		"s3://bucket?secret=hunter2":         `no parameter "secret"`,
		"s3://bucket?insecure=perhaps":       "parameter insecure",
		"s3://bucket?region=a&region=b":      "given twice",
		"s3://bucket?region=":                "it is empty",
		"s3://bucket?checksum=crc":           "crc32c or md5",
		"s3://bucket?endpoint=ftp://h":       "https://HOST[:PORT]",
		"s3://bucket?endpoint=http://u:p@h":  "https://HOST[:PORT]",
		"s3://bucket?endpoint=http://h/path": "https://HOST[:PORT]",
		"s3://bucket?endpoint=h;x":           "no query",
		"s3://bucket#x":                      "'#'",
	} {
		_, err := Open(url, Config{})
		if !errors.Is(err, ErrURL) || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "hunter2") {
			t.Errorf("%s: %v", url, err)
		}
	}
}
