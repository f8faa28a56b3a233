package target

import (
	"bytes"
	"context"
	"crypto/rand"
	"errors"
	"io"
	"os"
	"strings"
	"testing"
	"time"
)

// realBucket returns the URL of an empty bucket of a server that speaks S3, which the tests of the module compat start.
func realBucket(t *testing.T) string {
	t.Helper()
	url := os.Getenv("TENURE_TEST_S3")
	if url == "" {
		t.Skip("TENURE_TEST_S3 names no bucket")
	}
	return url
}

func TestRealBucketKeepsTheContract(t *testing.T) {
	url := realBucket(t)
	contract(t, opened(t, url))
	base, query, _ := strings.Cut(url, "?")
	contract(t, opened(t, base+"/a/prefix?"+query))
	contract(t, opened(t, base+"/md5?checksum=md5&"+query))
}

// TestRealBucketTakesAStreamInParts: of no length that is known before, at and around the bounds of a part.
func TestRealBucketTakesAStreamInParts(t *testing.T) {
	base, query, _ := strings.Cut(realBucket(t), "?")
	for _, suffix := range []string{"", "&checksum=md5"} {
		x := opened(t, base+"/parts?"+query+suffix)
		for _, n := range []int{partBytes - 1, partBytes, partBytes + 1, 2 * partBytes, 2*partBytes + 5<<20 + 1} {
			data := make([]byte, n)
			_, err := rand.Read(data)
			must(t, err)
			must(t, x.Put(t.Context(), "long",
				io.MultiReader(bytes.NewReader(data[:n/3]), bytes.NewReader(data[n/3:]))))
			if got := get(t, x, "long"); got != string(data) {
				t.Errorf("%d bytes: got %d others", n, len(got))
			}
		}
		must(t, x.Delete(t.Context(), "long"))
	}
}

// TestRealBucketShowsNoPart: an upload that breaks off in its second part leaves neither an object nor a part.
func TestRealBucketShowsNoPart(t *testing.T) {
	base, query, _ := strings.Cut(realBucket(t), "?")
	x := opened(t, base+"/cut?"+query)
	broken := errors.New("the source is gone")
	r, w := io.Pipe()
	go func() {
		_, err := w.Write(make([]byte, partBytes+partBytes/2))
		w.CloseWithError(errors.Join(broken, err))
	}()
	if err := x.Put(t.Context(), "long", r); !errors.Is(err, broken) {
		t.Errorf("%v", err)
	}
	if got := names(t, x, ""); got != nil {
		t.Errorf("%q", got)
	}
	b := x.(*bucket)
	left, err := b.core.ListMultipartUploads(t.Context(), b.name, b.prefix, "", "", "", 10)
	if err != nil || len(left.Uploads) != 0 {
		t.Errorf("%+v %v", left.Uploads, err)
	}
}

// TestRealBucketIsClearAboutWhatIsWrong runs with the credentials of the bucket in the environment.
func TestRealBucketIsClearAboutWhatIsWrong(t *testing.T) {
	url := realBucket(t)
	all := func(url string) (err []error) {
		x := opened(t, url)
		ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
		defer cancel()
		_, list := x.List(ctx, "")
		_, get := x.Get(ctx, "a")
		return []error{x.Put(ctx, "a", strings.NewReader("x")), list, get, x.Delete(ctx, "a")}
	}
	check := func(what string, got []error, want error, text string) {
		t.Helper()
		for i, err := range got {
			if !errors.Is(err, want) || !strings.Contains(err.Error(), text) ||
				strings.Contains(err.Error(), os.Getenv("AWS_SECRET_ACCESS_KEY")) {
				t.Errorf("%s, call %d: %v", what, i, err)
			}
		}
	}
	base, query, _ := strings.Cut(url, "?")
	check("no such bucket", all(base+"-none?"+query), ErrMissing, "make the bucket")
	t.Setenv("AWS_SECRET_ACCESS_KEY", "a-secret-that-is-wrong")
	check("wrong secret", all(url), ErrDenied, "correct AWS_SECRET_ACCESS_KEY")
	t.Setenv("AWS_ACCESS_KEY_ID", "nobody")
	check("wrong key", all(url), ErrDenied, "correct AWS_ACCESS_KEY_ID")
}
