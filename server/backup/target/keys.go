package target

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"

	"filippo.io/age"

	"tenure/internal/utf8text"
)

const (
	maxKeyFileBytes = 1 << 20
	maxRecipients   = 100
)

// ErrKey means that a text or a file has no usable recipient or identity.
var ErrKey = errors.New("bad key")

// Recipients returns the recipients in texts (age1…) and in files (one per line, # begins a comment).
func Recipients(texts, files []string) ([]age.Recipient, error) {
	var all []age.Recipient
	for _, text := range texts {
		if strings.HasPrefix(strings.ToUpper(text), "AGE-SECRET-KEY-") {
			return nil, fmt.Errorf("%w: a recipient begins with age1; what was given is a secret key, which now "+
				"others may have seen", ErrKey)
		}
		r, err := age.ParseRecipients(strings.NewReader(text))
		if err != nil {
			return nil, fmt.Errorf("%w: recipient %q: it is no age1… of age-keygen", ErrKey, text)
		}
		all = append(all, r...)
	}
	for _, name := range files {
		err := keyFile(name, func(text io.Reader) error {
			r, err := age.ParseRecipients(text)
			all = append(all, r...)
			return err
		})
		if err != nil {
			return nil, fmt.Errorf("%w: file of recipients %s: %w", ErrKey, name, err)
		}
	}
	if len(all) > maxRecipients {
		return nil, fmt.Errorf("%w: %d recipients, and at most %d are allowed", ErrKey, len(all), maxRecipients)
	}
	return all, nil
}

// Identities returns the identities in files as age-keygen writes them. Its errors never contain any part of a file.
func Identities(files []string) ([]age.Identity, error) {
	var all []age.Identity
	for _, name := range files {
		err := keyFile(name, func(text io.Reader) error {
			i, err := age.ParseIdentities(text)
			all = append(all, i...)
			if err != nil {
				return errors.New("it has no AGE-SECRET-KEY-1… of age-keygen; decrypt it first if it is encrypted")
			}
			return nil
		})
		if err != nil {
			return nil, fmt.Errorf("%w: file of identities %s: %w", ErrKey, name, err)
		}
	}
	return all, nil
}

func keyFile(name string, read func(io.Reader) error) error {
	f, err := os.Open(name)
	if err != nil {
		return err
	}
	defer f.Close()
	b, err := io.ReadAll(io.LimitReader(f, maxKeyFileBytes))
	if err != nil {
		return err
	}
	if b, err = utf8text.Of(b); err != nil {
		return err
	}
	return read(bytes.NewReader(b))
}
