package target

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/minio/minio-go/v7"
	"github.com/minio/minio-go/v7/pkg/credentials"
)

const (
	// partBytes is what of an object is held in memory. A bucket takes 10,000 parts, so an object has 156 GiB at most.
	partBytes = 16 << 20
	// attempts bounds how often a request is made. Between two of them is at most a second, by minio-go.
	attempts = 8
	// uploadOld is how long after its beginning an upload is taken for one of a process that died.
	uploadOld = 7 * 24 * time.Hour
	// uploadsSwept is how many of them one look ends at most.
	uploadsSwept = 1000
	sweepTime    = 30 * time.Second
)

// bucket is a Target in a bucket of S3, below a prefix.
//
// A short object is put with one request, and a longer one as a multipart upload, whose object appears when its last
// request is done. Both carry checksums that the server compares. So an upload that broke off is no object; what it has
// stored costs space until it is aborted: by Put itself, by a later Put once it is old, or by a rule of the bucket.
type bucket struct {
	core      *minio.Core
	transport *http.Transport
	creds     *credentials.Credentials
	text      string // the target, for people
	endpoint  string // likewise
	name      string
	prefix    string // of keys: empty, or with a slash at its end
	md5       bool   // checks uploads by MD5

	mu    sync.Mutex
	swept time.Time // the last look for old uploads
}

func (b *bucket) String() string { return b.text }

func (b *bucket) Close() error {
	b.transport.CloseIdleConnections()
	return nil
}

// ready returns an error if no request could succeed.
func (b *bucket) ready(name string) error {
	if err := CheckName(name); err != nil {
		return err
	}
	return b.hasCredentials()
}

func (b *bucket) hasCredentials() error {
	value, err := b.creds.GetWithContext(b.core.CredContext())
	if err == nil && value.AccessKeyID == "" {
		err = errors.New("none were found")
	}
	if err != nil {
		return problem("credentials for "+b.text, ErrDenied, err,
			"set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, or write ~/.aws/credentials")
	}
	return nil
}

func (b *bucket) Put(ctx context.Context, name string, r io.Reader) error {
	if err := b.ready(name); err != nil {
		return err
	}
	b.sweep(ctx)
	source := &remember{r: contextReader{ctx, r}}
	first := bytes.NewBuffer(nil)
	n, err := io.CopyN(first, source, partBytes)
	options := minio.PutObjectOptions{PartSize: partBytes, ContentType: "application/octet-stream",
		SendContentMd5: b.md5}
	switch {
	case err == io.EOF:
		_, err = b.core.Client.PutObject(ctx, b.name, b.prefix+name, bytes.NewReader(first.Bytes()), n, options)
	case err == nil:
		_, err = b.core.Client.PutObject(ctx, b.name, b.prefix+name, io.MultiReader(first, source), -1, options)
	}
	if source.err != nil { // the library may have said it in its own words
		err = source.err
	}
	return b.problem(ctx, "put", name, err)
}

func (b *bucket) Get(ctx context.Context, name string) (io.ReadCloser, error) {
	if err := b.ready(name); err != nil {
		return nil, err
	}
	r := &bucketReader{ctx: ctx, b: b, name: name}
	if err := r.open(); err != nil {
		return nil, err
	}
	return r, nil
}

func (b *bucket) List(ctx context.Context, prefix string) ([]Object, error) {
	if err := b.hasCredentials(); err != nil {
		return nil, err
	}
	var all []Object
	options := minio.ListObjectsOptions{Prefix: b.prefix + prefix, Recursive: true}
	for info := range b.core.ListObjectsIter(ctx, b.name, options) {
		if info.Err != nil {
			return nil, b.problem(ctx, "list", prefix+"*", info.Err)
		}
		name := strings.TrimPrefix(info.Key, b.prefix)
		if CheckName(name) != nil {
			continue
		}
		if len(all) == MaxObjects {
			return nil, fmt.Errorf("list %s* in %s: it has more than %d objects", prefix, b.text, MaxObjects)
		}
		all = append(all, Object{Name: name, Bytes: info.Size, Modified: info.LastModified})
	}
	if ctx.Err() != nil {
		return nil, b.problem(ctx, "list", prefix+"*", context.Cause(ctx))
	}
	slices.SortFunc(all, func(a, b Object) int { return strings.Compare(a.Name, b.Name) })
	return all, nil
}

func (b *bucket) Delete(ctx context.Context, name string) error {
	if err := b.ready(name); err != nil {
		return err
	}
	err := b.core.RemoveObject(ctx, b.name, b.prefix+name, minio.RemoveObjectOptions{})
	if minio.ToErrorResponse(err).Code == minio.NoSuchKey {
		return nil
	}
	return b.problem(ctx, "delete", name, err)
}

// sweep aborts uploads of processes that died, now and then. Not every credential may do so, and a rule of the bucket
// may do it too, so that an error is none of Put.
func (b *bucket) sweep(ctx context.Context) {
	now := time.Now()
	b.mu.Lock()
	due := now.Sub(b.swept) >= sweepEvery
	if due {
		b.swept = now
	}
	b.mu.Unlock()
	if !due {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, sweepTime)
	defer cancel()
	found, err := b.core.ListMultipartUploads(ctx, b.name, b.prefix, "", "", "", uploadsSwept)
	if err != nil {
		return
	}
	for _, upload := range found.Uploads {
		name, below := strings.CutPrefix(upload.Key, b.prefix)
		if below && CheckName(name) == nil && now.Sub(upload.Initiated) > uploadOld {
			_ = b.core.AbortMultipartUpload(ctx, b.name, upload.Key, upload.UploadID)
		}
	}
}

// remember is a reader that keeps its error, but for io.EOF.
type remember struct {
	r   io.Reader
	err error
}

func (r *remember) Read(p []byte) (int, error) {
	n, err := r.r.Read(p)
	if err != nil && err != io.EOF {
		r.err = err
	}
	return n, err
}
