package target

import (
	"fmt"
	"net/url"
	"path/filepath"
	"strings"
)

// Config is what the text of a target does not say.
type Config struct{}

// Open returns the target that text names:
//
//	file:///abs/dir  /abs/dir  ./dir  dir                       a directory, which must be there
//	s3://BUCKET[/PREFIX][?endpoint=…&region=…&path-style=…&insecure=…]   a bucket, see s3.go
//
// It checks the text and asks nothing of the target. The text may come from a user; an error wraps ErrURL and does not
// repeat what may be a secret of it.
func Open(text string, cfg Config) (Target, error) {
	scheme, _, isURL := strings.Cut(text, "://")
	if !isURL {
		if text == "" {
			return nil, fmt.Errorf("%w: it is empty; give a directory or s3://BUCKET/PREFIX", ErrURL)
		}
		return newDir(text)
	}
	u, err := url.Parse(text)
	switch {
	case err != nil:
		return nil, fmt.Errorf("%w: it is no URL; give a directory or s3://BUCKET/PREFIX", ErrURL)
	case u.User != nil:
		return nil, fmt.Errorf("%w: it has a user or a password; credentials come from AWS_ACCESS_KEY_ID and "+
			"AWS_SECRET_ACCESS_KEY, or from ~/.aws/credentials", ErrURL)
	case u.Fragment != "":
		return nil, fmt.Errorf("%w: it has a '#'", ErrURL)
	}
	switch u.Scheme {
	case "file":
		if u.Host != "" || !filepath.IsAbs(u.Path) || u.RawQuery != "" {
			return nil, fmt.Errorf("%w: of a directory it is file:///absolute/path", ErrURL)
		}
		return newDir(filepath.FromSlash(u.Path))
	default:
		return nil, fmt.Errorf("%w: scheme %q; give a directory, file:// or s3://", ErrURL, scheme)
	}
}
