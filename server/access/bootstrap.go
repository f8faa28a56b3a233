package access

import (
	"fmt"
	"time"

	"tenure/api"
	"tenure/kv"
)

// BootstrappedError says that the first token was made already.
type BootstrappedError struct {
	Index uint64 // the revision at which that was: kv.ACL.Bootstrap
}

// Error returns a sentence that begins as Consul's does, and says what an operator can do.
func (e *BootstrappedError) Error() string {
	return fmt.Sprintf("%s: ACL bootstrap no longer allowed (reset index: %d): to allow it once more write that number, "+
		"a space and the secret of the new token, a UUID, into the file %s in the data directory of the node that you "+
		"ask, and ask with that secret", api.TextDenied, e.Index, ResetFileName)
}

// Bootstrap decides about a request to make the first token, with that secret. The result reset is the argument for
// kv.Bootstrap. If an earlier try of the request has made the token, made is that token, and nothing is left to do. The
// error is a *BootstrappedError, wraps ErrUnsure, or describes a malformed reset file.
//
// Anybody may ask, without a token, so a refusal here costs the log nothing, and mostly no round either.
func (d *Decider) Bootstrap(secret string, timeout time.Duration) (reset int64, made *kv.Token, err error) {
	if reset, err = d.reset(secret); err != nil {
		return 0, nil, err
	}
	a := d.ACL()
	if a == nil || a.Bootstrap() == 0 || reset != 0 { // what was done once stays so
		if err := d.rounds.wait(timeout, false); err != nil {
			return 0, nil, err
		}
		a = d.ACL()
	}
	switch {
	case a == nil:
		return 0, nil, errNothingKnown
	case a.Bootstrap() == 0, a.Bootstrap() == uint64(reset):
		return reset, nil, nil
	}
	if t, there := a.TokenOfSecret(kv.HashSecret(secret)); there && t.CreateIndex == a.Bootstrap() {
		return 0, t, nil
	}
	return 0, nil, &BootstrappedError{Index: a.Bootstrap()}
}
