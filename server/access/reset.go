package access

import (
	"crypto/subtle"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strconv"
	"strings"

	"github.com/google/uuid"

	"tenure/kv"
)

// ResetFileName is the name of the file in a node's data directory that allows one more bootstrap. It holds the number
// from a refused bootstrap, and the secret of the new token: without the secret the next request would get that token.
// Anybody who can write this file has the node's keys and values anyway.
const ResetFileName = "acl-bootstrap-reset"

// maxResetBytes bounds what is read of the file.
const maxResetBytes = 128

// errResetFile describes the right contents. It reveals nothing of the present contents, since anybody may ask.
var errResetFile = errors.New("the file " + ResetFileName + " of this node cannot be used: it must hold the number that " +
	"a refused bootstrap names, a space, and the secret of the new token, a UUID")

// reset returns the revision of the bootstrap that an operator allows to be repeated with that secret, 0 if none.
func (d *Decider) reset(secret string) (int64, error) {
	if d.cfg.ResetFile == "" {
		return 0, nil
	}
	f, err := os.Open(d.cfg.ResetFile)
	if errors.Is(err, fs.ErrNotExist) {
		return 0, nil
	}
	if err != nil {
		return 0, fmt.Errorf("%w, and the node must be allowed to read it", errResetFile)
	}
	defer f.Close() // it is only read
	b := make([]byte, maxResetBytes)
	n, _ := f.Read(b)
	fields := strings.Fields(string(b[:n]))
	if len(fields) != 2 {
		return 0, errResetFile
	}
	index, err := strconv.ParseInt(fields[0], 10, 64)
	id, badID := uuid.Parse(fields[1])
	if err != nil || badID != nil || index <= 0 {
		return 0, errResetFile
	}
	given, want := kv.HashSecret(secret), kv.HashSecret(id.String())
	if subtle.ConstantTimeCompare(given[:], want[:]) != 1 {
		return 0, nil // as if there were no file
	}
	return index, nil
}

// ResetUsed removes the file after a bootstrap with it, which has made its number invalid.
func (d *Decider) ResetUsed() {
	if d.cfg.ResetFile != "" {
		_ = os.Remove(d.cfg.ResetFile) // if it stays, it allows nothing any more
	}
}
