package devcluster

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/google/uuid"

	"tenure/internal/ownfile"
)

// TokenName is the file in the cluster's directory that has the secret of its first token, which may do everything.
const TokenName = "root-token"

// TokenFile returns the name of that file for a cluster in dir.
func TokenFile(dir string) string { return filepath.Join(dir, TokenName) }

// MakeToken draws the secret of the first token and writes it to the file, unless one is there. It comes before the
// token itself, so that a bootstrap whose answer is lost can be repeated.
func MakeToken(name string) error {
	f, err := os.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if errors.Is(err, fs.ErrExist) {
		return ownfile.Check(name) // a secret that somebody else has put there is known to them
	}
	if err != nil {
		return err
	}
	_, err = fmt.Fprintln(f, uuid.NewString())
	if err = errors.Join(err, f.Close()); err != nil {
		return errors.Join(err, os.Remove(name))
	}
	return nil
}
