package named

import (
	"encoding/hex"
	"errors"
	"fmt"
	"time"

	"tenure/lease"
)

// Name is a lease's name, hashed under a key of the cluster to a fixed size. Two texts with one hash would share a
// lease, which hurts nobody's exclusion.
type Name [16]byte

// String is the first half in hex.
func (n Name) String() string { return hex.EncodeToString(n[:8]) }

// Acquisition is N1's owner: client, its start and its acquisition id, hashed to a fixed size. It is never used again
// after its release.
type Acquisition [16]byte

// IsZero reports whether a is nobody's.
func (a Acquisition) IsZero() bool { return a == Acquisition{} }

// String is the first half in hex.
func (a Acquisition) String() string { return hex.EncodeToString(a[:8]) }

// MaxTextBytes bounds the text of a name, which is for people: the hash decides.
const MaxTextBytes = 256

// MaxOwnerBytes bounds an owner's text, which is for people: it decides nothing.
const MaxOwnerBytes = 128

// Kind tells what a Request or a Reply says.
type Kind uint8

// The messages. Numbers are on the wire: they are never reused.
const (
	Prepare         Kind = 1
	Promise         Kind = 2
	PrepareRejected Kind = 3
	Accept          Kind = 4
	Accepted        Kind = 5
	AcceptRejected  Kind = 6
	Release         Kind = 7 // by acquisition; final (N1)
	Released        Kind = 8
	Withdraw        Kind = 9 // of what one attempt, which is over, has left behind; not answered
	// Silent is no answer: it tells who asks, for people and for policy, for how long the acceptor keeps silent yet
	// (A4, N4).
	Silent Kind = 10
)

var kindNames = [...]string{"none", "Prepare", "Promise", "PrepareRejected", "Accept", "Accepted", "AcceptRejected",
	"Release", "Released", "Withdraw",
	"Silent"}

// String names the kind.
func (k Kind) String() string {
	if int(k) < len(kindNames) {
		return kindNames[k]
	}
	return fmt.Sprintf("kind %d", uint8(k))
}

// Request is one message to an acceptor. Its ballot is (Counter, the incarnation that sends it); of a Release the
// Counter only tells which request is answered.
type Request struct {
	Kind        Kind
	Name        Name
	Counter     uint64
	Acquisition Acquisition   // Accept, Release, Withdraw
	Token       Token         // Accept
	Duration    time.Duration // Accept: D_P
	Owner       string        // Accept: for people
	Text        string        // Accept: the name as people write it
	// Membership is the stamp of a Prepare and an Accept: the number of the sender's membership. 0 counts as 1.
	Membership uint64
}

// Reply is an acceptor's answer to the request with the same name and counter.
type Reply struct {
	Kind     Kind
	Name     Name
	Counter  uint64
	Promised uint64        // rejections: the counter of the highest promise
	Full     bool          // rejections: there is no space for the name
	Left     time.Duration // Silent: on the acceptor's clock: a hint (L1)
	Report   Token         // Promise and rejections: the larger of the name's last token and the floor (N2)
	// The live lease, if there is one; in Promise and rejections.
	Live            bool
	LiveAcquisition Acquisition
	LiveToken       Token
	LiveLeft        time.Duration // on the acceptor's clock, when it answered: a hint (L1)
	LiveOwner       string        // for people
	// Membership is in rejections: the number that the acceptor has in force. 0 counts as 1.
	Membership uint64
}

// longestSilence is more than any Timing allows.
const longestSilence = time.Duration(1) << 61

// ErrMalformed is wrapped by every error of a Check.
var ErrMalformed = errors.New("malformed message of a named lease")

// Check refuses a request that no node sends. Table drops such requests unseen.
func (r *Request) Check() error {
	switch {
	case r.Kind != Prepare && r.Kind != Accept && r.Kind != Release && r.Kind != Withdraw:
		return fmt.Errorf("%w: a request of %v", ErrMalformed, r.Kind)
	case r.Counter == 0 || r.Counter >= lease.MaxCounter:
		return fmt.Errorf("%w: counter %d", ErrMalformed, r.Counter)
	case r.Kind != Prepare && r.Acquisition.IsZero():
		return fmt.Errorf("%w: %v without acquisition", ErrMalformed, r.Kind)
	case len(r.Owner) > MaxOwnerBytes:
		return fmt.Errorf("%w: an owner's text of %d bytes", ErrMalformed, len(r.Owner))
	case len(r.Text) > MaxTextBytes:
		return fmt.Errorf("%w: a name's text of %d bytes", ErrMalformed, len(r.Text))
	case r.Kind == Accept && (r.Duration <= 0 || r.Token == 0):
		return fmt.Errorf("%w: Accept of token %v for %v", ErrMalformed, r.Token, r.Duration)
	}
	return nil
}

// Check refuses a reply that no node sends. Attempt drops such replies unseen.
func (r *Reply) Check() error {
	switch {
	case r.Kind != Promise && r.Kind != PrepareRejected && r.Kind != Accepted && r.Kind != AcceptRejected &&
		r.Kind != Released &&
		r.Kind != Silent:
		return fmt.Errorf("%w: a reply of %v", ErrMalformed, r.Kind)
	case r.Counter == 0 || r.Counter >= lease.MaxCounter || r.Promised >= lease.MaxCounter:
		return fmt.Errorf("%w: counter %d, promised %d", ErrMalformed, r.Counter, r.Promised)
	case r.Kind == Silent && (r.Left <= 0 || r.Left > longestSilence):
		return fmt.Errorf("%w: silent for another %v", ErrMalformed, r.Left)
	case r.Live && (r.LiveAcquisition.IsZero() || r.LiveToken == 0 || r.LiveToken > r.Report):
		return fmt.Errorf("%w: a live lease of token %v, reported %v", ErrMalformed, r.LiveToken, r.Report)
	case len(r.LiveOwner) > MaxOwnerBytes:
		return fmt.Errorf("%w: an owner's text of %d bytes", ErrMalformed, len(r.LiveOwner))
	}
	return nil
}
