package target

import (
	"fmt"
	"net/url"
	"path/filepath"
	"strings"

	"filippo.io/age"
)

// Config has what the text of a target does not contain.
type Config struct {
	// Recipients are the age recipients to whom Put encrypts. If there are none, it stores objects unencrypted.
	Recipients []age.Recipient
	// Identities decrypt the objects that Get reads.
	Identities []age.Identity
}

// Open returns the target that text names:
//
//	file:///abs/dir  /abs/dir  ./dir  dir                       a directory, which must exist
//	s3://BUCKET[/PREFIX][?endpoint=…&region=…&path-style=…&insecure=…]   a bucket, see parsePlace
//
// It checks the text and sends no request. The text may come from a user: errors wrap ErrURL and do not repeat parts
// that may be secret.
//
// With recipients or identities it returns an Encrypted target, which stores object NAME as NAME.age.
func Open(text string, cfg Config) (Target, error) {
	t, err := open(text)
	if err == nil && len(cfg.Recipients)+len(cfg.Identities) > 0 {
		t = Encrypted(t, cfg.Recipients, cfg.Identities)
	}
	return t, err
}

// CheckText refuses the name of a file or a directory that is more likely a URL with a typing error. It does not repeat
// the text, which may have a secret in it.
func CheckText(text string) error {
	for _, scheme := range []struct{ name, form string }{
		{"s3:", "s3://BUCKET/PREFIX"}, {"file:", "file:///absolute/path"},
	} {
		if n := len(scheme.name); !IsURL(text) && len(text) >= n && strings.EqualFold(text[:n], scheme.name) {
			return fmt.Errorf("%w: it begins with %s and is no URL: write %s, or ./ in front of the name of a file", ErrURL,
				text[:n], scheme.form)
		}
	}
	return nil
}

func open(text string) (Target, error) {
	if err := CheckText(text); err != nil {
		return nil, err
	}
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

// parseURL parses a URL and refuses one with credentials.
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
