package target

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"syscall"

	"github.com/minio/minio-go/v7"
)

// advice has the sentinel and the advice for the error codes of servers.
var advice = map[string]struct {
	kind error
	todo string
}{
	"NoSuchBucket":          {ErrMissing, "make the bucket, or correct its name or the endpoint"},
	"InvalidBucketName":     {ErrMissing, "correct the name of the bucket"},
	"NoSuchKey":             {ErrNotFound, ""},
	"AccessDenied":          {ErrDenied, "these credentials may not do this: allow it, or use others"},
	"AllAccessDisabled":     {ErrDenied, "these credentials may not do this: allow it, or use others"},
	"InvalidAccessKeyId":    {ErrDenied, "there is no such access key: correct AWS_ACCESS_KEY_ID"},
	"XAdminUserNotFound":    {ErrDenied, "there is no such access key: correct AWS_ACCESS_KEY_ID"},
	"SignatureDoesNotMatch": {ErrDenied, "the secret is not that of the access key: correct AWS_SECRET_ACCESS_KEY"},
	"ExpiredToken":          {ErrDenied, "the session of these credentials has ended: get new ones"},
	"InvalidToken":          {ErrDenied, "AWS_SESSION_TOKEN does not belong to the access key"},
	"RequestTimeTooSkewed":  {ErrDenied, "the clock of this machine differs from the server's: correct it"},
	"PermanentRedirect":     {ErrMissing, "the bucket is in another region: name it with ?region="},
	"InvalidRegion":         {ErrMissing, "the bucket is in another region: name it with ?region="},
	"QuotaExceeded":         {ErrFull, "free space there, or name another target"},
	"InsufficientStorage":   {ErrFull, "free space there, or name another target"},
	"XMinioStorageFull":     {ErrFull, "free space there, or name another target"},
	"EntityTooLarge":        {ErrFull, "the object is larger than the bucket takes"},
	"SlowDown":              {ErrUnreachable, "it refuses so many requests; try again later"},
	"ServiceUnavailable":    {ErrUnreachable, "try again later"},
	"InternalError":         {ErrUnreachable, "the server has failed; see its log"},
	"AuthorizationHeaderMalformed": {ErrMissing,
		"the bucket is in another region: name it with ?region="},
}

// problem wraps err with what was being done, the sentinel that fits, and advice. It returns nil if err is nil.
func (b *bucket) problem(ctx context.Context, doing, name string, err error) error {
	if err == nil {
		return nil
	}
	doing += " " + name + " in " + b.text
	if ctx.Err() != nil {
		ended := context.Cause(ctx)
		if first := b.transport.err(); first != nil {
			return problem(doing, ErrUnreachable, fmt.Errorf("%w, after %w", ended, first), b.isReachable(first))
		}
		return fmt.Errorf("%s: %w", doing, ended)
	}
	var answer minio.ErrorResponse
	if errors.As(err, &answer) {
		a, known := advice[answer.Code]
		switch {
		case known:
		case answer.StatusCode == http.StatusInsufficientStorage:
			a = advice["InsufficientStorage"]
		case answer.StatusCode == http.StatusForbidden || answer.StatusCode == http.StatusUnauthorized:
			a = advice["AccessDenied"]
		case answer.StatusCode >= http.StatusInternalServerError:
			a = advice["ServiceUnavailable"]
		default:
			return fmt.Errorf("%s: the server answers %s: %w", doing, answer.Code, err)
		}
		return problem(doing, a.kind, err, a.todo)
	}
	var certificate x509.UnknownAuthorityError
	var network net.Error
	switch {
	case errors.As(err, &certificate):
		return problem(doing, ErrUnreachable, err, "name the certificate's authority with SSL_CERT_FILE")
	case errors.As(err, &network), errors.Is(err, io.ErrUnexpectedEOF), errors.Is(err, syscall.ECONNRESET):
		return problem(doing, ErrUnreachable, err, b.isReachable(err))
	}
	return fmt.Errorf("%s: %w", doing, err)
}

// isReachable is the advice where the server does not answer.
func (b *bucket) isReachable(err error) string {
	var record tls.RecordHeaderError
	if errors.Is(err, http.ErrSchemeMismatch) || errors.As(err, &record) {
		return b.endpoint + " speaks no TLS: if it is the right one, write endpoint=http://" + b.endpoint
	}
	return "is " + b.endpoint + " right, does the server run, may it be reached?"
}
