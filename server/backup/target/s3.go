package target

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/minio/minio-go/v7"
	"github.com/minio/minio-go/v7/pkg/credentials"
)

const (
	// partBytes is the size of a part, and how much of an object is held in memory. A bucket takes 10,000 parts, so an
	// object has at most 156 GiB.
	partBytes = 16 << 20
	// attempts bounds the attempts of a request. minio-go waits at most a second between two.
	attempts = 8
	// uploadOld is the age at which an unfinished upload is aborted: its process has died.
	uploadOld = 7 * 24 * time.Hour
	// uploadsSwept bounds the uploads that one sweep looks at.
	uploadsSwept = 1000
	sweepTime    = 30 * time.Second
)

// bucket is a Target in a bucket of S3, below a prefix.
//
// A short object is stored by one request, a longer one by a multipart upload, which creates the object with its last
// request. The server compares the checksums of both. An interrupted upload therefore leaves no object, but it takes
// space until it is aborted: by Put itself, by a later Put when it is old, or by a lifecycle rule of the bucket.
type bucket struct {
	core      *minio.Core
	transport *failures
	creds     *credentials.Credentials
	text      string // the URL of the target, for messages
	endpoint  string // for messages
	name      string
	prefix    string // of the keys: empty, or ends with a slash
	md5       bool   // whether uploads are checked by MD5

	mu    sync.Mutex
	swept time.Time // the last search for old uploads
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
	if source.err != nil { // the library may have replaced it by an error of its own
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

// sweep aborts uploads of dead processes, at most every sweepEvery. Put ignores its errors: not every credential may
// abort uploads, and a lifecycle rule of the bucket may do it as well.
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

// remember is a reader that records its error, except io.EOF.
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
