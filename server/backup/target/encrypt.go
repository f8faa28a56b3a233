package target

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"filippo.io/age"
)

// EncryptedSuffix is the suffix of the stored name of an encrypted object.
const EncryptedSuffix = ".age"

var (
	// ErrNoIdentity means that an object is encrypted and no identity was given.
	ErrNoIdentity = errors.New("it is encrypted, and no identity was given")
	// ErrWrongIdentity means that none of the given identities can decrypt an object.
	ErrWrongIdentity = errors.New("it is encrypted to others than the identities that were given")
	// ErrDecrypt means that an encrypted object is damaged: truncated or changed.
	ErrDecrypt = errors.New("it cannot be decrypted")
)

// encrypted is a Target that encrypts objects on Put and decrypts them on Get. It stores object NAME as NAME.age in the
// target below. If there is no NAME.age, Get reads NAME, so that objects from before there were recipients are still
// found. Encryption does not authenticate: anybody can encrypt to a recipient, or store an unencrypted object.
type encrypted struct {
	Target
	recipients []age.Recipient // if none, Put stores objects unencrypted
	identities []age.Identity
}

// Encrypted returns a target that stores its objects in t, encrypted to the recipients, and decrypts what it reads with
// the identities. Closing it closes t.
func Encrypted(t Target, recipients []age.Recipient, identities []age.Identity) Target {
	return &encrypted{t, recipients, identities}
}

func (e *encrypted) Put(ctx context.Context, name string, r io.Reader) error {
	if err := CheckName(name); err != nil {
		return err
	}
	if strings.HasSuffix(name, EncryptedSuffix) {
		return fmt.Errorf("%w: %q ends with %s", ErrName, name, EncryptedSuffix)
	}
	if len(e.recipients) == 0 {
		if err := e.Target.Put(ctx, name, r); err != nil {
			return err
		}
		return e.Target.Delete(ctx, name+EncryptedSuffix) // Get would find it first
	}
	sealed, err := age.EncryptReader(r, e.recipients...)
	if err != nil {
		return fmt.Errorf("put %s in %s: encrypt: %w", name, e, err)
	}
	return e.Target.Put(ctx, name+EncryptedSuffix, sealed)
}

func (e *encrypted) Get(ctx context.Context, name string) (io.ReadCloser, error) {
	if err := CheckName(name); err != nil {
		return nil, err
	}
	r, err := e.Target.Get(ctx, name+EncryptedSuffix)
	if errors.Is(err, ErrNotFound) {
		return e.Target.Get(ctx, name)
	}
	if err != nil {
		return nil, err
	}
	plain, err := Decrypt(r, e.identities)
	if err != nil {
		return nil, errors.Join(fmt.Errorf("get %s in %s: %w", name, e, err), r.Close())
	}
	return readCloser{plain, r}, nil
}

func (e *encrypted) List(ctx context.Context, prefix string) ([]Object, error) {
	all, err := e.Target.List(ctx, prefix)
	if err != nil {
		return nil, err
	}
	for i := range all {
		all[i].Name = strings.TrimSuffix(all[i].Name, EncryptedSuffix)
	}
	all = slices.DeleteFunc(all, func(o Object) bool { return !strings.HasPrefix(o.Name, prefix) })
	slices.SortStableFunc(all, func(a, b Object) int { return strings.Compare(a.Name, b.Name) })
	// If an object is there twice Get reads the encrypted one, which comes second.
	slices.Reverse(all)
	all = slices.CompactFunc(all, func(a, b Object) bool { return a.Name == b.Name })
	slices.Reverse(all)
	return all, nil
}

func (e *encrypted) Delete(ctx context.Context, name string) error {
	if err := CheckName(name); err != nil {
		return err
	}
	return errors.Join(e.Target.Delete(ctx, name+EncryptedSuffix), e.Target.Delete(ctx, name))
}

// Decrypt returns a reader of the plaintext of r. It buffers at most 64 KiB. Errors about the identities are
// ErrNoIdentity and ErrWrongIdentity; read errors wrap ErrDecrypt, or are those of r.
func Decrypt(r io.Reader, identities []age.Identity) (io.Reader, error) {
	if len(identities) == 0 {
		return nil, ErrNoIdentity
	}
	source := &remember{r: r}
	plain, err := age.Decrypt(source, identities...)
	var wrong *age.NoIdentityMatchError
	switch {
	case err == nil:
		return &decrypting{plain: plain, source: source}, nil
	case source.err != nil:
		return nil, source.err
	case errors.As(err, &wrong):
		return nil, ErrWrongIdentity
	}
	return nil, fmt.Errorf("%w: %w", ErrDecrypt, err)
}

// decrypting wraps errors of decryption in ErrDecrypt, and returns errors of the source as they are.
type decrypting struct {
	plain  io.Reader
	source *remember
}

func (d *decrypting) Read(p []byte) (int, error) {
	n, err := d.plain.Read(p)
	switch {
	case err == nil, err == io.EOF:
	case d.source.err != nil:
		err = d.source.err
	default:
		err = fmt.Errorf("%w: %w", ErrDecrypt, err)
	}
	return n, err
}
