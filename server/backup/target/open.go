package target

import (
	"fmt"
	"net/url"
	"path/filepath"
	"strings"

	"filippo.io/age"
)

// Config is what the text of a target does not say.
type Config struct {
	// Recipients are whom Put encrypts objects to; with none it stores them as they are.
	Recipients []age.Recipient
	// Identities are what Get reads encrypted objects with.
	Identities []age.Identity
}

// Open returns the target that text names:
//
//	file:///abs/dir  /abs/dir  ./dir  dir                       a directory, which must be there
//	s3://BUCKET[/PREFIX][?endpoint=…&region=…&path-style=…&insecure=…]   a bucket, see parsePlace
//
// It checks the text and asks nothing of the target. The text may come from a user; an error wraps ErrURL and does not
// repeat what may be a secret of it.
//
// With recipients or identities it is the target of Encrypted: then object NAME is kept as NAME.age.
func Open(text string, cfg Config) (Target, error) {
	t, err := open(text)
	if err == nil && len(cfg.Recipients)+len(cfg.Identities) > 0 {
		t = Encrypted(t, cfg.Recipients, cfg.Identities)
	}
	return t, err
}

func open(text string) (Target, error) {
	scheme, _, isURL := strings.Cut(text, "://")
	if !isURL {
		if text == "" {
			return nil, fmt.Errorf("%w: it is empty; give a directory or s3://BUCKET/PREFIX", ErrURL)
		}
		return newDir(text)
	}
	u, err := parseURL(text)
	if err != nil {
		return nil, err
	}
	switch u.Scheme {
	case "file":
		if u.Host != "" || !filepath.IsAbs(u.Path) || u.RawQuery != "" {
			return nil, fmt.Errorf("%w: of a directory it is file:///absolute/path", ErrURL)
		}
		return newDir(filepath.FromSlash(u.Path))
	case "s3":
		return newBucket(u)
	default:
		return nil, fmt.Errorf("%w: scheme %q; give a directory, file:// or s3://", ErrURL, scheme)
	}
}

// parseURL reads a URL that has no secret.
func parseURL(text string) (*url.URL, error) {
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
	return u, nil
}
