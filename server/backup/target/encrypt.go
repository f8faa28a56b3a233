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

// EncryptedSuffix ends the stored name of an encrypted object.
const EncryptedSuffix = ".age"

var (
	// ErrNoIdentity says that an object is encrypted, and no identity was given to read it with.
	ErrNoIdentity = errors.New("it is encrypted, and no identity was given")
	// ErrWrongIdentity says that an object is encrypted to other recipients than those of the identities that were given.
	ErrWrongIdentity = errors.New("it is encrypted to others than the identities that were given")
	// ErrDecrypt says that an encrypted object is not what was stored: it is cut off, or was changed.
	ErrDecrypt = errors.New("it cannot be decrypted")
)

// encrypted is a Target whose objects are encrypted on their way there, and decrypted on their way back. The object
// NAME is NAME.age of the target below. Where that is not there it is NAME, so that what was stored before there were
// recipients is still found; nothing tells whether such an object was put there by somebody else, and as little
// whether an encrypted one was, since everybody may encrypt to a recipient.
type encrypted struct {
	Target
	recipients []age.Recipient // none: Put stores objects as they are
	identities []age.Identity
}

// Encrypted returns t with the objects that Put stores encrypted to the recipients, and those that are encrypted read
// with the identities. The target is t's: closing one closes the other.
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
	// Of an object that is there twice the encrypted one is read, and it comes second.
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

// Decrypt returns what r decrypts to. It holds no more than 64 KiB. Errors of the identities wrap ErrNoIdentity and
// ErrWrongIdentity; errors of what is read wrap ErrDecrypt, or are r's own.
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

// decrypting tells errors of decryption from those of what is decrypted.
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
